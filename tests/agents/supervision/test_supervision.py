"""A model that leads the actions of a planned agent: chapter 3.18.2 of the guide, sentence by sentence."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Annotated

import pytest

from tactician import (
    Ai,
    Budget,
    OperationContext,
    Platform,
    ProcessOptions,
    ProcessStatus,
    RunContext,
    UserInput,
    achieves_goal,
    action,
    by_name,
    condition,
    planned_agent,
    state,
)
from tactician.agents import PlannedAgent, Planner
from tactician.agents.supervision.supervised_agent import supervise
from tactician.errors import GoalNotReachedError, Replan
from tactician.events import Event
from tactician.llm import ModelRequest, ModelResponse, ToolResult
from tactician.llm.model import ToolSpec
from tactician.process import ActionCompleted, ActionStarted, AgentProcess, ProcessFailedError, ask_human
from tactician.runs import BudgetError
from tactician.testing import ScriptedModel, ToolCall
from tactician.testing.scripted import Step
from tests.support.stored import JsonStore, respond, resume


@dataclass(frozen=True)
class DataRequest:
    topic: str


@dataclass(frozen=True)
class Data:
    revenues: dict[str, str]


@dataclass(frozen=True)
class Analysis:
    strengths: list[str]


@dataclass(frozen=True)
class ReportRequest:
    topic: str


@dataclass(frozen=True)
class Report:
    title: str


class Market:
    @action(description="Gather market data", can_rerun=True)
    def gather(self, request: DataRequest) -> Data:
        return Data({request.topic: "$10B"})

    @action(description="Analyze the data")
    async def analyze(self, data: Data) -> Analysis:
        await asyncio.sleep(0)
        return Analysis(list(data.revenues))

    @achieves_goal("a report about a market")
    @action(description="Compile the final report")
    def compile_report(self, request: ReportRequest, analysis: Analysis) -> Report:
        return Report(f"{request.topic}: {', '.join(analysis.strengths)}")


@planned_agent(planner=Planner.SUPERVISOR, description="market research")
class Supervised(Market):
    pass


@planned_agent(description="market research")
class Planned(Market):
    pass


GATHER = ToolCall("gather", data_request={"topic": "clouds"})
COMPILE = ToolCall("compile_report", report_request={"topic": "Clouds"})


async def led(agent: object, *steps: Step, given: object = "go") -> tuple[AgentProcess, ScriptedModel]:
    model = ScriptedModel(*steps)
    process = await Platform(models=model).start(agent, given)
    return process, model


def tool_of(request: ModelRequest, name: str) -> ToolSpec:
    (found,) = (tool for tool in request.tools if tool.name == name)
    return found


def arguments_of(tool: ToolSpec) -> set[str]:
    properties = tool.parameters["properties"]
    assert isinstance(properties, dict)
    return set(properties)


def ran(process: AgentProcess) -> list[str]:
    return [run.action for run in process.history]


class TestWhatTheModelSees:
    async def test_actions_with_their_descriptions_and_the_schemas_of_what_they_give(self) -> None:
        _, model = await led(Supervised(), "no")
        gather = tool_of(model.calls[0], "gather")
        assert gather.description == "Gather market data. Gives Data {revenues: object}."
        assert gather.parameters["required"] == ["data_request"]
        assert "topic" in json.dumps(gather.parameters)

    async def test_the_goal_and_the_artifacts_that_there_are(self) -> None:
        process, model = await led(Supervised(), "no", given=Data({"a": "b"}))
        assert "- Report {title: string}: a report about a market" in model.calls[0].prompt
        assert '- Data: {"revenues":{"a":"b"}}' in model.calls[0].prompt
        assert process.status is ProcessStatus.FAILED

    async def test_inputs_on_the_blackboard_are_curried_out(self) -> None:
        _, model = await led(Supervised(), "no", given=DataRequest("clouds"))
        gather = tool_of(model.calls[0], "gather")
        assert arguments_of(gather) == set()
        assert gather.description.endswith("READY.")

    async def test_tools_that_are_ready_come_first_then_those_that_miss_least(self) -> None:
        _, model = await led(Supervised(), GATHER, "no", "no", "no")
        before, after = ([tool.name for tool in call.tools] for call in model.calls[:2])
        assert before == ["gather", "analyze", "compile_report"]
        assert after == ["gather", "analyze", "compile_report"]
        assert tool_of(model.calls[0], "analyze").description.endswith("NOT READY: needs Data (from gather).")
        assert tool_of(model.calls[1], "analyze").description.endswith("READY.")
        _, model = await led(Supervised(), "no", given=Data({}))
        assert [tool.name for tool in model.calls[0].tools] == ["analyze", "gather", "compile_report"]

    async def test_a_request_that_the_model_made_need_not_be_made_again_but_may(self) -> None:
        process, model = await led(
            Supervised(), GATHER, ToolCall("gather"), ToolCall("gather", data_request={"topic": "chips"}), "no"
        )
        gather = tool_of(model.calls[1], "gather")
        assert gather.description.endswith("READY.")
        assert "required" not in gather.parameters
        assert [data.revenues for data in process.blackboard.all(Data)] == [
            {"clouds": "$10B"},
            {"clouds": "$10B"},
            {"chips": "$10B"},
        ]

    async def test_what_has_run_and_may_run_once_only_is_not_offered_again(self) -> None:
        _, model = await led(Supervised(), ToolCall("analyze"), "no", given=Data({}))
        assert [tool.name for tool in model.calls[1].tools] == ["gather", "compile_report"]


class TestItsWork:
    async def test_it_calls_actions_until_the_goal_is_reached(self) -> None:
        process, model = await led(Supervised(), GATHER, ToolCall("analyze"), COMPILE)
        assert process.status is ProcessStatus.COMPLETED
        assert process.result == Report("Clouds: clouds")
        assert ran(process) == ["gather", "analyze", "compile_report", "supervise"]
        assert process.goal is not None
        assert process.goal.name == "compile_report"
        model.assert_exhausted()

    async def test_results_are_typed_objects_on_the_blackboard(self) -> None:
        process, _ = await led(Supervised(), GATHER, ToolCall("analyze"), COMPILE)
        kinds = [type(value) for value in process.blackboard.objects]
        assert kinds == [UserInput, DataRequest, Data, Analysis, ReportRequest, Report]
        assert process.last(DataRequest) == DataRequest("clouds")

    async def test_the_same_actions_work_with_another_planner(self) -> None:
        platform = Platform(models=ScriptedModel()).register(Planned())
        process = await platform.start("Planned", DataRequest("clouds"))
        process.blackboard.add(ReportRequest("Clouds"))
        assert (await process.run()).result == Report("Clouds: clouds")

    async def test_a_tool_that_is_not_ready_says_what_it_needs_and_does_not_run(self) -> None:
        process, model = await led(Supervised(), ToolCall("analyze"), "no")
        assert "analyze cannot run yet: it needs Data (from gather)." in model.calls[1].prompt
        assert ran(process) == ["supervise"]

    async def test_arguments_that_do_not_fit_are_told_and_nothing_runs(self) -> None:
        process, model = await led(Supervised(), ToolCall("gather", data_request={}), "no")
        assert "data_request.topic: Field required" in model.calls[1].prompt
        assert process.last(DataRequest) is None

    async def test_when_it_stops_the_goal_is_reached_all_the_same_if_it_can_be(self) -> None:
        process, _ = await led(Supervised(), GATHER, ToolCall("analyze"), "That is all.", given=ReportRequest("Clouds"))
        assert process.result == Report("Clouds: clouds")

    async def test_when_the_goal_is_not_reached_it_says_so(self) -> None:
        process, _ = await led(Supervised(), GATHER, "I give up.", "I do.", "I give up.")
        assert process.status is ProcessStatus.FAILED
        assert isinstance(process.error, GoalNotReachedError)
        assert "'compile_report' was not reached: it needs Analysis (from analyze)." in str(process.failure)
        assert "the supervisor said: I give up." in str(process.failure)

    async def test_when_it_stops_while_an_action_is_ready_it_is_told_so(self) -> None:
        given = ReportRequest("Clouds")
        process, model = await led(Supervised(), GATHER, "All done!", ToolCall("analyze"), "Now.", given=given)
        assert process.result == Report("Clouds: clouds")
        assert model.calls[2].prompt.endswith(
            "The goal is not reached yet: compile_report needs Analysis (from analyze). Call a tool: analyze."
        )

    async def test_it_is_told_so_twice_in_a_row_at_most(self) -> None:
        replies = ["Done.", "Done.", GATHER, "Done.", "Done.", "Really."]
        process, model = await led(Supervised(), GATHER, *replies)
        assert "the supervisor said: Really." in str(process.failure)
        model.assert_exhausted()

    async def test_its_rounds_are_limited(self) -> None:
        model = ScriptedModel(GATHER, GATHER, "Out of rounds.")
        agent = PlannedAgent.of(supervise(PlannedAgent(Planned()).spec, model=model, max_rounds=2).of(Planned()))
        process = await Platform(models=ScriptedModel()).start(agent, "go")
        assert "Out of rounds." in str(process.failure)
        assert model.calls[2].tool_choice == "none"

    async def test_one_that_never_stops_to_call_tools_fails(self) -> None:
        process, _ = await led(Supervised(), *[GATHER] * 13)
        assert "no answer within 10 turns" in str(process.failure)

    async def test_it_can_be_told_more(self) -> None:
        model = ScriptedModel("no")
        spec = supervise(PlannedAgent(Planned()).spec, model="small", instructions="Be quick.").of(Planned())
        await Platform(models=model).start(PlannedAgent.of(spec), "go")
        assert "Be quick." in str(model.calls[0].messages)
        assert model.calls[0].options.model == "small"

    async def test_the_same_call_at_once_runs_once(self) -> None:
        process, model = await led(Supervised(), [ToolCall("analyze"), ToolCall("analyze")], "no", given=Data({}))
        assert ran(process) == ["analyze", "supervise"]
        assert "analyze has run already, and may run once only." in model.calls[1].prompt


@planned_agent(planner=Planner.SUPERVISOR, description="what can go wrong")
class Trouble:
    def __init__(self) -> None:
        self.tried = 0

    @action(can_rerun=True)
    def fail(self) -> Data:
        raise LookupError("no data")

    @action(can_rerun=True)
    def nothing(self) -> Analysis | None:
        return None

    @action(can_rerun=True)
    def again(self) -> None:
        raise Replan("not now")

    @action(can_rerun=True)
    def wrong(self) -> Data:
        return "text"  # type: ignore[return-value]

    @condition
    async def allowed(self, request: DataRequest) -> bool:
        return request.topic == "clouds"

    @action(pre=["allowed"], post=["sent"])
    def send(self, request: DataRequest) -> None:
        """Sends."""

    @achieves_goal("all is sent")
    @action(pre=["sent"])
    def end(self) -> None:
        self.tried += 1
        if self.tried == 1:
            raise LookupError("try again")


class TestFailures:
    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("fail", "LookupError: no data"),
            ("nothing", "nothing gave nothing."),
            ("again", "Replan"),
            ("wrong", "TypeError: it declares Data and returned str"),
        ],
    )
    async def test_an_action_that_fails_is_told_to_the_model(self, name: str, reason: str) -> None:
        process, model = await led(Trouble(), ToolCall(name), "no")
        assert reason in model.calls[1].prompt
        assert ran(process) == [name, "supervise"]

    async def test_conditions_hold_for_a_supervisor_too(self) -> None:
        chips, clouds = ({"data_request": {"topic": topic}} for topic in ("chips", "clouds"))
        process, model = await led(
            Trouble(),
            ToolCall("end"),
            ToolCall("send", **chips),
            ToolCall("send", **clouds),
            ToolCall("end"),
            ToolCall("end"),
        )
        assert "end cannot run now: 'sent' does not hold." in model.calls[1].prompt
        assert "send cannot run now: 'allowed' does not hold." in model.calls[2].prompt
        assert ran(process) == ["send", "end", "end", "supervise"]
        assert process.status is ProcessStatus.COMPLETED

    async def test_the_failure_of_the_goal_is_the_reason(self) -> None:
        clouds = {"data_request": {"topic": "clouds"}}
        process, _ = await led(Trouble(), ToolCall("send", **clouds), ToolCall("end"), "no")
        assert process.status is ProcessStatus.COMPLETED
        assert ran(process) == ["send", "end", "end", "supervise"]

    async def test_a_budget_that_is_used_up_ends_the_process(self) -> None:
        model = ScriptedModel(GATHER, ToolCall("analyze"), "no")
        options = ProcessOptions(budget=Budget(actions=1))
        process = await Platform(models=model).start(Supervised(), "go", options=options)
        assert process.status is ProcessStatus.TERMINATED
        assert isinstance(process.error, BudgetError)
        assert "1 action is used up" in str(process.failure)

    async def test_as_a_runnable_it_raises(self) -> None:
        with pytest.raises(ProcessFailedError, match="was not reached"):
            await PlannedAgent(Supervised()).run("go", context=RunContext.over(ScriptedModel("no")))


@dataclass(frozen=True)
class Draft:
    text: str


@dataclass(frozen=True)
class Reviewed:
    text: str


class Opaque:
    """Something that has no JSON form."""


@planned_agent(planner=Planner.SUPERVISOR, description="drafts and reviews")
class Editor:
    @action(output_binding="first")
    async def draft(self, user_input: UserInput, ai: Ai) -> Draft:
        """Drafts."""
        return Draft(await ai.generate_text(f"draft {user_input.content}"))

    @action
    def use(self, opaque: Opaque) -> Draft:
        return Draft("opaque")

    @achieves_goal("reviewed")
    @action
    async def review(self, first: Annotated[Draft, by_name]) -> Reviewed:
        """Reviews."""
        return Reviewed(f"{first.text}, {await ask_human(str, 'and?')}")


class TestMore:
    async def test_objects_bound_by_name(self) -> None:
        process, model = await led(Editor(), ToolCall("review"), "no")
        assert "review cannot run yet: it needs first: Draft (from draft)." in model.calls[1].prompt
        assert process.status is ProcessStatus.FAILED

    async def test_what_no_model_can_make_is_said_to_be_missing(self) -> None:
        _, model = await led(Editor(), "no")
        assert tool_of(model.calls[0], "use").description.endswith("NOT READY: needs Opaque, which no action produces.")

    async def test_what_an_action_gives_may_have_no_form(self) -> None:
        @planned_agent(planner=Planner.SUPERVISOR, description="makes things")
        class Maker:
            @achieves_goal("made")
            @action
            def make(self) -> Opaque:
                """Makes."""
                return Opaque()

        process, model = await led(Maker(), ToolCall("make"))
        assert tool_of(model.calls[0], "make").description == "Makes. Gives Opaque. This reaches the goal. READY."
        assert isinstance(process.result, Opaque)

    async def test_an_action_can_ask_people_and_the_work_goes_on_elsewhere(self) -> None:
        store = JsonStore()
        first = Platform(models=ScriptedModel(ToolCall("draft"), "once", ToolCall("review")), store=store)
        process = await first.register(Editor()).start("Editor", "a story")
        assert process.status is ProcessStatus.WAITING
        second = Platform(models=ScriptedModel(), store=store).register(Editor())
        done = await respond(second, process, "good")
        assert done.status is ProcessStatus.COMPLETED
        assert done.result == Reviewed("once, good")
        assert ran(done) == ["draft", "review", "supervise"]

    async def test_after_a_crash_it_goes_on_with_what_was_found_out(self) -> None:
        asked = asyncio.Event()

        class Dying(ScriptedModel):
            """A model whose program ends while it thinks about what comes after the analysis."""

            async def generate(self, request: ModelRequest) -> ModelResponse:
                if len(self.calls) == 2:
                    asked.set()
                    await asyncio.Event().wait()
                return await super().generate(request)

        store, model = JsonStore(), ScriptedModel(COMPILE)
        first = Platform(Dying(GATHER, ToolCall("analyze")), store=store).register(Supervised())
        process = await first.spawn("Supervised", "go")
        await asked.wait()
        assert process.spawned is not None
        process.spawned.cancel()
        await asyncio.wait([process.spawned])
        done = await resume(Platform(model, store=store).register(Supervised()), process.id)
        assert done.result == Report("Clouds: clouds")
        assert ran(done) == ["gather", "analyze", "compile_report", "supervise"]
        model.assert_exhausted()
        results = [message.content for message in model.calls[0].messages if isinstance(message, ToolResult)]
        assert len(results) == 2
        assert "clouds" in results[1], "the model knows what it has found out"

    async def test_listeners_hear_of_its_actions(self) -> None:
        events: list[Event] = []
        platform = Platform(models=ScriptedModel(GATHER, ToolCall("analyze"), COMPILE), on_event=events.append)
        await platform.start(Supervised(), "go")
        heard = [event.action for event in events if isinstance(event, ActionStarted)]
        assert heard == ["supervise", "gather", "analyze", "compile_report"]
        assert [event.action for event in events if isinstance(event, ActionCompleted)] == [*heard[1:], heard[0]]

    async def test_usage_is_counted_once(self) -> None:
        process, model = await led(Editor(), ToolCall("draft"), "once", "no")
        assert process.usage.requests == len(model.calls) == 3


@state
@dataclass(frozen=True)
class Phase:
    topic: str

    @achieves_goal("finished")
    @action
    def finish(self) -> Report:
        return Report(self.topic)


async def test_a_model_leads_in_a_state_too() -> None:
    @planned_agent(planner=Planner.SUPERVISOR, description="writes in phases")
    class Phased:
        @action
        def begin(self, request: DataRequest) -> Phase:
            return Phase(request.topic)

    process, _ = await led(Phased(), ToolCall("finish"), given=Phase("clouds"))
    assert process.result == Report("clouds"), process.failure


@dataclass(frozen=True)
class Order:
    item: str


@dataclass(frozen=True)
class Receipt:
    item: str


@planned_agent(planner=Planner.SUPERVISOR, description="buys things")
class Buyer:
    def __init__(self) -> None:
        self.bought: list[str] = []
        self.keys: list[str] = []

    @condition
    async def solvent(self) -> bool:
        await asyncio.sleep(0)
        return True

    @action(can_rerun=True, pre=["solvent"])
    async def buy(self, order: Order, context: OperationContext) -> Receipt:
        self.keys.append(context.idempotency_key)
        if order.item == "yacht":
            await ask_human(str, "Really?")
        self.bought.append(order.item)
        return Receipt(order.item)

    @action(pre=["solvent"], post=["paid"])
    async def pay(self) -> None:
        self.bought.append("paid")

    @achieves_goal("all is bought")
    @action(pre=["paid"])
    def end(self, receipt: Receipt) -> Report:
        return Report(receipt.item)


def buy(item: str) -> ToolCall:
    return ToolCall("buy", order={"item": item})


class TestCallsAtOnce:
    async def test_each_call_has_its_own_arguments_and_key(self) -> None:
        agent = Buyer()
        await led(agent, [buy("pen"), buy("ink")], "no", "no", "no")
        assert agent.bought == ["pen", "ink"]
        assert len(set(agent.keys)) == 2

    async def test_an_action_that_may_run_once_runs_once(self) -> None:
        agent = Buyer()
        await led(agent, [ToolCall("pay"), ToolCall("pay")], "no", "no", "no")
        assert agent.bought == ["paid"]

    async def test_a_call_that_waits_gets_its_answer_though_another_has_run(self) -> None:
        agent, store = Buyer(), JsonStore()
        model = ScriptedModel([buy("yacht"), buy("pen")], ToolCall("pay"), ToolCall("end"))
        platform = Platform(models=model, store=store).register(agent)
        process = await platform.start(agent, "go")
        assert process.status is ProcessStatus.WAITING
        process = await respond(platform, process, "yes")
        assert (process.status, process.failure) == (ProcessStatus.COMPLETED, None)
        assert agent.bought == ["pen", "yacht", "paid"]
        assert len(set(agent.keys)) == 2
