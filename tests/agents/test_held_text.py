"""Text of a stream where something refuses, changes or repeats an answer: only the answer that counts is given out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest
from pydantic import BaseModel

from tactician import Agent, Ai, Ensemble, Graph, Loop, MapReduce, Task, guardrails
from tactician.agents import BaseRunnable
from tactician.ensemble import END, Edge
from tactician.errors import TacticianError
from tactician.guardrails import GuardrailResult
from tactician.llm import ModelRequest, ModelResponse
from tactician.llm.model import Delta
from tactician.loop import TextReceived
from tactician.runs import RunContext
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.support.held_answers import CASES, Case, agent, retry_secrets


async def read(runnable: BaseRunnable[object]) -> list[str]:
    context, texts = RunContext.over(ScriptedModel(), store=MemoryStore()), []
    try:
        async for text in runnable.stream_text("x", context=context):
            texts.append(text)  # noqa: PERF401 - what comes before an error counts
    except TacticianError:
        texts.append("FAILED")
    return texts


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_only_the_answer_that_counts_is_in_the_text(case: Case) -> None:
    texts = await read(case.build())
    assert "".join(texts) in ("", "FAILED") if case.answer is None else "".join(texts) == case.answer


def graph_to_the_end() -> Graph:
    states = {"a": Task("a", agent=agent("first")), "b": Task("b", agent=agent("one two three"))}
    return Graph(states, start="a", edges=[Edge("a", "b"), Edge("b", END)])


INCREMENTAL: dict[str, Callable[[], BaseRunnable[object]]] = {
    "agent": lambda: agent("one two three"),
    "agent with a guardrail of its input": lambda: agent("one two three", input_guardrails=[retry_secrets]),
    "last task": lambda: Ensemble("E", [Task("a", agent=agent("first")), Task("b", agent=agent("one two three"))]),
    "last iteration": lambda: Loop([Task("t", agent=agent("first", "one two three"))], max_iterations=2),
    "last state": graph_to_the_end,
    "reduction": lambda: MapReduce(
        ["a", "b"],
        map=lambda item: Task(f"map {item}", agent=agent("first")),
        reduce=lambda outputs: Task("reduce", agent=agent("one two three")),
    ),
}


@pytest.mark.parametrize("build", INCREMENTAL.values(), ids=INCREMENTAL)
async def test_text_that_nothing_can_refuse_comes_word_by_word(build: Callable[[], BaseRunnable[object]]) -> None:
    assert await read(build()) == ["one ", "two ", "three"]


async def test_text_comes_word_by_word_once_a_guardrail_beside_the_model_has_passed() -> None:
    may_pass, has_said = asyncio.Event(), asyncio.Event()

    @guardrails.input_guardrail(concurrent=True)
    async def check(text: str) -> GuardrailResult:
        await may_pass.wait()
        return guardrails.passed()

    class Pausing(ScriptedModel):
        """Model that pauses within its answer until the guardrail has passed."""

        async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
            async for item in super().stream(request):
                yield item
                if not has_said.is_set():
                    has_said.set()
                    await read_first.wait()

    read_first = asyncio.Event()
    texts = Agent("A", model=Pausing("one two three"), input_guardrails=[check]).stream_text("x")
    first = asyncio.ensure_future(anext(texts))
    await has_said.wait()
    await asyncio.sleep(0)
    assert not first.done(), "the guardrail has not passed yet"
    may_pass.set()
    assert await first == "one "
    read_first.set()
    assert [text async for text in texts] == ["two ", "three"]


async def test_a_stream_inside_a_held_answer_has_the_text_of_its_own() -> None:
    seen: list[str] = []

    async def ask() -> str:
        """Ask another agent."""
        seen.extend([text async for text in agent("one two").stream_text("x")])
        return "asked"

    host = agent(ToolCall("ask"), "SECRET", "fine", tools=[ask])
    task = Task("t", agent=host, output_guardrails=[retry_secrets])
    assert await read(Ensemble("E", [task])) == ["fine"]
    assert seen == ["one ", "two"]


class Month(BaseModel):
    name: str


def no_july(text: str) -> GuardrailResult:
    return guardrails.retry("no July") if "July" in text else guardrails.passed()


async def test_the_text_of_a_single_call_is_held_too() -> None:
    ai = Ai.over(ScriptedModel("July is hot", "June is mild")).with_output_guardrails(no_july)
    assert [text async for text in ai.stream_text("Which month?")] == ["June is mild"]


async def test_items_that_a_guardrail_may_refuse_are_held() -> None:
    june, may = Month(name="June"), Month(name="May")
    ai = Ai.over(ScriptedModel([Month(name="July"), june], [may, june])).with_output_guardrails(no_july)
    assert [item async for item in ai.stream_objects(Month, "Which months?")] == [may, june]


async def test_held_pieces_are_events_of_something_internal() -> None:
    pieces = [
        event
        async for event in agent("the SECRET", "fine", output_guardrails=[retry_secrets]).stream("x")
        if isinstance(event, TextReceived)
    ]
    assert "".join(piece.text for piece in pieces) == "the SECRETfine"
    assert all(piece.is_internal for piece in pieces)
