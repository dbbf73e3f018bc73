"""Streams of every kind of Runnable: in conversations, and the text of the answer only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from pydantic import BaseModel

from tactician import (
    Agent,
    AgentNetwork,
    AgentService,
    Department,
    HierarchicalAgents,
    ParallelAgents,
    Planned,
    RouterAgent,
    SupervisorAgent,
    UserInput,
    achieves_goal,
    action,
    handoff,
    planned_agent,
    repeat_until,
    runnable,
    scatter_gather,
)
from tactician.agents import BaseRunnable
from tactician.conversation import Conversation
from tactician.llm import AssistantMessage, Text, ToolResult, UserMessage
from tactician.loop import TextReceived, read_answer_text
from tactician.runs import RoutingError, RunContext, approve
from tactician.testing import ScriptedModel, ToolCall
from tests.agents.constellations.support import payer, prompts_of, says, surroundings


def route() -> BaseRunnable[object]:
    return RouterAgent("Desk", model=ScriptedModel({"value": 1}), routes={"all": says("Sales", "an answer")})


def supervise() -> BaseRunnable[str]:
    lead = ScriptedModel(ToolCall("invoke_coder", request="go"), "an answer")
    return SupervisorAgent("Lead", model=lead, workers={"codes": says("Coder", "worked")})


def manage() -> BaseRunnable[str]:
    chief = says("Chief", ToolCall("invoke_lead_supervisor", request="go"), "an answer")
    lead = says("Lead", ToolCall("invoke_coder", request="go"), "managed")
    return HierarchicalAgents(executive=chief, departments={"IT": Department(lead, [says("Coder", "worked")])})


def group() -> ParallelAgents:
    return ParallelAgents("Panel", [says("A", "an answer"), says("B", "another")])


def synthesize() -> BaseRunnable[object]:
    group = ParallelAgents("Panel", [says("A", "one"), says("B", "another")])
    return group.as_synthesis(says("C", "an answer"))


def take_first() -> BaseRunnable[object]:
    return ParallelAgents("Panel", [says("A", "an answer")]).as_first_of()


def discuss() -> BaseRunnable[object]:
    return AgentNetwork("Talk", [says("A", "one"), says("B", "an answer")], max_rounds=1)


def discuss_and_conclude() -> BaseRunnable[object]:
    peers = [says("A", "one"), says("B", "two")]
    return AgentNetwork("Talk", peers, max_rounds=1, synthesizer=says("C", "an answer"))


def hand_over() -> BaseRunnable[str]:
    target = says("Target", "an answer")
    return Agent("Host", model=ScriptedModel(ToolCall("transfer_to_target")), handoffs=[handoff(target)])


def call_a_function() -> BaseRunnable[str]:
    async def write(text: str, context: RunContext) -> str:
        await says("Helper", "a draft").run(text, context=context)
        return "an answer"

    return runnable(write)


def repeat() -> BaseRunnable[str]:
    writer = says("Writer", "a draft", "an answer")
    return repeat_until(str, writer, lambda text: text == "an answer")


def gather() -> BaseRunnable[str]:
    return scatter_gather(str, [says("A", "one"), says("B", "two")], says("C", "an answer"))


@planned_agent(description="answers")
class Reporter(Planned[str]):
    """A planned agent whose action asks a model of its own."""

    @achieves_goal("answers")
    @action
    async def report(self, asked: UserInput) -> str:
        await says("Helper", "a draft").run(asked.content)
        return "an answer"


def plan() -> Planned[str]:
    return Reporter()


KINDS: list[Callable[[], BaseRunnable[object]]] = [
    route, supervise, manage, group, synthesize, take_first, discuss, discuss_and_conclude, hand_over, call_a_function,
    repeat, gather, lambda: says("Agent", "an answer"), lambda: says("Agent", "an answer").with_output_type(str),
]  # fmt: skip


@pytest.mark.parametrize("build", [*KINDS, plan])
async def test_only_the_answer_is_in_the_text_of_a_stream(build: Callable[[], Planned[str]]) -> None:
    assert "".join([text async for text in build().stream_text("hi", context=surroundings())]) == "an answer"


@pytest.mark.parametrize("build", [*KINDS, plan])
async def test_a_stream_continues_a_conversation_and_adds_to_it(build: Callable[[], Planned[str]]) -> None:
    conversation = Conversation([UserMessage("before"), AssistantMessage((Text("yes"),))])
    async for _ in build().stream("hi", context=surroundings(), conversation=conversation):
        pass
    said = [message.text for message in conversation.messages if not isinstance(message, ToolResult)]
    assert said[:3] == ["before", "yes", "hi"]
    assert said[-1] == "an answer"


async def test_what_was_said_before_reaches_the_target_of_a_router() -> None:
    target = says("Sales", "an answer", "another")
    router = RouterAgent("Desk", model=ScriptedModel({"value": 1}, {"value": 1}), routes={"all": target})
    conversation = Conversation()
    await router.run("first", context=surroundings(), conversation=conversation)
    await router.run("second", context=surroundings(), conversation=conversation)
    assert prompts_of(target)[1] == "first\nan answer\nsecond"
    assert len(conversation) == 4


async def test_a_run_that_fails_adds_nothing_to_the_conversation_of_a_router() -> None:
    router = RouterAgent("Desk", model=ScriptedModel({"value": 0}), routes={"all": says("Sales")})
    conversation = Conversation([UserMessage("before")])
    with pytest.raises(RoutingError):
        await router.run("hi", context=surroundings(), conversation=conversation)
    assert [message.text for message in conversation.messages] == ["before"]


async def test_a_waiting_run_gets_its_conversation_when_it_is_resumed() -> None:
    context, conversation = surroundings(), Conversation([UserMessage("before")])
    router = RouterAgent("Desk", model=ScriptedModel({"value": 1}), routes={"all": payer("Payer")})
    waiting = await router.run("pay", context=context, conversation=conversation)
    answers = {request.id: approve() for request in waiting.pending}
    result = await router.resume(waiting.run_id, answers, context=context, conversation=conversation)
    assert result.output == "Payer is done"
    assert [message.text for message in conversation.messages] == ["before", "pay", "Payer is done"]


async def test_an_agent_with_another_type_keeps_its_tool_calls_in_the_conversation() -> None:
    def look_up() -> str:
        """Look up."""
        return "3"

    agent = says("Counter", ToolCall("look_up"), "3", tools=[look_up])
    conversation = Conversation()
    result = await agent.with_output_type(int).run("how many?", context=surroundings(), conversation=conversation)
    assert result.output == 3
    assert [message.role for message in conversation.messages] == ["user", "assistant", "tool", "assistant"]


def test_a_conversation_goes_through_a_program_without_an_event_loop() -> None:
    conversation = Conversation()
    agent = says("Agent", "an answer", "another")
    agent.run_sync("hi", conversation=conversation)
    agent.run_sync("and?", conversation=conversation)
    assert len(conversation) == 4


async def test_the_pieces_of_a_classifier_are_marked_as_internal() -> None:
    events = [event async for event in route().stream("hi", context=surroundings())]
    pieces = [event for event in events if isinstance(event, TextReceived)]
    assert {(piece.path[-1], piece.is_internal) for piece in pieces} == {("Desk classifier", True), ("Sales", False)}


async def test_text_comes_while_the_model_still_writes() -> None:
    texts = says("Agent", "one two three").stream_text("hi", context=surroundings())
    assert [text async for text in texts] == ["one ", "two ", "three"]


async def test_text_before_a_tool_call_is_a_paragraph_of_its_own() -> None:
    def look_up() -> str:
        """Look up."""
        return "3"

    model = ScriptedModel(["I will look.", ToolCall("look_up")], "It is 3.")
    agent = Agent("Counter", model=model, tools=[look_up])
    text = "".join([text async for text in agent.stream_text("hi", context=surroundings())])
    assert text == "I will look.\n\nIt is 3."


class Order(BaseModel):
    """An order."""

    number: int


async def test_an_object_comes_whole() -> None:
    agent = Agent("Clerk", model=ScriptedModel("not json", {"number": 3}), output_type=Order)
    assert [text async for text in agent.stream_text("hi", context=surroundings())] == ['{"number":3}']


async def test_a_stream_inside_a_tool_has_the_text_of_its_own_answer() -> None:
    seen: list[str] = []

    async def ask() -> str:
        """Ask another one."""
        seen.extend([text async for text in route().stream_text("hi")])
        return "done"

    agent = says("Host", ToolCall("ask"), "at last", tools=[ask])
    assert "".join([text async for text in agent.stream_text("hi", context=surroundings())]) == "at last"
    assert "".join(seen) == "an answer"


async def test_leaving_the_text_early_cancels_the_run() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def look_up() -> str:
        """Look up."""
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    model = ScriptedModel(["soon", ToolCall("look_up")])
    texts = Agent("Host", model=model, tools=[look_up]).stream_text("hi", context=surroundings())
    assert await anext(texts) == "soon"
    await began.wait()
    await texts.aclose()
    assert ended.is_set()


async def test_the_text_of_a_request_to_a_service_is_that_of_the_answer() -> None:
    service = AgentService(ScriptedModel()).register(route())

    assert "".join([text async for text in read_answer_text(service.stream_agent("desk", "hi"))]) == "an answer"
