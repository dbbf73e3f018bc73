"""Ids of runs over restarts: a run inside another gets a new id whenever that continues, and is the same run."""

from __future__ import annotations

from dataclasses import replace

from tactician.events import Event
from tactician.events.span_facts import SpanKind


class RunIds:
    """First ids of runs, by the places that they have in the outermost run.

    An attempt after another at the same place is a run of its own: it begins without a new beginning of the outermost
    run.
    """

    def __init__(self) -> None:
        self._first: dict[str, str] = {}  # by a later id
        self._roots: dict[str, str] = {}
        self._named: dict[tuple[str, ...], str] = {}
        self._beginnings: dict[str, int] = {}  # of outermost runs
        self._places: dict[tuple[str, str], tuple[str, int]] = {}

    def translate(self, event: Event) -> Event:
        """Return an event with the first ids of its run and of the run around it."""
        parent_id = self._first.get(event.parent_id or "", event.parent_id)
        if event.opens == SpanKind.RUN:
            self._note_beginning(event, parent_id)
        run_id = self._first.get(event.run_id, event.run_id)
        if (run_id, parent_id) == (event.run_id, event.parent_id):
            return event
        return replace(event, run_id=run_id, parent_id=parent_id)

    def _note_beginning(self, event: Event, parent_id: str | None) -> None:
        run_id, place = self._first.get(event.run_id, event.run_id), event.describe_span().place
        self._roots[run_id] = root = self._find_root(event, run_id, parent_id, place)
        if root == run_id:
            self._named[event.path[:1]] = root
            self._beginnings[root] = self._beginnings.get(root, 0) + 1
            return
        if not place:
            return
        beginning = self._beginnings.get(root, 0)
        earlier = self._places.get((root, place))
        if earlier is not None and earlier[1] < beginning and run_id not in self._first:
            self._first[event.run_id] = run_id = earlier[0]
        self._places[root, place] = run_id, beginning

    def _find_root(self, event: Event, run_id: str, parent_id: str | None, place: str) -> str:
        """Return the id of the outermost run around a run; of a run inside an action, whose id no event opens, too."""
        root_id = self._roots.get(run_id) or self._roots.get(parent_id or "")
        return root_id or (self._named.get(event.path[:1]) if place else None) or run_id
