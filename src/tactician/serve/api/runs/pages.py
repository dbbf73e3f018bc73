"""Pages of the list of runs: any number of runs, some at a time."""

from __future__ import annotations

from typing import Final

from tactician.frozen import frozen
from tactician.platform import Platform, RunView

_BATCH: Final = 500
"""Runs that are read at a time."""
_MOST_READ: Final = 10_000
"""Runs that are read for a page, after which it ends as it is."""


@frozen
class RunChoice:
    """Runs that a caller wants.

    Attributes:
        statuses: statuses that they may have; empty for any.
        names: names of agents; empty for any.
        words: words that are somewhere in what people see of a run in a list.
        is_outer: true for runs that are inside no other.
        user: id of the user whose runs they are; everybody's by default.
    """

    statuses: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    is_outer: bool = False
    user: str | None = None

    def fits(self, run: RunView) -> bool:
        """Return whether a run of these statuses and names is chosen."""
        if (self.is_outer and run.parent_id) or self.user not in (None, run.user):
            return False
        shown = "\n".join((run.id, run.name, run.status, run.failure or "", run.output)).casefold()
        return all(word in shown for word in self.words)


@frozen
class RunPage:
    """Runs of a list, the newest first.

    Attributes:
        runs: the runs.
        next: number of the run after which the next page begins, or `None`.
    """

    runs: tuple[RunView, ...]
    next: int | None


async def read_page(platform: Platform, choice: RunChoice, limit: int, after: int | None) -> RunPage:
    """Return a page of runs.

    A page that has to leave out many runs may have fewer than the limit, or none, although others follow.

    Args:
        platform: the platform.
        choice: the runs of the list.
        limit: number of runs at most.
        after: number of the run after which the page begins; the newest run is the first by default.
    """
    page: list[RunView] = []
    for _ in range(_MOST_READ // _BATCH):
        batch = await platform.runs(
            status=choice.statuses, names=choice.names, limit=_BATCH, newest_first=True, after=after
        )
        for run in batch:
            if len(page) == limit:
                return RunPage(tuple(page), after)
            after = run.number
            if choice.fits(run):
                page.append(run)
        if len(batch) < _BATCH:
            return RunPage(tuple(page), None)
    return RunPage(tuple(page), after)
