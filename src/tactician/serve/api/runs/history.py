"""What happened in a run before the events that the server has in its memory: the store has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypedDict

from tactician.errors import RunNotFoundError, StoredStateError
from tactician.events import Event, event_from_json
from tactician.platform import RunView
from tactician.platform.host.feed import FeedEntry
from tactician.platform.views.recorded_events import RecordedEvent
from tactician.process import ProcessEnded
from tactician.runs import RunEnded, RunStarted, RunStatus
from tactician.runs.outcomes.events import PROCESS_KIND
from tactician.serve.api.serving.server import ApiServer
from tactician.trace.capture import CaptureMode


class _Surroundings(TypedDict):
    run_id: str
    parent_id: str | None
    path: tuple[str, ...]
    id: str
    time: float
    span_id: str | None


async def read_earlier(server: ApiServer, run_id: str) -> list[RecordedEvent]:
    """Return the events of an outermost run that the store has and the feed has not, oldest first."""
    feed = server.feed
    if feed.has_all(run_id):
        return []
    try:
        stored = await server.platform.events(run_id)
    except (RunNotFoundError, StoredStateError):
        return []  # its record says what is wrong with it
    feed.add_roots(run_id, {event.run_id for event in stored})
    event_ids = {entry.event.id for entry in feed.replay(run_id)}
    earlier = [event for event in stored if event.id not in event_ids]
    if not earlier:
        feed.set_whole(run_id)
    return earlier


async def list_events(server: ApiServer, run_id: str) -> list[Event]:
    """Return all events of the outermost run around a run, as far as they can be read, oldest first."""
    root = server.feed.find_root(run_id)
    earlier = (event for each in await read_earlier(server, root) if (event := each.event) is not None)
    return list(chain(earlier, _read_entries(server.feed.replay(root))))


def create_end(run: RunView, earlier: Iterable[RecordedEvent]) -> Event:
    """Return the last event of a run that has ended, which no step has: it happens once the last step is saved.

    Args:
        run: the run, whose record says how it ended.
        earlier: events of its steps.
    """
    spans = [each.id for each in earlier if each.run_id == run.id and each.type == RunStarted.type]
    surroundings = _Surroundings(
        run_id=run.id,
        parent_id=run.parent_id,
        path=(run.name,),
        id=f"{run.id}-end",
        time=run.changed_at or 0.0,
        span_id=spans[-1] if spans else None,
    )
    status, seconds, tally = RunStatus(run.status), run.seconds, run.tally
    if run.kind == PROCESS_KIND:
        return ProcessEnded(**surroundings, status=status, seconds=seconds, tally=tally, failure=run.failure)
    return RunEnded(**surroundings, status=status, seconds=seconds, tally=tally, kind=run.kind, error=run.failure)


def _read_entries(entries: Iterable[FeedEntry]) -> Iterator[Event]:
    """Yield the events of entries, without the words of runs that are not captured."""
    for entry in entries:
        yield entry.event if entry.capture is not CaptureMode.OFF else event_from_json(entry.format())
