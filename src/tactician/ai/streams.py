"""Streams of a call to a model: its own turns, and the items of a list while the model writes it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Generic, TypeVar

from pydantic_core import from_json

from tactician.events import Event
from tactician.llm import Thinking
from tactician.loop import PieceReceived, TextReceived, ThinkingReceived, TurnStarted
from tactician.loop.output import InvalidOutput, OutputType
from tactician.runs import RunCompleted
from tactician.text import GrowingText

T = TypeVar("T")


async def select_own_turns(events: AsyncGenerator[Event], run_id: str) -> AsyncGenerator[Event]:
    """Yield the beginnings of the turns of a streamed call, the pieces of their answers, and the end of the stream.

    A tool that the model calls may call a model too, in the same run. The turns of that are in the span of the tool;
    the events of the call itself are in the span of the first event.

    Args:
        events: the events of the call.
        run_id: id of the run in which the call is made.
    """
    ai_span_id: str | None = None
    turn: str | None = None
    async with aclosing(events):
        async for event in events:
            if isinstance(event, TurnStarted) and event.run_id == run_id:
                if turn is None:
                    ai_span_id = event.span_id
                if event.span_id == ai_span_id:
                    turn = event.id
                    yield event
            elif isinstance(event, RunCompleted) or (isinstance(event, PieceReceived) and event.span_id == turn):
                yield event


class ItemReader(Generic[T]):
    """Reader of the items of an answer that is a list.

    An answer that turns out not to be valid is written anew; the items that were read of it are not read again. Items
    that a guardrail may refuse come at the end.

    Args:
        item: the type of the items.
        level: length of the path of the context in which the call is made.
    """

    def __init__(self, item: OutputType[T], level: int = 0) -> None:
        self._item = item
        self._level = level
        self._answer = GrowingText()
        self._read = 0

    async def read(self, events: AsyncGenerator[Event]) -> AsyncGenerator[Thinking | T]:
        """Yield the model's thinking, and each item as soon as it is complete.

        Args:
            events: the events of the turns that write the list; see `select_own_turns`.

        Raises:
            RunError: when the run fails.
        """
        async with aclosing(events):
            async for event in events:
                if isinstance(event, ThinkingReceived):
                    yield Thinking(event.text)
                elif isinstance(event, TurnStarted):
                    self._answer = GrowingText()
                elif isinstance(event, TextReceived) and event.answer_level <= self._level:
                    if (text := self._answer.add(event.text)) is not None:
                        for item in self._read_complete_items(text):
                            yield item
                elif isinstance(event, RunCompleted) and isinstance(whole := event.result.output, list):
                    for value in whole[self._read :]:
                        yield self._item.accept(value)

    def _read_complete_items(self, text: str) -> Sequence[T]:
        """Return the items that are newly complete. The last item of an incomplete list may be incomplete."""
        fresh: list[T] = []
        for value in _parse_started_items(text)[self._read : -1]:
            try:
                fresh.append(self._item.accept(value))
            except InvalidOutput:
                break
        self._read += len(fresh)
        return fresh


def _parse_started_items(text: str) -> Sequence[object]:
    try:
        begun: object = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return ()
    items = begun.get("value") if isinstance(begun, dict) else begun
    return items if isinstance(items, list) else ()
