"""What a run tells those who listen, and that it tells nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest
from pydantic import BaseModel

from tactician import Agent, RunContext, Runnable, RunResult
from tactician.errors import ModelServerError
from tactician.events import Event
from tactician.llm import AssistantMessage, Features, ModelRequest, ModelResponse, Text, Thinking
from tactician.llm.model import Delta, TextDelta, ThinkingDelta
from tactician.loop import (
    OutputRejected,
    TextReceived,
    ThinkingReceived,
    ToolCalled,
    ToolReturned,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
)
from tactician.runs import OutputError, RunCompleted, RunEnded, RunStarted, RunStatus
from tactician.testing import ScriptedModel, ToolCall
from tests.support.waiting import eventually

TURN_EVENTS = (TurnStarted, TurnCompleted, ToolCalled, ToolReturned, OutputRejected, TextReceived, ThinkingReceived)


class Person(BaseModel):
    name: str


def double(x: int) -> int:
    return 2 * x


async def recorded(agent: Runnable, model: ScriptedModel) -> list[Event]:
    events: list[Event] = []
    await agent.run("hi", context=RunContext.over(model, events.append))
    return events


def agent_with_all_events() -> tuple[Agent[Person], ScriptedModel]:
    calls = [ToolCall("double", x=2), ToolCall("double", x=3)]
    model = ScriptedModel(calls, "no", Person(name="Ada Lovelace"))
    return Agent("A", model=model, tools=[double], output_type=Person, parallel_tools=False), model


class TestOrder:
    async def test_a_run_tells_its_turns_tools_and_rejections(self) -> None:
        events = await recorded(*agent_with_all_events())

        assert [type(event) for event in events] == [
            RunStarted,
            TurnStarted,
            TurnCompleted,
            ToolCalled,
            ToolReturned,
            ToolCalled,
            ToolReturned,
            TurnStarted,
            TurnCompleted,
            OutputRejected,
            TurnStarted,
            TurnCompleted,
            RunEnded,
        ]
        assert [event.turn for event in events if isinstance(event, TurnStarted)] == [1, 2, 3]
        assert len({event.run_id for event in events}) == 1
        assert {event.path for event in events} == {("A",)}

    async def test_events_hold_what_was_said(self) -> None:
        events = await recorded(*agent_with_all_events())

        started = next(event for event in events if isinstance(event, TurnStarted))
        assert started.model == "scripted"
        assert started.request.prompt == "hi"
        returned = [event for event in events if isinstance(event, ToolReturned)]
        assert [event.result.content for event in returned] == ["4", "6"]
        assert all(event.result.call_id == event.call.id and event.seconds >= 0 for event in returned)
        rejected = next(event for event in events if isinstance(event, OutputRejected))
        assert (rejected.attempt, rejected.message.text) == (1, "no")

    async def test_the_request_is_told_as_it_was_meant_not_as_it_was_fitted(self) -> None:
        model = ScriptedModel('{"tool": "double", "arguments": {"x": 1}}', {"answer": "2"}, features=Features())

        events = await recorded(Agent("A", model=model, tools=[double]), model)

        started = [event for event in events if isinstance(event, TurnStarted)]
        assert [one.name for one in started[0].request.tools] == ["double"]
        assert [type(event) for event in events].count(ToolCalled) == 1

    async def test_a_nested_agent_tells_under_its_own_path(self) -> None:
        inner = Agent("Inner", model=ScriptedModel("x"))
        model = ScriptedModel(ToolCall("inner", request="r"), "done")

        events = await recorded(Agent("Outer", model=model, tools=[inner.as_tool()]), model)

        assert [(type(event), event.path) for event in events][3:8] == [
            (ToolCalled, ("Outer",)),
            (RunStarted, ("Outer", "Inner")),
            (TurnStarted, ("Outer", "Inner")),
            (TurnCompleted, ("Outer", "Inner")),
            (RunEnded, ("Outer", "Inner")),
        ]
        assert len({event.run_id for event in events}) == 2

    async def test_no_event_is_built_when_nobody_listens(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("an event was built")

        for kind in TURN_EVENTS:
            monkeypatch.setattr(kind, "__init__", refuse)
        agent, _ = agent_with_all_events()

        assert (await agent.run("hi")).output == Person(name="Ada Lovelace")
        with pytest.raises(AssertionError, match="an event was built"):
            await recorded(*agent_with_all_events())


class TestStreams:
    async def test_a_stream_ends_with_the_result_that_run_gives(self) -> None:
        agent, _ = agent_with_all_events()
        expected = await agent.run("hi")

        agent, _ = agent_with_all_events()
        events = [event async for event in agent.stream("hi", context=RunContext.over(ScriptedModel()))]

        last = events[-1]
        assert isinstance(last, RunCompleted)
        assert (last.result.output, last.result.messages) == (expected.output, expected.messages)
        assert last.result.usage == expected.usage
        assert [type(event) for event in events].count(RunCompleted) == 1

    async def test_text_comes_in_pieces(self) -> None:
        model = ScriptedModel("one two three")

        events = [event async for event in Agent("A", model=model).stream("hi", context=RunContext.over(model))]

        pieces = [event.text for event in events if isinstance(event, TextReceived)]
        assert len(pieces) > 1
        assert "".join(pieces) == "one two three"
        kinds = [type(event) for event in events]
        assert kinds[:2] == [RunStarted, TurnStarted]
        assert kinds[-3:] == [TurnCompleted, RunEnded, RunCompleted]

    async def test_thinking_comes_in_pieces(self) -> None:
        model = Model(ThinkingDelta("h"), ThinkingDelta("m"), TextDelta("ok"))

        events = [event async for event in Agent("A", model=model).stream("hi", context=RunContext.over(model))]

        assert [event.text for event in events if isinstance(event, ThinkingReceived)] == ["h", "m"]

    async def test_a_run_that_only_has_a_sink_does_not_stream(self) -> None:
        model = ScriptedModel("one two")

        events = await recorded(Agent("A", model=model), model)

        assert not any(isinstance(event, TextReceived) for event in events)

    async def test_other_listeners_hear_a_stream_too(self) -> None:
        model, heard = ScriptedModel("one two"), list[Event]()
        context = RunContext.over(model, heard.append)

        events = [event async for event in Agent("A", model=model).stream("hi", context=context)]

        assert heard == events[:-1]

    async def test_a_failure_comes_after_the_events_before_it(self) -> None:
        model, events = ScriptedModel(ToolCall("double", x=1), "no", "no"), list[Event]()
        agent = Agent("A", model=model, tools=[double], output_type=Person, max_attempts=2)

        async def read() -> None:
            async for event in agent.stream("hi", context=RunContext.over(model)):
                events.append(event)

        with pytest.raises(OutputError):
            await read()

        assert isinstance(events[-2], OutputRejected)
        assert isinstance(last := events[-1], RunEnded)
        assert (last.status, (last.error or "").partition(":")[0]) == (RunStatus.FAILED, "OutputError")

    async def test_a_model_that_fails_is_told_too(self) -> None:
        events: list[Event] = []
        with pytest.raises(ModelServerError):
            await Agent("A").run("hi", context=RunContext.over(ScriptedModel(ModelServerError("down")), events.append))

        assert [type(event) for event in events] == [RunStarted, TurnStarted, TurnFailed, RunEnded]
        assert isinstance(failed := events[2], TurnFailed)
        assert (failed.turn, failed.model, failed.error) == (1, "scripted", "ModelServerError: down")

    @pytest.mark.parametrize("closing", [True, False])
    async def test_leaving_early_cancels_the_run(self, closing: bool) -> None:
        cancelled = asyncio.Event()
        before = asyncio.all_tasks()

        async def hang() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        model = ScriptedModel(ToolCall("hang"))
        agent = Agent("A", model=model, tools=[hang])

        if closing:
            async with aclosing(agent.stream("hi", context=RunContext.over(model))) as events:
                async for event in events:
                    if isinstance(event, ToolCalled):
                        break
            assert cancelled.is_set()
        else:
            async for event in agent.stream("hi", context=RunContext.over(model)):
                if isinstance(event, ToolCalled):
                    break
        await eventually(lambda: cancelled.is_set() and asyncio.all_tasks() <= before)

    async def test_leaving_early_closes_the_stream_of_the_model(self) -> None:
        model = Model(TextDelta("a"), TextDelta("b"), hangs=True)
        before = asyncio.all_tasks()

        async for event in Agent("A", model=model).stream("hi", context=RunContext.over(model)):
            if isinstance(event, TextReceived):
                break

        await eventually(lambda: model.closed and asyncio.all_tasks() <= before)

    async def test_a_listener_that_fails_ends_nothing_and_is_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        model, heard = Model(TextDelta("a"), TextDelta("b")), list[Event]()

        def listen(event: Event) -> None:
            assert not isinstance(event, TextReceived), "no more"

        context = RunContext.over(model, listen, heard.append)
        result = await Agent("A", model=model).run("hi", context=replace(context, streaming=True))

        assert result.output == "ok"
        assert [event.text for event in heard if isinstance(event, TextReceived)] == ["a", "b"]
        assert caplog.messages == ["A: a listener failed on TextReceived; the run continues"] * 2
        assert "AssertionError: no more" in caplog.text


class Model:
    """A model that streams what it is given."""

    name = "model"
    features = Features(tools=True, json_schema=True)

    def __init__(self, *deltas: Delta, hangs: bool = False) -> None:
        self._deltas = deltas
        self._hangs = hangs
        self.closed = False

    async def generate(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse(AssistantMessage((Thinking("hm"), Text("ok"))))

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        try:
            for delta in self._deltas:
                yield delta
            if self._hangs:
                await asyncio.Event().wait()
            yield await self.generate(request)
        finally:
            self.closed = True


async def test_an_agent_and_its_result_are_what_the_contract_says() -> None:
    agent = Agent("A", model=ScriptedModel("x"))

    assert isinstance(agent, Runnable)
    assert isinstance(await agent.run("hi"), RunResult)


def test_run_sync_is_for_programs_without_a_loop() -> None:
    assert Agent("A", model=ScriptedModel("x")).run_sync("hi").output == "x"


async def test_run_sync_inside_a_loop_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match="await the method without `_sync` instead"):
        Agent("A", model=ScriptedModel("x")).run_sync("hi")
