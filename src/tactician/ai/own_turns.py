"""Turns of a call to a model, without those of what happens inside it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from tactician.events import Event
from tactician.loop import PieceReceived, TurnStarted
from tactician.runs import RunCompleted


async def select_own_turns(events: AsyncGenerator[Event], run_id: str) -> AsyncGenerator[Event]:
    """Yield the beginnings of the turns of a streamed call, the pieces of their answers, and the end of the stream.

    A tool that the model calls may call a model too, in the same run. The turns of that are in the span of the tool;
    those of the call itself are in the span in which the first one is.

    Args:
        events: the events of the call.
        run_id: id of the run in which the call is made.
    """
    around: str | None = None
    turn: str | None = None
    async with aclosing(events):
        async for event in events:
            if isinstance(event, TurnStarted) and event.run_id == run_id:
                if turn is None:
                    around = event.span_id
                if event.span_id == around:
                    turn = event.id
                    yield event
            elif isinstance(event, RunCompleted) or (isinstance(event, PieceReceived) and event.span_id == turn):
                yield event
