"""Runs that another request has started: their events here, and how they end, wherever they run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from tactician.clock import Timeout
from tactician.events import Event
from tactician.guardrails import GuardrailError
from tactician.platform import RunView
from tactician.runs import RunCompleted, RunError, RunResult, RunStarted, RunStatus, RunStore
from tactician.serve.api.server import ApiServer

_POLL: Final = 0.5
"""Seconds between looks at a run that sends no events here, since another server runs it."""
_MOVING: Final = frozenset({RunStatus.NOT_STARTED, RunStatus.RUNNING, RunStatus.PAUSED})


async def follow_run(server: ApiServer, run_id: str) -> AsyncGenerator[Event]:
    """Yield the events of a run that are kept, and those to come, until it rests.

    The first is its start, whether that is kept or not, and the last `RunCompleted`.

    Raises:
        RunError: when the run has failed, was ended or is stuck.
        RunNotFoundError: when the run does not exist.
    """
    server.notice()
    view = await _find_view(server, run_id)
    yield RunStarted(run_id=run_id, path=(view.name,), kind=view.kind)
    if _is_moving(view):
        async with aclosing(_read_events(server, run_id)) as events:
            async for event in events:
                yield event
        view = await _find_view(server, run_id)
    yield RunCompleted(run_id=run_id, path=(view.name,), result=await _find_result(server, view))


async def _read_events(server: ApiServer, run_id: str) -> AsyncGenerator[Event]:
    """Yield the events of a run until it rests."""
    unread: asyncio.Queue[Event] = asyncio.Queue()
    reading = asyncio.create_task(_read_feed(server, run_id, unread))
    try:
        is_moving = True
        while is_moving or not unread.empty():
            try:
                with Timeout(_POLL, server.clock):
                    event = await unread.get()
            except TimeoutError:
                is_moving = _is_moving(await _find_view(server, run_id))
            else:
                yield event
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def _read_feed(server: ApiServer, run_id: str, unread: asyncio.Queue[Event]) -> None:
    """Put the events of a run into a queue, also after the feed has dropped a reader that was too slow."""
    after = 0
    while True:
        async with aclosing(server.feed.read(run_id, after)) as batches:
            async for entries in batches:
                for entry in entries:
                    after = entry.number
                    unread.put_nowait(entry.event)


async def _find_view(server: ApiServer, run_id: str) -> RunView:
    return (await server.platform.tree(run_id)).run


def _is_moving(view: RunView) -> bool:
    """Return whether a run continues without the client: also one that waits for nothing but a worker."""
    status = RunStatus(view.status)
    is_answered = any(request.is_answered for request in view.pending)
    return status in _MOVING or (status is RunStatus.WAITING and is_answered)


async def _find_result(server: ApiServer, view: RunView) -> RunResult[object]:
    status = RunStatus(view.status)
    if status in (RunStatus.COMPLETED, RunStatus.RESTING):
        return RunResult(await server.platform.output(view.id), status, run_id=view.id)
    if status is RunStatus.WAITING:
        return RunResult(None, status, pending=view.pending, run_id=view.id)
    result: RunResult[None] = RunResult(None, status, run_id=view.id)
    record = await RunStore(server.platform.store).load(view.id, with_body=False)
    if record is not None and record.header.refuses_input:
        raise GuardrailError.restore(view.failure or "", result)
    raise RunError(view.failure or f"The run {view.id} {status.sentence}.", result)
