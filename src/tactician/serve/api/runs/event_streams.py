"""Operations that send events of runs as they happen."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Final, TypeVar

from starlette.responses import Response

from tactician.events import Event
from tactician.events.event import find_event_type
from tactician.frozen import frozen
from tactician.platform.host.feed import EventFeed, FeedEntry
from tactician.platform.views.recorded_events import RecordedEvent
from tactician.process import ProcessEnded
from tactician.runs import RunEnded
from tactician.serve.api.forms.pictures import find_picture_address, has_picture, link_event, link_pictures
from tactician.serve.api.forms.visibility import READERS, find_owner
from tactician.serve.api.runs.history import create_end, read_earlier
from tactician.serve.api.runs.lookup import find_run, find_status, present_run
from tactician.serve.api.serving.operations import ApiOperation, Call
from tactician.serve.api.serving.sse import COMMENT, format_event
from tactician.serve.problems import ApiError
from tactician.trace.event_forms import write_event

_PAUSES: Final = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Seconds between looks for the end of a run in the store: its last event comes a moment before it is saved."""
_ENDS: Final = frozenset({RunEnded.type, ProcessEnded.type})
E = TypeVar("E", FeedEntry, RecordedEvent)
_BATCH: Final = 100
_EVENT_QUERY: Final = {
    "after": "id of an event, or latest",
    "type": "a type of events, or several",
    "brief": "true for events of turns without the messages that earlier events have",
}


async def stream_run(call: Call) -> Response:
    """Send the events of a run: those after `Last-Event-ID`, or all that are known, and those to come."""
    run_id = call.find_id("run_id")
    await find_status(call, run_id)
    return _stream(call, run_id)


async def stream_all(call: Call) -> Response:
    """Send the events of all runs."""
    return _stream(call, None)


def _stream(call: Call, run_id: str | None) -> Response:
    if call.server.streams.is_full:
        raise ApiError(503, "Too many streams are open.", {"retry-after": "5"})
    query = call.request.query_params
    feed, kinds, is_brief = call.server.feed, frozenset(query.getlist("type")), query.get("brief") == "true"
    inner = None if run_id is None or feed.find_root(run_id) == run_id else {run_id}
    root, owner = ("", find_owner(call.person)) if run_id is None else (feed.find_root(run_id), None)
    choice = _EventChoice(feed, kinds, is_brief, inner, call.base, root, owner)
    return call.server.streams.respond(_events(call, run_id, _find_place(call), choice))


@frozen
class _EventChoice:
    """Events that a reader wants, and the form of their text.

    Attributes:
        feed: the feed of the events.
        kinds: types of the events; an empty set means all.
        is_brief: true for events without messages that earlier events have.
        inner: ids of a run that is inside another, of the runs inside it, and of their spans, as far as they are known;
            `None` for the events of all runs that the feed has.
        base: path at which the server is mounted, for the addresses of pictures.
        root: id of the outermost run; empty for a reader of all runs.
        owner: id of the user whose runs the reader of all runs sees; everybody's by default.
    """

    feed: EventFeed
    kinds: frozenset[str]
    is_brief: bool
    inner: set[str] | None = None
    base: str = ""
    root: str = ""
    owner: str | None = None

    def format(self, entries: Iterable[FeedEntry]) -> str:
        """Return the entries that the reader wants, as text."""
        visible = (entry for entry in entries if self.owner in (None, entry.user))
        return "".join(self._format(entry) for entry in self._select(visible))

    def format_earlier(self, events: Iterable[RecordedEvent]) -> str:
        """Return the events that the reader wants, as text: without ids, as the feed does not know them."""
        address = find_picture_address(self.root, self.base)
        chosen = self._select(events)
        return "".join(format_event(link_event(event.text, address), kind=event.type) for event in chosen)

    def skip(self, entries: Iterable[FeedEntry]) -> None:
        """Learn from entries that the reader has seen already which runs are inside the run."""
        if self.inner is not None:
            for entry in entries:
                self._is_inside(entry)

    def _select(self, events: Iterable[E]) -> Iterator[E]:
        for event in events:
            if self._is_inside(event) and (not self.kinds or event.type in self.kinds):
                yield event

    def _is_inside(self, event: FeedEntry | RecordedEvent) -> bool:
        if self.inner is None:
            return True
        if event.parent_id in self.inner or event.span_id in self.inner:
            self.inner.add(event.run_id)
        if event.run_id not in self.inner:
            return False
        kind = find_event_type(event.type)
        if kind is not None and kind.opens is not None:
            self.inner.add(event.id)
        return True

    def _format(self, entry: FeedEntry) -> str:
        write = entry.format_briefly if self.is_brief else entry.format
        if has_picture(text := write()):
            link = partial(link_pictures, address=find_picture_address(entry.root, self.base))
            text = write(link, f"pictures at {self.base}")
        return format_event(text, kind=entry.type, id=f"{self.feed.session}-{entry.number}")


async def _events(call: Call, run_id: str | None, after: int, choice: _EventChoice) -> AsyncGenerator[str]:
    """Yield events as text. The stream of a run ends with the run."""
    feed = call.server.feed
    root = None if run_id is None else feed.find_root(run_id)
    is_whole = not after
    yield f"retry: 1000\nid: {feed.session}-{after}\n\n"
    earlier = [] if root is None or after else await read_earlier(call.server, root)
    choice.skip(entry for entry in feed.replay(root) if entry.number <= after)
    for batch in _split(earlier):
        if text := choice.format_earlier(batch):
            yield text
    has_ended = run_id is not None and await _has_ended(call, run_id)
    if not has_ended:
        async with aclosing(feed.read(root, after)) as batches:
            async for entries in batches:
                after = entries[-1].number if entries else after
                if text := choice.format(entries) if entries else COMMENT:
                    yield text
                if has_ended := run_id is not None and await _ends_with(call, run_id, entries):
                    break
    if run_id is not None and (has_ended or await _has_ended(call, run_id)):
        for late in feed.replay_batches(root, after):
            if text := choice.format(late):
                yield text
        seen: list[FeedEntry | RecordedEvent] = [*earlier, *feed.replay(root)]
        if is_whole and not any(_is_end(entry, run_id) for entry in seen):
            yield _format_end(call, create_end(await find_run(call, run_id), earlier), choice.kinds)
        yield format_event((await present_run(call, run_id)).model_dump_json(), kind="end")


def _format_end(call: Call, event: Event, kinds: Collection[str]) -> str:
    if kinds and event.type not in kinds:
        return ""
    return format_event(write_event(event, call.viewer.capture, call.server.masking), kind=event.type)


def _split(events: Sequence[RecordedEvent]) -> Iterator[Sequence[RecordedEvent]]:
    for start in range(0, len(events), _BATCH):
        yield events[start : start + _BATCH]


async def _ends_with(call: Call, run_id: str, entries: Sequence[FeedEntry]) -> bool:
    """Return whether a run has ended with entries, or in a while without any."""
    if not entries:
        return await _has_ended(call, run_id)
    if not any(_is_end(entry, run_id) for entry in entries):
        return False
    for pause in _PAUSES:
        await call.server.clock.sleep(pause)
        if await _has_ended(call, run_id):
            return True
    return False


async def _has_ended(call: Call, run_id: str) -> bool:
    return (await find_status(call, run_id)).is_terminal


def _is_end(entry: FeedEntry | RecordedEvent, run_id: str) -> bool:
    if entry.run_id != run_id or entry.type not in _ENDS:
        return False
    event = entry.event
    return isinstance(event, RunEnded | ProcessEnded) and event.status.is_terminal


def _find_place(call: Call) -> int:
    """Return the number of the last event that the caller has seen; 0 when it saw another session of the server.

    A caller that wants only what comes says `after=latest`.
    """
    text = call.request.headers.get("last-event-id") or call.request.query_params.get("after") or ""
    if text == "latest":
        return call.server.feed.last
    session, _, number = text.rpartition("-")
    is_known = session == call.server.feed.session and number.isascii() and number.isdecimal() and len(number) < 18
    return int(number) if is_known else 0


EVENT_OPERATIONS: Final = (
    ApiOperation(
        "GET", "/api/runs/{run_id}/events", stream_run, "Stream the events of a run", right=READERS, query=_EVENT_QUERY
    ),
    ApiOperation("GET", "/api/events", stream_all, "Stream the events of all runs", right=READERS, query=_EVENT_QUERY),
)
