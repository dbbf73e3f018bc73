"""Events of all runs for those who look on: the last ones are kept, so that whoever comes late sees them too."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from tactician.events import Event, event_to_json, new_id

_UNREAD: Final = 1000
"""Events that wait for a reader. A reader that is further behind is dropped, and may continue where it was."""
_QUIET: Final = 15.0
"""Seconds after which a reader hears that nothing has happened, so that the connection stays open."""


@dataclass(slots=True)
class FeedEntry:
    """Event with its number.

    Attributes:
        number: place of the event among all events of the server, from 1.
        root: id of the outermost run.
        event: the event.
    """

    number: int
    root: str
    event: Event
    _text: str | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """The event as JSON, made when it is first read."""
        if self._text is None:
            self._text = json.dumps(event_to_json(self.event), ensure_ascii=False, separators=(",", ":"))
        return self._text


class _Reader:
    """Reader of the feed, with the entries that it has not read."""

    def __init__(self, root: str | None) -> None:
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


class EventFeed:
    """The latest events of each run, and those who read them.

    A run is that which is inside no other: the events of what it causes are among its own.

    Args:
        events_per_run: number of events that are kept of a run.
        most_runs: number of runs of which events are kept.

    Attributes:
        session: id of the feed. The numbers of another feed, such as that before a restart, mean nothing here.
    """

    def __init__(self, events_per_run: int = 2000, most_runs: int = 1000) -> None:
        self.session = new_id()
        self._events_per_run = events_per_run
        self._most_runs = most_runs
        self._last = 0
        self._kept: OrderedDict[str, deque[FeedEntry]] = OrderedDict()
        self._roots: OrderedDict[str, str] = OrderedDict()
        self._readers: set[_Reader] = set()

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
        self._last += 1
        entry = FeedEntry(self._last, self._find_root(event), event)
        if event.is_recorded:
            self._keep(entry)
        for reader in [reader for reader in self._readers if not reader.offer(entry)]:
            self._readers.discard(reader)

    def replay(self, run_id: str | None, after: int = 0) -> list[FeedEntry]:
        """Return the entries that are kept after a number, of a run or of all, oldest first."""
        roots = self._kept if run_id is None else [run_id]
        entries = [entry for root in roots for entry in self._kept.get(root, ()) if entry.number > after]
        return entries if run_id is not None else sorted(entries, key=lambda entry: entry.number)

    def find_root(self, run_id: str) -> str:
        """Return the id of the outermost run around a run; the same id when there is none."""
        return self._roots.get(run_id, run_id)

    @contextmanager
    def open(self, run_id: str | None = None) -> Iterator[_Reader]:
        """Read from now on, the events of a run or of all."""
        reader = _Reader(run_id)
        self._readers.add(reader)
        try:
            yield reader
        finally:
            self._readers.discard(reader)

    async def read(self, run_id: str | None = None, after: int = 0) -> AsyncGenerator[FeedEntry | None]:
        """Yield the entries that are kept, and those to come; `None` when there was none for a while.

        It ends when the reader is too slow.
        """
        with self.open(run_id) as reader:
            seen = after
            for entry in self.replay(run_id, after):
                seen = entry.number
                yield entry
            while not (reader.was_dropped and reader.entries.empty()):
                try:
                    async with asyncio.timeout(_QUIET):
                        latest = await reader.entries.get()
                except TimeoutError:
                    yield None
                    continue
                if latest.number > seen:
                    yield latest

    def _find_root(self, event: Event) -> str:
        root = self._roots.get(event.run_id)
        if root is None:
            parent = event.parent_id if len(event.path) > 1 else None
            root = event.run_id if parent is None else self._roots.get(parent, parent)
            self._roots[event.run_id] = root
            if len(self._roots) > self._most_runs * 100:
                self._roots.popitem(last=False)
        return root

    def _keep(self, entry: FeedEntry) -> None:
        kept = self._kept.get(entry.root)
        if kept is None:
            kept = self._kept[entry.root] = deque(maxlen=self._events_per_run)
            if len(self._kept) > self._most_runs:
                self._kept.popitem(last=False)
        kept.append(entry)
        self._kept.move_to_end(entry.root)
