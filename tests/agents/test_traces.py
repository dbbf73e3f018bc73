"""What the requests of agents belong to: those of a call, of an agent, of what is around it, of its responder."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tactician import (
    Agent,
    AgentNetwork,
    Ai,
    Department,
    HierarchicalAgents,
    OperationContext,
    ParallelAgents,
    PlannedAgent,
    RouterAgent,
    RunContext,
    UserInput,
    achieves_goal,
    action,
    approve,
    planned_agent,
    runnable,
    tool,
)
from tactician.agents import BaseRunnable
from tactician.conversation import Summarization
from tactician.llm import LlmOptions, ModelRequest, Responder, TraceMetadata, UserMessage
from tactician.runs import RunStatus
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.support.chat_server import ChatServer
from tests.support.voices import VOICES, Saying, says


def named(name: str) -> TraceMetadata:
    return TraceMetadata(trace_name=name)


def traced(agent: BaseRunnable[object], trace: TraceMetadata) -> None:
    agent.trace = trace


def context(model: ScriptedModel, trace: TraceMetadata | None = None) -> RunContext:
    made = RunContext.over(model)
    return made if trace is None else made.with_trace(trace)


def names(model: ScriptedModel) -> list[str | None]:
    """The names of the traces that the requests had."""
    return [_trace(call).trace_name for call in model.calls]


def _trace(call: ModelRequest) -> TraceMetadata:
    return call.options.trace or TraceMetadata()


class TestOneAgent:
    async def test_without_a_trace_requests_have_none(self) -> None:
        model = ScriptedModel("yes")
        await Agent("A").run("x", context=context(model))
        assert model.calls[0].options.trace is None

    @pytest.mark.parametrize("as_object", [True, False])
    async def test_its_requests_belong_to_what_is_around_it(self, as_object: bool) -> None:
        model = ScriptedModel("yes")
        agent = Agent("A", model=model if as_object else None)
        await agent.run("x", context=context(model, named("outer")))
        assert names(model) == ["outer"]

    async def test_the_nearest_wins_field_by_field(self) -> None:
        model = ScriptedModel("yes")
        agent = Agent("A", model=LlmOptions(trace=TraceMetadata(trace_id="options")))
        agent.trace = TraceMetadata(trace_id="agent", span_name="agent")
        around = TraceMetadata(trace_id="around", span_name="around", environment="around")
        await agent.run("x", context=context(model, around))
        assert _trace(model.calls[0]) == TraceMetadata(trace_id="options", span_name="agent", environment="around")

    async def test_one_agents_trace_is_not_anothers(self) -> None:
        model = ScriptedModel("yes", "yes")
        first, second = Agent("A"), Agent("B")
        first.trace = named("first")
        surroundings = context(model)
        await first.run("x", context=surroundings)
        await second.run("x", context=surroundings)
        assert names(model) == ["first", None]
        assert surroundings.trace is None

    async def test_it_holds_for_all_turns_the_tools_and_those_who_are_handed_to(self) -> None:
        model = ScriptedModel(ToolCall("helper", request="help"), "helped", ToolCall("transfer_to_next"), "done")
        agent = Agent("A", tools=[Agent("Helper").as_tool()], handoffs=[Agent("Next")])
        agent.trace = named("mine")
        assert (await agent.run("x", context=context(model))).output == "done"
        assert names(model) == ["mine"] * 4

    async def test_it_holds_after_a_pause(self) -> None:
        @tool(needs_approval=True)
        def pay() -> str:
            """Pays."""
            return "paid"

        model = ScriptedModel(ToolCall("pay"), "done")
        agent = Agent("A", tools=[pay])
        agent.trace = named("mine")
        surroundings = RunContext.over(context(model).models, store=MemoryStore())
        waiting = await agent.run("x", context=surroundings)
        assert waiting.status is RunStatus.WAITING
        responses = {waiting.pending[0].id: approve()}
        assert (await agent.resume(waiting.run_id, responses, context=surroundings)).output == "done"
        assert names(model) == ["mine", "mine"]

    async def test_summaries_of_its_conversation_belong_to_it_too(self) -> None:
        model = ScriptedModel("done").when(prompt_contains="Sum all of it up").reply("the summary")
        agent = Agent("A", window=Summarization(max_tokens=200, keep_recent=1))
        agent.trace = named("mine")
        said = [UserMessage("word " * 40) for _ in range(9)]
        await agent.run(said, context=context(model))
        assert names(model) == ["mine", "mine"]


class TestSeveral:
    async def test_everybody_in_a_constellation_belongs_to_its_trace(self) -> None:
        model = ScriptedModel("1", "yes")
        router = RouterAgent("Router", routes={"all": Agent("A")})
        router.trace = named("router")
        await router.run("x", context=context(model))
        assert names(model) == ["router", "router"]

    async def test_a_member_may_say_otherwise_for_itself(self) -> None:
        model = ScriptedModel("yes", "yes")
        own, other = Agent("Own"), Agent("Other")
        own.trace = TraceMetadata(span_name="own")
        group = ParallelAgents("Group", [own, other])
        group.trace = TraceMetadata(trace_id="t", span_name="group")
        await group.run("x", context=context(model))
        spans = {(_trace(call).trace_id, _trace(call).span_name) for call in model.calls}
        assert spans == {("t", "own"), ("t", "group")}

    async def test_every_way_to_run_a_group_belongs_to_its_trace(self) -> None:
        model = ScriptedModel(*["yes"] * 8)
        group = ParallelAgents("Group", [Agent("A")])
        network = AgentNetwork("Network", [Agent("A"), Agent("B")])
        manager = Agent("Manager")
        company = HierarchicalAgents(executive=Agent("Boss"), departments={"it": Department(manager, [Agent("W")])})
        for one in (group, network, company):
            traced(one, named("group"))
        surroundings = context(model)
        await group.run_first("x", context=surroundings)
        await group.run_and_synthesize("x", synthesizer=Agent("S"), context=surroundings)
        await network.broadcast("x", context=surroundings)
        await company.send_to_department("it", "x", context=surroundings)
        assert names(model) == ["group"] * 6

    async def test_functions_hand_it_on(self) -> None:
        async def work(text: str, context: RunContext) -> str:
            """Works."""
            return (await Agent("A").run(text, context=context)).output

        model, made = ScriptedModel("yes"), runnable(work)
        made.trace = named("function")
        assert (await made.run("x", context=context(model))).output == "yes"
        assert names(model) == ["function"]

    async def test_planned_agents_hand_it_on(self) -> None:
        @planned_agent(description="answers")
        class Answerer:
            @achieves_goal(description="an answer")
            @action
            async def answer(self, given: UserInput, context: OperationContext) -> int:
                """Answers."""
                ai: Ai = context.ai
                return len(await ai.generate_text(given.content))

        model, agent = ScriptedModel("yes"), PlannedAgent(Answerer())
        agent.trace = named("planned")
        assert (await agent.run("x", context=context(model))).output == 3
        assert names(model) == ["planned"]


async def test_openrouter_is_told_who_is_nearest() -> None:
    def agent(name: str, model: str) -> Agent:
        return Agent(name, model=responder.create_model(model, environment=environment))

    async with ChatServer(says(VOICES["openai-responses"], Saying("yes"))) as server:
        environment = {"OPENROUTER_API_KEY": "sk-0123456789", "OPENROUTER_BASE_URL": server.url}
        lowest = TraceMetadata(trace_id="responder", environment="responder", metadata={"from": "responder"})
        responder = Responder(provider="OPEN_ROUTER", trace=lowest)
        own, other = agent("Own", "own"), agent("Other", "other")
        own.trace = TraceMetadata(span_name="agent", metadata={"from": "agent"})
        group = ParallelAgents("Group", [own, other])
        group.trace = TraceMetadata(span_name="group", environment="group")
        await group.run("x", context=RunContext.over(ScriptedModel()).with_trace(TraceMetadata(trace_name="caller")))
    told: Mapping[object, object] = {body["model"]: body["trace"] for body in server.bodies}
    common = {"trace_id": "responder", "environment": "group", "trace_name": "caller"}
    assert told == {
        "own": {**common, "span_name": "agent", "from": "agent"},
        "other": {**common, "span_name": "group", "from": "responder"},
    }
