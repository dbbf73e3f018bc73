"""Processes inside processes: `context.run_agent`, and what holds for parent and child together."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from tactician import (
    Agent,
    Ai,
    Budget,
    OperationContext,
    PlannedAgent,
    Planner,
    Platform,
    ProcessOptions,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    condition,
    planned_agent,
    simple_agent,
)
from tactician.errors import ConfigurationError, ResponseError, TransientError
from tactician.events import Event
from tactician.grammar import format_count
from tactician.process import (
    ActionRetryPolicy,
    ActionStarted,
    AgentProcess,
    ProcessEnded,
    ProcessStarted,
    ProcessStuckError,
)
from tactician.process.state.state import ChildRun
from tactician.runs import OutputError
from tactician.stores import MemoryStore
from tactician.testing import FakeContext, ScriptedModel, ToolCall
from tests.agents.running import started, steps
from tests.support.failures import without_lines
from tests.support.stored import JsonStore, respond, resume


@dataclass
class Facts:
    text: str


@dataclass
class Draft:
    text: str


@dataclass
class Summary:
    text: str


@dataclass
class Book:
    text: str


@dataclass
class Printed:
    text: str


@planned_agent(description="drafts and sums up")
class Drafter:
    @action
    async def research(self, topic: UserInput, ai: Ai) -> Facts:
        return Facts(await ai.generate_text(f"facts about {topic.content}"))

    @achieves_goal("drafted")
    @action
    def draft(self, facts: Facts) -> Draft:
        return Draft(f"draft: {facts.text}")

    @achieves_goal("summed up", value=1)
    @action
    def sum_up(self, facts: Facts) -> Summary:
        return Summary(f"in short: {facts.text}")


@planned_agent(description="publishes what another one has drafted")
class Publisher:
    def __init__(self, drafter: object = None) -> None:
        self.drafter = Drafter() if drafter is None else drafter

    @achieves_goal("published")
    @action
    async def publish(self, topic: UserInput, context: OperationContext) -> Book:
        return Book((await context.run_agent(self.drafter, Draft)).text)


class TestRunAgent:
    async def test_the_goal_that_gives_the_type_is_pursued_and_its_result_comes_back(self) -> None:
        process = await started(Publisher(), "frogs", model=ScriptedModel("they hop"))
        assert process.result == Book("draft: they hop")
        assert process.last(Draft) is None, "a child has a blackboard of its own"

    async def test_an_agent_and_an_instance_are_the_same(self) -> None:
        process = await started(Publisher(PlannedAgent(Drafter())), "frogs", model=ScriptedModel("they hop"))
        assert process.result == Book("draft: they hop")

    async def test_without_inputs_it_begins_with_what_is_on_the_blackboard(self) -> None:
        process = await started(Publisher(), "frogs", Facts("known"))
        assert process.result == Book("draft: known"), "no model was asked: the facts are there"

    async def test_inputs_take_the_place_of_the_blackboard(self) -> None:
        context = FakeContext(ScriptedModel(), UserInput("frogs"), Facts("old"))
        assert await context.run_agent(Drafter(), Summary, Facts("new")) == Summary("in short: new")
        both = await context.run_agent(Drafter(), Draft, UserInput("hares"), Facts("newer"))
        assert both == Draft("draft: newer")

    async def test_any_runnable_will_do_and_its_answer_is_of_the_type(self) -> None:
        context = FakeContext(ScriptedModel('{"text": "hop"}'))
        assert await context.run_agent(Agent("Pen"), Facts, "Write") == Facts("hop")
        assert await context.run_agent(simple_agent(int, lambda number: number + 1), int, 2) == 3

    async def test_an_answer_of_another_type_is_an_error(self) -> None:
        with pytest.raises(OutputError, match="Pen: its answer is not a valid Facts"):
            await FakeContext(ScriptedModel("no JSON")).run_agent(Agent("Pen"), Facts, "Write")

    async def test_an_object_of_any_class_comes_back_itself(self) -> None:
        class Plain:
            """A class that nothing can turn into JSON."""

        @planned_agent(description="gives it")
        class Giver:
            @achieves_goal("given")
            @action
            def give(self, topic: UserInput) -> Plain:
                return plain

        plain = Plain()
        assert await FakeContext().run_agent(Giver(), Plain, "x") is plain

    async def test_a_goal_for_the_type_is_needed(self) -> None:
        with pytest.raises(ConfigurationError, match="'Drafter' has no goal that produces Book"):
            await FakeContext().run_agent(Drafter(), Book, "x")

    async def test_what_is_no_agent_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="str is not an agent: pass a Runnable, or an instance of"):
            await FakeContext().run_agent("Drafter", Draft, "x")

    async def test_a_child_that_is_stuck_fails_the_action(self) -> None:
        with pytest.raises(ProcessStuckError, match="Drafter is stuck: No plan reaches 'draft'"):
            await FakeContext().run_agent(Drafter(), Draft, Book("nothing of use"))

    async def test_a_condition_may_run_an_agent_but_cannot_wait(self) -> None:
        @planned_agent(description="has a condition that runs an agent")
        class Careful:
            def __init__(self, agent: object) -> None:
                self.agent = agent

            @condition
            async def drafted(self, topic: UserInput, context: OperationContext) -> bool:
                return bool(await context.run_agent(self.agent, Draft))

            @achieves_goal("published")
            @action(pre=["drafted"])
            def publish(self, topic: UserInput) -> Book:
                return Book(topic.content)

        process = await started(Careful(Drafter()), "frogs", model=ScriptedModel("they hop"))
        assert process.result == Book("frogs")
        process = await started(Careful(Asker()), "frogs")
        assert process.status is ProcessStatus.FAILED
        assert process.failure is not None
        assert "Asker waits for somebody, which can be waited for in an action of a process only" in process.failure


class TestWhatIsToldOfIt:
    async def test_the_history_has_the_child_with_its_history(self) -> None:
        process = await started(Publisher(), "frogs", model=ScriptedModel("they hop"))
        (child,) = process.history[0].children
        assert (child.agent, child.status, child.failure) == ("Drafter", ProcessStatus.COMPLETED, None)
        assert [run.action for run in child.history] == ["research", "draft"]
        assert child.history[0].usage.total_tokens == process.usage.total_tokens == 15

    async def test_a_child_that_failed_says_why(self) -> None:
        process = await started(Publisher(), "frogs", model=ScriptedModel(LookupError("no frogs")))
        (child,) = process.history[0].children
        assert child.status is ProcessStatus.FAILED
        assert without_lines(child.failure) == "research raised LookupError: no frogs"
        assert process.failure is not None
        assert "publish raised ProcessFailedError: Drafter failed: research raised" in process.failure

    async def test_its_events_have_the_path_through_the_parent_and_its_id(self) -> None:
        events: list[Event] = []
        process = await started(Publisher(), "frogs", model=ScriptedModel("they hop"), on_event=events.append)
        (child,) = process.history[0].children
        begun = [(event.path, event.run_id) for event in events if isinstance(event, ProcessStarted)]
        assert begun == [(("Publisher",), process.id), (("Publisher", "publish", "Drafter"), child.id)]
        inside = [event.action for event in events if isinstance(event, ActionStarted) and event.run_id == child.id]
        assert inside == ["research", "draft"]

    async def test_the_diagram_draws_it_beside_its_action(self) -> None:
        done = (await started(Publisher(), "frogs", model=ScriptedModel("they hop"))).to_mermaid().splitlines()
        assert '    child_1[/"Drafter<br/>completed"/]' in done
        assert "    action_publish -.- child_1" in done
        assert "    class child_1 done" in done
        failed = await started(Publisher(), "frogs", model=ScriptedModel(LookupError("no frogs")))
        assert "    class child_1 failed" in failed.to_mermaid().splitlines()

    async def test_it_is_kept_with_the_process(self) -> None:
        store = MemoryStore()
        platform = Platform(ScriptedModel("they hop"), store=store).register(Publisher())
        process = await platform.start("Publisher", "frogs")
        restored = await Platform(ScriptedModel(), store=store).register(Publisher()).process(process.id)
        assert repr(restored.history) == repr(process.history)
        (child,) = restored.history[0].children
        assert child.history[0].usage.total_tokens == 15

    async def test_a_process_that_is_no_part_of_the_action_is_no_child(self) -> None:
        @planned_agent(description="starts another process, on a platform")
        class Starter:
            @achieves_goal("started")
            @action
            async def start(self, topic: UserInput) -> Book:
                await Platform(ScriptedModel("x")).start(Drafter(), topic)
                return Book("started")

        assert (await started(Starter(), "x")).history[0].children == ()

    async def test_a_child_that_is_run_twice_is_one_child(self) -> None:
        @planned_agent(description="helps its child")
        class Helper:
            @achieves_goal("helped")
            @action
            async def help(self, topic: UserInput, context: OperationContext) -> Book:
                process = PlannedAgent(Drafter()).create_process(context=context.run)
                await process.run()
                process.blackboard.add(Facts("help"))
                await process.run()
                return Book(str(process.status))

        process = await started(Helper(), "x")
        assert process.result == Book("completed")
        assert len(process.history[0].children) == 1


class TestBudgets:
    async def test_the_actions_of_children_count(self) -> None:
        options = ProcessOptions(budget=Budget(actions=2))
        process = await started(Publisher(), "frogs", model=ScriptedModel("they hop"), options=options)
        (child,) = process.history[0].children
        assert child.status is ProcessStatus.TERMINATED
        assert child.failure == "the budget of 2 actions is used up"
        assert [run.action for run in child.history] == ["research"]
        assert (process.status, process.failure) == (ProcessStatus.TERMINATED, "the budget of 2 actions is used up")

    @pytest.mark.parametrize(("actions", "begun"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 4)])
    async def test_an_action_counts_as_soon_as_it_begins(self, actions: int, begun: int) -> None:
        @planned_agent(description="prints what a publisher publishes")
        class Printer:
            @achieves_goal("printed")
            @action
            async def print(self, topic: UserInput, context: OperationContext) -> Printed:
                return Printed((await context.run_agent(Publisher(), Book)).text)

        events: list[Event] = []
        options = ProcessOptions(budget=Budget(actions=actions))
        process = await started(Printer(), "frogs", model=ScriptedModel("x"), options=options, on_event=events.append)
        assert len([event for event in events if isinstance(event, ActionStarted)]) == begun
        if begun == 4:
            assert process.result == Printed("draft: x")
        else:
            assert process.status is ProcessStatus.TERMINATED
            assert process.failure == f"the budget of {format_count(actions, 'action')} is used up"

    async def test_an_agent_that_runs_itself_is_ended_by_the_budget(self) -> None:
        @planned_agent(description="runs itself")
        class Itself:
            @achieves_goal("done")
            @action
            async def work(self, topic: UserInput, context: OperationContext) -> Book:
                return await context.run_agent(Itself(), Book)

        events: list[Event] = []
        process = await started(Itself(), "frogs", on_event=events.append)
        assert (process.status, process.failure) == (ProcessStatus.TERMINATED, "the budget of 50 actions is used up")
        assert len([event for event in events if isinstance(event, ActionStarted)]) == 50

    async def test_what_several_children_have_begun_counts_for_all(self) -> None:
        @planned_agent(description="publishes several at once")
        class Publishers:
            @achieves_goal("printed")
            @action
            async def print(self, topic: UserInput, context: OperationContext) -> Printed:
                books = await context.parallel_map(range(3), lambda _: context.run_agent(Publisher(), Book))
                return Printed(" ".join(book.text for book in books))

        for actions in (9, 10):
            events: list[Event] = []
            options = ProcessOptions(budget=Budget(actions=actions))
            model = ScriptedModel("x", "x", "x")
            process = await started(Publishers(), "frogs", model=model, options=options, on_event=events.append)
            assert len([event for event in events if isinstance(event, ActionStarted)]) == actions
            assert process.status is (ProcessStatus.COMPLETED if actions == 10 else ProcessStatus.TERMINATED)

    async def test_a_child_has_the_budget_of_its_parent_and_no_other(self) -> None:
        @planned_agent(description="counts")
        class Counter:
            @action(can_rerun=True)
            def count(self, facts: Facts | None) -> Facts:
                return Facts(f"{facts.text if facts else ''}I")

            @achieves_goal("counted")
            @action(pre=["expr: len(facts.text) > 59"])
            def finish(self, facts: Facts) -> Draft:
                return Draft(facts.text)

        assert (await started(Counter())).status is ProcessStatus.TERMINATED, "50 actions are the most by default"
        process = await started(Publisher(Counter()), "x", options=ProcessOptions(budget=Budget()))
        assert process.result == Book("I" * 60)

    async def test_a_budget_of_its_own_that_is_used_up_fails_the_action(self) -> None:
        @planned_agent(description="gives its child little")
        class Strict:
            @achieves_goal("drafted")
            @action
            async def draft(self, topic: UserInput, context: OperationContext) -> Book:
                options = ProcessOptions(budget=Budget(actions=1))
                result = await PlannedAgent(Drafter()).run(topic, context=context.run, options=options)
                return Book(str(result.output))

        process = await started(Strict(), "frogs", model=ScriptedModel("they hop"))
        assert process.status is ProcessStatus.FAILED
        assert process.failure is not None
        assert "Drafter was terminated: the budget of 1 action is used up" in process.failure

    async def test_a_child_tries_again_as_often_as_its_parent(self) -> None:
        @planned_agent(description="fails twice")
        class Flaky:
            def __init__(self) -> None:
                self.failures = [TransientError("a"), TransientError("b")]

            @achieves_goal("drafted")
            @action
            def draft(self, topic: UserInput) -> Draft:
                if self.failures:
                    raise self.failures.pop()
                return Draft("at last")

        options = ProcessOptions(retry=ActionRetryPolicy(attempts=3, delay=0))
        process = await started(Publisher(Flaky()), "x", options=options)
        assert process.result == Book("at last")
        assert process.history[0].children[0].history[0].attempts == 3

    async def test_enough_is_enough_for_both(self) -> None:
        options = ProcessOptions(budget=Budget(actions=3))
        process = await started(Publisher(), "frogs", model=ScriptedModel("they hop"), options=options)
        assert process.status is ProcessStatus.COMPLETED

    async def test_what_an_action_does_with_models_afterwards_is_no_action(self) -> None:
        @planned_agent(description="asks a model after its child")
        class Asking:
            @achieves_goal("published")
            @action
            async def publish(self, topic: UserInput, context: OperationContext) -> Book:
                draft = await context.run_agent(Drafter(), Draft)
                return Book(await context.ai.generate_text(draft.text))

        options = ProcessOptions(budget=Budget(actions=3))
        process = await started(Asking(), "frogs", model=ScriptedModel("they hop", "a book"), options=options)
        assert process.result == Book("a book"), process.failure

    async def test_the_tokens_of_children_count(self) -> None:
        options = ProcessOptions(budget=Budget(tokens=10))
        process = await started(Publisher(), "frogs", model=ScriptedModel("they hop"), options=options)
        (child,) = process.history[0].children
        assert (child.status, child.failure) == (
            ProcessStatus.TERMINATED,
            "the budget of 10 tokens is used up (15 used)",
        )

    async def test_the_actions_that_a_model_leads_count(self) -> None:
        @planned_agent(description="led by a model", planner=Planner.SUPERVISOR)
        class Led(Drafter): ...

        model = ScriptedModel(ToolCall("research"), "they hop", ToolCall("draft"))
        process = await started(Led(), "frogs", model=model, options=ProcessOptions(budget=Budget(actions=1)))
        assert process.status is ProcessStatus.TERMINATED
        assert process.failure == "the budget of 1 action is used up"
        assert steps(process) == ["research", "supervise"]

    async def test_a_run_around_a_process_limits_its_actions_too(self) -> None:
        agent = PlannedAgent(Drafter())
        with pytest.raises(Exception, match="Drafter was terminated: the budget of 1 action is used up"):
            await agent.run("frogs", context=Platform(ScriptedModel("they hop")).context(), budget=Budget(actions=1))


class Gate:
    """Two points in time: somebody is inside, and may leave."""

    def __init__(self) -> None:
        self.inside = asyncio.Event()
        self.open = asyncio.Event()


@planned_agent(description="drafts for ever")
class Sleeper:
    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    @achieves_goal("never")
    @action
    async def sleep(self, topic: UserInput) -> Draft:
        self.gate.inside.set()
        await self.gate.open.wait()
        return Draft("awake")


@pytest.fixture
async def sleeping() -> tuple[Platform, AgentProcess]:
    gate = Gate()
    platform = Platform(ScriptedModel())
    process = await platform.spawn(Publisher(Sleeper(gate)), "x")
    await gate.inside.wait()
    return platform, process


class TestKill:
    async def test_it_reaches_the_child(self, sleeping: tuple[Platform, AgentProcess]) -> None:
        platform, process = sleeping
        await platform.kill(process.id, "enough")
        assert (process.status, process.failure) == (ProcessStatus.KILLED, "enough")
        (run,) = process.history
        (child,) = run.children
        assert run.error == "cancelled"
        assert (child.agent, child.status) == ("Sleeper", ProcessStatus.KILLED)
        assert child.history[0].error == "cancelled"

    async def test_a_child_of_a_process_that_waits_is_gone_with_it(self) -> None:
        platform = Platform(ScriptedModel())
        process = await platform.start(Publisher(Asker()), "frogs")
        (request,) = process.pending
        await platform.kill(process.id)
        assert process.status is ProcessStatus.KILLED
        with pytest.raises(ResponseError, match="it waits for nothing"):
            await process.respond(request.id, "yes")
        await process.run()
        assert process.status is ProcessStatus.KILLED
        assert process.result is None


@planned_agent(description="asks before it drafts")
class Asker:
    def __init__(self) -> None:
        self.researched = 0

    @action
    def research(self, topic: UserInput) -> Facts:
        self.researched += 1
        return Facts(topic.content)

    @achieves_goal("drafted")
    @action
    async def draft(self, facts: Facts) -> Draft:
        return Draft(f"{facts.text}: {await ask_human(str, 'A title?')}")


@planned_agent(description="pauses itself")
class Pauser:
    def __init__(self) -> None:
        self.researched = 0

    @action
    def research(self, topic: UserInput, process: AgentProcess) -> Facts:
        self.researched += 1
        process.pause()
        return Facts(topic.content)

    @achieves_goal("drafted")
    @action
    def draft(self, facts: Facts) -> Draft:
        return Draft(facts.text)


class TestPauses:
    async def test_a_child_that_waits_has_its_parent_wait_and_goes_on_with_it(self) -> None:
        asker = Asker()
        events: list[Event] = []
        process = await started(Publisher(asker), "frogs", on_event=events.append)
        assert process.status is ProcessStatus.WAITING
        (request,) = process.pending
        assert request.path == ("Publisher", "publish", "Asker", "draft")
        await process.respond(request.id, "Hop")
        assert process.result == Book("frogs: Hop")
        assert asker.researched == 1, "what the child had done is not done again"
        (child,) = process.history[0].children
        assert [run.action for run in child.history] == ["research", "draft"], "nor forgotten"
        begun = [event.run_id for event in events if isinstance(event, ProcessStarted)]
        assert begun == [process.id, child.id] * 2, "they are the same processes"

    async def test_a_child_that_is_paused_pauses_its_parent_and_goes_on_with_it(self) -> None:
        pauser = Pauser()
        events: list[Event] = []
        process = await started(Publisher(pauser), "frogs", on_event=events.append)
        assert process.status is ProcessStatus.PAUSED
        assert process.pending == ()
        ended = [event.status for event in events if isinstance(event, ProcessEnded)]
        assert ended == [ProcessStatus.PAUSED, ProcessStatus.PAUSED]
        await process.run()
        assert process.result == Book("frogs")
        assert pauser.researched == 1

    @pytest.mark.parametrize("agent", [Asker(), Pauser()], ids=["waits", "paused"])
    async def test_both_go_on_elsewhere(self, agent: Asker | Pauser) -> None:
        store = JsonStore()

        def somewhere() -> Platform:
            return Platform(ScriptedModel(), store=store).register(Publisher(agent))

        process = await somewhere().start("Publisher", "frogs")
        if process.status is ProcessStatus.WAITING:
            process = await respond(somewhere(), process, "Hop")
        else:
            process = await resume(somewhere(), process.id)
        assert process.status is ProcessStatus.COMPLETED
        assert agent.researched == 1
        (child,) = process.history[0].children
        assert isinstance(child, ChildRun)
        assert child.status is ProcessStatus.COMPLETED

    async def test_by_itself_a_paused_process_is_a_run_that_can_be_resumed(self) -> None:
        agent, context = PlannedAgent(Pauser()), Platform(ScriptedModel(), store=MemoryStore()).context()
        paused = await agent.run("frogs", context=context)
        assert (paused.status.value, paused.pending) == ("paused", ())
        assert (await agent.resume(paused.run_id, {}, context=context)).output == Draft("frogs")

    async def test_actions_before_a_pause_are_counted_once(self) -> None:
        store, options = MemoryStore(), ProcessOptions(budget=Budget(actions=3))
        platform = Platform(ScriptedModel(), store=store).register(Publisher(Asker()))
        process = await platform.start("Publisher", "frogs", options=options)
        process = await respond(platform, process, "Hop")
        assert process.status is ProcessStatus.COMPLETED, "research, draft and publish: three"

    async def test_one_item_waits_and_another_is_paused(self) -> None:
        @planned_agent(description="both at once")
        class Both:
            @achieves_goal("done")
            @action
            async def work(self, topic: UserInput, context: OperationContext) -> Book:
                async def draft(agent: object) -> Draft:
                    return await context.run_agent(agent, Draft)

                drafts = await context.parallel_map([Asker(), Pauser()], draft)
                return Book(" and ".join(draft.text for draft in drafts))

        process = await started(Both(), "frogs")
        assert process.status is ProcessStatus.WAITING
        await process.respond(process.pending[0].id, "Hop")
        assert process.result == Book("frogs: Hop and frogs")
        assert steps(process) == ["work"]
