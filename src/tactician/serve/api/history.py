"""What happened in a run before the events that the server has in its memory: the store has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from tactician.errors import RunNotFoundError, StoredStateError
from tactician.events import Event, event_from_json
from tactician.platform import RecordedEvent
from tactician.serve.api.feed import FeedEntry
from tactician.serve.api.server import ApiServer
from tactician.trace import CaptureMode


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
    known = {entry.event.id for entry in feed.replay(run_id)}
    earlier = [event for event in stored if event.id not in known]
    if not earlier:
        feed.set_whole(run_id)
    return earlier


async def list_events(server: ApiServer, run_id: str) -> list[Event]:
    """Return all events of the outermost run around a run, as far as they can be read, oldest first."""
    root = server.feed.find_root(run_id)
    earlier = (event for each in await read_earlier(server, root) if (event := each.event) is not None)
    return list(chain(earlier, _read_entries(server.feed.replay(root))))


def _read_entries(entries: Iterable[FeedEntry]) -> Iterator[Event]:
    """Yield the events of entries, without the words of runs that are not captured."""
    for entry in entries:
        yield entry.event if entry.capture is not CaptureMode.OFF else event_from_json(entry.format())
