"""Events of coding agents."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from tactician.events import Event
from tactician.frozen import frozen

ChangeKind: TypeAlias = Literal["added", "modified", "deleted"]


@frozen(kw_only=True)
class FileChanged(Event):
    """Event of a file that a coding agent changed.

    Attributes:
        file: its path, relative to the workspace.
        kind: the kind of the change.
        diff: the change as a patch; the beginning of a long one.
    """

    content_fields: ClassVar[tuple[str, ...]] = ("diff",)

    file: str
    kind: ChangeKind
    diff: str

    def describe(self) -> str:
        """Return which file was changed in which way."""
        return f"{self.kind} {self.file}"


@frozen(kw_only=True)
class SuiteMeasured(Event):
    """Event of a run of the tests, to measure the work of a coding agent.

    Attributes:
        moment: when they ran: `"before"` or `"after"` the work.
        passed: number of the tests that passed.
        failed: number of the tests that failed.
    """

    moment: str
    passed: int
    failed: int

    def describe(self) -> str:
        """Return how many tests passed and failed."""
        return f"tests {self.moment} the work: {self.passed} passed, {self.failed} failed"
