"""Events of all runs for their readers. The latest events are kept for readers who come late."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from pydantic import JsonValue

from tactician.clock import SYSTEM_CLOCK, Clock, Timeout
from tactician.events import Event
from tactician.events.event import new_id
from tactician.loop import TextReceived, ThinkingReceived
from tactician.runs.context.context import find_capture_mode, find_current_user
from tactician.secret_pieces import PieceMasking
from tactician.secrets import Masking
from tactician.trace.capture import CaptureMode
from tactician.trace.event_forms import write_event

_UNREAD: Final = 1000
"""Events that wait for a reader. A reader that is further behind is dropped, and may continue where it was."""
_BATCH: Final = 100
"""Entries that a reader gets at a time."""
_MOST_SPANS: Final = 20_000
"""Latest spans of which the outermost run is known."""
_MOST_TEXTS: Final = 10_000
"""Runs whose texts may come in pieces at a time."""
_QUIET: Final = 15.0
"""Seconds after which a reader hears that nothing has happened, so that the connection stays open."""

_Piece: TypeAlias = TextReceived | ThinkingReceived
Prepare: TypeAlias = Callable[[JsonValue], JsonValue]


@dataclass(slots=True)
class FeedEntry:
    """Event with its number.

    Attributes:
        number: place of the event among all events of the feed, from 1.
        root: id of the outermost run.
        event: the event.
        capture: how much of its run is captured.
        masking: masks of secrets.
        user: id of the user that its run works for, if any.
        shown: the event as readers see it, if that is another: a piece of a text without what may be half a key.
    """

    number: int
    root: str
    event: Event
    capture: CaptureMode
    masking: Masking = field(repr=False)
    user: str | None = None
    shown: Event | None = None
    _texts: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def type(self) -> str:
        """The name of the class of the event."""
        return self.event.type

    @property
    def id(self) -> str:
        """The id of the event."""
        return self.event.id

    @property
    def span_id(self) -> str | None:
        """The id of the event that opened the span in which it happened, if any."""
        return self.event.span_id

    @property
    def run_id(self) -> str:
        """The id of its run."""
        return self.event.run_id

    @property
    def parent_id(self) -> str | None:
        """The id of the run around its run, if any."""
        return self.event.parent_id

    def format(self, prepare: Prepare | None = None, place: str = "") -> str:
        """Return the event as JSON, made when it is first read at a place.

        Args:
            prepare: function that changes the JSON values of the event before secrets are masked.
            place: name of what `prepare` does, such as the path of the server that links pictures.
        """
        if (text := self._texts.get(place)) is None:
            text = self._texts[place] = self._write(prepare, is_brief=False)
        return text

    def format_briefly(self, prepare: Prepare | None = None, place: str = "") -> str:
        """Return the event as JSON, without the messages that an earlier event of the run has too; see `format`."""
        if self.event.abbreviate() is self.event:
            return self.format(prepare, place)
        return self._write(prepare, is_brief=True)

    def _write(self, prepare: Prepare | None, *, is_brief: bool) -> str:
        return write_event(self.shown or self.event, self.capture, self.masking, is_brief=is_brief, prepare=prepare)


class _Reader:
    """Reader of the feed, with the entries that it has not read."""

    def __init__(self, root: str | None, clock: Clock) -> None:
        self._clock = clock
        self.root = root
        self.entries: asyncio.Queue[FeedEntry] = asyncio.Queue(_UNREAD)
        self.was_dropped = False

    def offer(self, entry: FeedEntry) -> bool:
        """Add an entry, and return whether there was room."""
        if self.root not in (None, entry.root):
            return True
        try:
            self.entries.put_nowait(entry)
        except asyncio.QueueFull:
            self.was_dropped = True
        return not self.was_dropped

    async def take(self) -> list[FeedEntry]:
        """Return the entries that wait, as soon as there are any; none when there was none for a while."""
        try:
            with Timeout(_QUIET, self._clock):
                taken = [await self.entries.get()]
        except TimeoutError:
            return []
        while len(taken) < _BATCH and not self.entries.empty():
            taken.append(self.entries.get_nowait())
        return taken


class _Pieces:
    """Texts of runs that come in pieces, as readers see them.

    Args:
        masking: masks of secrets.
    """

    def __init__(self, masking: Masking) -> None:
        self._masking = masking
        self._texts: OrderedDict[str, dict[str, tuple[PieceMasking, _Piece]]] = OrderedDict()

    def add(self, piece: _Piece) -> _Piece:
        """Return a piece with what can be said of its text so far."""
        texts = self._texts.setdefault(piece.run_id, {})
        text = texts[piece.type][0] if piece.type in texts else PieceMasking(self._masking)
        texts[piece.type] = text, piece
        if len(self._texts) > _MOST_TEXTS:
            self._texts.popitem(last=False)
        return replace(piece, text=text.add(piece.text))

    def finish(self, run_id: str) -> Iterator[_Piece]:
        """Yield the rest of the texts of a run, of which something else has happened."""
        for text, last in self._texts.pop(run_id, {}).values():
            if rest := text.finish():
                yield replace(last, text=rest, id=new_id())


class EventFeed:
    """The latest events of each run, and those who read them.

    A run is that which is inside no other: the events of what it causes are among its own.

    Args:
        masking: masks of secrets.
        events_per_run: number of events that are kept of a run.
        most_runs: number of runs of which events are kept.
        most_events: number of events that are kept of all runs together.
        clock: the time.

    Attributes:
        session: id of the feed. The numbers of another feed, such as that before a restart, mean nothing here.
    """

    def __init__(
        self,
        masking: Masking | None = None,
        events_per_run: int = 10_000,
        most_runs: int = 1000,
        most_events: int = 200_000,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._clock = clock
        self.session = new_id()
        self._masking = masking or Masking()
        self._events_per_run = events_per_run
        self._most_runs = most_runs
        self._most_events = most_events
        self._count = 0
        self._last = 0
        self._kept: OrderedDict[str, deque[FeedEntry]] = OrderedDict()
        self._roots: OrderedDict[str, str] = OrderedDict()
        self._spans: OrderedDict[str, str] = OrderedDict()
        self._whole: set[str] = set()
        self._readers: set[_Reader] = set()
        self._pieces = _Pieces(self._masking)

    @property
    def readers(self) -> int:
        """Number of readers."""
        return len(self._readers)

    @property
    def last(self) -> int:
        """Number of the latest event."""
        return self._last

    def publish(self, event: Event) -> None:
        """Take an event of a run: it is kept, and given to the readers."""
        if not event.run_id:
            return
        if isinstance(event, TextReceived | ThinkingReceived):
            self._add(event, self._pieces.add(event))
            return
        for rest in self._pieces.finish(event.run_id):
            self._add(replace(rest, text=""), rest)
        self._add(event)

    def _add(self, event: Event, shown: Event | None = None) -> None:
        self._last += 1
        entry = FeedEntry(
            self._last, self._find_root(event), event, find_capture_mode(), self._masking, find_current_user(), shown
        )
        if event.is_recorded:
            self._keep(entry)
        for reader in [reader for reader in self._readers if not reader.offer(entry)]:
            self._readers.discard(reader)

    def replay(self, run_id: str | None, after: int = 0) -> list[FeedEntry]:
        """Return the entries that are kept after a number, of a run or of all, oldest first."""
        roots = self._kept if run_id is None else [run_id]
        entries = [entry for root in roots for entry in self._kept.get(root, ()) if entry.number > after]
        return entries if run_id is not None else sorted(entries, key=lambda entry: entry.number)

    def replay_batches(self, run_id: str | None, after: int = 0) -> Iterator[tuple[FeedEntry, ...]]:
        """Yield the same, several at a time."""
        entries = self.replay(run_id, after)
        for start in range(0, len(entries), _BATCH):
            yield tuple(entries[start : start + _BATCH])

    def find_root(self, run_id: str) -> str:
        """Return the id of the outermost run around a run; the same id for an outermost run."""
        return self._roots.get(run_id, run_id)

    def add_roots(self, root: str, run_ids: Iterable[str]) -> None:
        """Take note of runs inside an outermost run that somebody else knows of, such as the store."""
        for run_id in run_ids:
            self._roots.setdefault(run_id, root)

    def has_all(self, root: str) -> bool:
        """Return whether all events of an outermost run are kept, as far as `set_whole` was told."""
        return root in self._whole

    def set_whole(self, root: str) -> None:
        """Take note that nobody has earlier events of an outermost run than those that are kept."""
        if root in self._kept:
            self._whole.add(root)

    @contextmanager
    def open(self, run_id: str | None = None) -> Iterator[_Reader]:
        """Read from now on, the events of a run or of all."""
        reader = _Reader(run_id, self._clock)
        self._readers.add(reader)
        try:
            yield reader
        finally:
            self._readers.discard(reader)

    async def read(self, run_id: str | None = None, after: int = 0) -> AsyncGenerator[tuple[FeedEntry, ...]]:
        """Yield the entries that are kept, and those to come, several at a time; none when there was none for a while.

        It ends when the reader is too slow.
        """
        with self.open(run_id) as reader:
            seen = after
            for entries in self.replay_batches(run_id, after):
                seen = entries[-1].number
                yield entries
            while not (reader.was_dropped and reader.entries.empty()):
                latest = await reader.take()
                entries = tuple(entry for entry in latest if entry.number > seen)
                if entries or not latest:
                    yield entries

    def _find_root(self, event: Event) -> str:
        root = self._roots.get(event.run_id)
        if root is None:
            root = self._roots[event.run_id] = self._find_outer_root(event)
            if len(self._roots) > self._most_runs * 100:
                self._roots.popitem(last=False)
        if event.opens is not None:
            self._spans[event.id] = root
            if len(self._spans) > _MOST_SPANS:
                self._spans.popitem(last=False)
        return root

    def _find_outer_root(self, event: Event) -> str:
        """Return the root of a new run: the root of the run around it, or the span's, where that run has no events."""
        if event.parent_id is None or len(event.path) < 2:
            return event.run_id
        return self._roots.get(event.parent_id) or self._spans.get(event.span_id or "") or event.parent_id

    def _keep(self, entry: FeedEntry) -> None:
        kept = self._kept.get(entry.root)
        if kept is None:
            kept = self._kept[entry.root] = deque(maxlen=self._events_per_run)
        if len(kept) < self._events_per_run:
            self._count += 1
        else:
            self._whole.discard(entry.root)
        kept.append(entry)
        self._kept.move_to_end(entry.root)
        while len(self._kept) > 1 and (len(self._kept) > self._most_runs or self._count > self._most_events):
            root, dropped = self._kept.popitem(last=False)
            self._count -= len(dropped)
            self._whole.discard(root)
