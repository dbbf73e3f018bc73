"""Streams of a call to a model: text, thinking, objects, and a limit for the whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import TypeVar

import pytest
from pydantic import BaseModel

from tactician import Agent, Ai
from tactician.clock import Clock
from tactician.events import Event
from tactician.llm import AssistantMessage, Features, ModelRequest, ModelResponse, Text, Thinking
from tactician.llm.model import Delta, TextDelta, ThinkingDelta
from tactician.loop import PartialReceived, TextReceived, ThinkingReceived, ToolReturned
from tactician.runs import RunCompleted, RunContext, StreamTimeoutError
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tactician.tools import tool

T = TypeVar("T")


class Month(BaseModel):
    name: str
    heat: int


JULY = Month(name="July", heat=33)


class Pondering:
    """A model that thinks, writes, and may stop in the middle."""

    name = "pondering"
    features = Features(json_schema=True)

    def __init__(self, *pieces: str, then: Callable[[], object] = lambda: None) -> None:
        self._pieces = pieces
        self._then = then
        self.is_closed = False

    async def generate(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse(AssistantMessage((Text("".join(self._pieces)),)))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        try:
            yield ThinkingDelta("hm")
            for piece in self._pieces:
                yield TextDelta(piece)
            self._then()
            await asyncio.sleep(0)
            yield await self.generate(request)
        finally:
            self.is_closed = True


def over(model: Pondering | ScriptedModel, clock: Clock) -> Ai:
    return Ai(RunContext.over(model, clock=clock))


async def collect(stream: AsyncGenerator[T], seen: list[T]) -> None:
    async for item in stream:
        seen.append(item)  # noqa: PERF401 - what came before an error counts


async def test_the_text_comes_while_the_model_still_writes() -> None:
    ai = ScriptedModel("one two three").ai()

    assert [text async for text in ai.stream_text("count")] == ["one ", "two ", "three"]


async def test_text_around_a_tool_call_is_in_paragraphs() -> None:
    @tool
    def look_up() -> str:
        """Look up."""
        return "3"

    ai = ScriptedModel(["I will look.", ToolCall("look_up")], "It is 3.").ai().with_tools(look_up)

    assert "".join([text async for text in ai.stream_text("how many?")]) == "I will look.\n\nIt is 3."


async def test_what_a_tool_asks_a_model_is_not_part_of_the_text() -> None:
    @tool
    async def consult(ai: Ai) -> str:
        """Consult another model."""
        return await ai.with_llm(ScriptedModel("an inner answer")).generate_text("consult")

    ai = ScriptedModel(ToolCall("consult"), "the answer").ai().with_tools(consult)

    assert "".join([text async for text in ai.stream_text("go")]) == "the answer"


async def test_what_a_tool_asks_a_model_is_not_read_as_objects() -> None:
    @tool
    async def consult(ai: Ai) -> str:
        """Consult another model."""
        await ai.with_llm(ScriptedModel({"value": [{"name": "May", "heat": 1}, JULY, JULY]})).create(list[Month], "x")
        return "done"

    ai = ScriptedModel(ToolCall("consult"), {"value": [JULY]}).ai().with_tools(consult)

    assert [item async for item in ai.stream_objects(Month, "go")] == [JULY]


async def test_a_subagent_is_not_part_of_the_text() -> None:
    ai = ScriptedModel(ToolCall("helper", request="x"), "the answer").ai()
    helper = Agent("Helper", model=ScriptedModel("an inner answer"))

    assert "".join([text async for text in ai.with_subagents(helper).stream_text("go")]) == "the answer"


async def test_streams_include_thinking_text_and_the_object() -> None:
    ai = Ai.over(Pondering(JULY.model_dump_json()))
    events: list[Event] = [event async for event in ai.stream(Month, "the hottest month")]

    assert [event.text for event in events if isinstance(event, ThinkingReceived)] == ["hm"]
    assert [event.value for event in events if isinstance(event, PartialReceived)] == [JULY]
    assert isinstance(end := events[-1], RunCompleted)
    assert end.result.output == JULY


async def test_all_events_show_tools_too() -> None:
    @tool
    def look_up() -> str:
        """Look up."""
        return "3"

    ai = ScriptedModel(ToolCall("look_up"), "It is 3.").ai().with_tools(look_up)
    events = [event async for event in ai.stream(str, "how many?")]

    assert [event.result.content for event in events if isinstance(event, ToolReturned)] == ["3"]
    assert "".join(event.text for event in events if isinstance(event, TextReceived)) == "It is 3."


async def test_a_whole_stream_that_takes_too_long_ends_with_an_error_and_the_model_stops() -> None:
    clock = FakeClock()
    model = Pondering("one ", "two ", then=lambda: clock.advance(150))
    seen: list[str] = []
    with pytest.raises(StreamTimeoutError, match="within 150 seconds") as caught:
        await collect(over(model, clock).stream_text("count", timeout=150), seen)

    assert "".join(seen) == "one two "
    assert isinstance(caught.value, TimeoutError)
    assert model.is_closed


async def test_objects_that_came_in_time_are_there() -> None:
    clock = FakeClock()
    model = Pondering(f'{{"value": [{JULY.model_dump_json()}, {{', then=lambda: clock.advance(150))
    seen: list[Thinking | Month] = []
    with pytest.raises(StreamTimeoutError):
        await collect(over(model, clock).stream_objects(Month, "x", timeout=150), seen)

    assert seen == [Thinking("hm"), JULY]


async def test_the_time_of_the_reader_does_not_count() -> None:
    clock = FakeClock()
    model = Pondering("one ", "two")
    texts = over(model, clock).stream_text("count", timeout=150)
    first = await anext(texts)
    for _ in range(10):
        await asyncio.sleep(0)  # the run ends meanwhile
    clock.advance(1000)

    assert first + "".join([text async for text in texts]) == "one two"


async def test_a_stream_of_an_agent_has_the_same_limit() -> None:
    clock = FakeClock()
    agent = Agent("Counter", model=Pondering("one", then=lambda: clock.advance(150)))
    context = RunContext.over(ScriptedModel(), clock=clock)
    with pytest.raises(StreamTimeoutError):
        await collect(agent.stream_text("count", context=context, timeout=150), [])
