"""Scopes of a memory, and the entries in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Annotated, Final

from pydantic import AwareDatetime, Field

from tactician.ensemble.learning.bounds import bound_text
from tactician.errors import ConfigurationError
from tactician.events.event import new_id
from tactician.frozen import frozen

MOST_CONTENT: Final = 8_000
_MOST_LABEL: Final = 200
_LONGEST_NAME: Final = 100
_MOST_ENTRIES: Final = 10_000


def days(count: float) -> timedelta:
    """Return the duration of so many days."""
    return timedelta(days=count)


@frozen
class Scope:
    """Retention of the entries in a scope of a memory.

    Attributes:
        keep_last: number of entries that are kept, the newest ones; at most 10,000.
        keep_within: age up to which an entry is kept; any age, when `None`.

    Raises:
        ConfigurationError: when a limit is not positive, or `keep_last` is too large.
    """

    keep_last: int = 1_000
    keep_within: timedelta | None = None

    def __post_init__(self) -> None:
        if not 0 < self.keep_last <= _MOST_ENTRIES:
            raise ConfigurationError(f"keep_last must be between 1 and {_MOST_ENTRIES}, got: {self.keep_last}")
        if self.keep_within is not None and self.keep_within <= timedelta(0):
            raise ConfigurationError(f"keep_within must be > 0, got: {self.keep_within}")

    def find_oldest(self, now: datetime) -> datetime | None:
        """Return the time before which entries are not kept."""
        try:
            return None if self.keep_within is None else now - self.keep_within
        except OverflowError:  # longer than there are years
            return None


@frozen
class ScopeEntry:
    """Entry in a scope of a memory.

    Attributes:
        content: the text, such as the output of a task; at most 8,000 characters.
        created_at: the time, by the clock of the run.
        task_id: the id of the task, shortened; empty for an entry that no task wrote.
        role: the role of its agent.
        run_id: the id of the outermost run in which it was written.
        id: unique in the scope. An entry whose id is there already is not written again.
    """

    content: Annotated[str, Field(max_length=MOST_CONTENT)]
    created_at: AwareDatetime
    task_id: Annotated[str, Field(max_length=_MOST_LABEL)] = ""
    role: Annotated[str, Field(max_length=_MOST_LABEL)] = ""
    run_id: Annotated[str, Field(max_length=_MOST_LABEL)] = ""
    id: Annotated[str, Field(max_length=_MOST_LABEL)] = field(default_factory=new_id)

    def with_bounds(self) -> ScopeEntry:
        """Return the entry with texts that are cut off where they are too long."""
        return replace(
            self,
            content=bound_text(self.content, MOST_CONTENT),
            task_id=bound_text(self.task_id, _MOST_LABEL),
            role=bound_text(self.role, _MOST_LABEL),
            run_id=bound_text(self.run_id, _MOST_LABEL),
            id=bound_text(self.id, _MOST_LABEL),
        )


def check_scopes(scopes: Mapping[str, Scope]) -> None:
    """Check the names and kinds of scopes.

    Raises:
        ConfigurationError: when the mapping is empty, or a name or a scope is not valid.
    """
    if not scopes:
        raise ConfigurationError('A memory needs scopes: scopes={"project": Scope(keep_last=50)}')
    for name, scope in scopes.items():
        if not isinstance(scope, Scope):
            raise ConfigurationError(f"scopes[{name!r}]: {scope!r} is not a Scope: write Scope(keep_last=50)")
        if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
            raise ConfigurationError(f"{name!r} is not a name of a scope: write 1 to {_LONGEST_NAME} characters")
