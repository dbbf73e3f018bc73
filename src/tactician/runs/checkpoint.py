"""Progress of a run, as far as it is needed to resume the run after a suspension.

A run that waits is not a task that sleeps: it ends, and its checkpoints are saved. To resume it, the same Runnable runs
again from the beginning, and each run inside it finds its checkpoint: one that had finished gives its result at once,
one that waits goes on. So what is composed of runs needs no code for suspensions, as long as it runs the same things
in the same order.
"""

from __future__ import annotations

from typing import Protocol

from pydantic import JsonValue
from typing_extensions import TypedDict


class Progress(Protocol):
    """Something that a run has done, which it can restore from JSON."""

    def saved(self) -> JsonValue:
        """It, as JSON."""
        ...


class SavedCheckpoint(TypedDict):
    """A checkpoint as JSON."""

    state: JsonValue
    children: dict[str, SavedCheckpoint]


class Checkpoint:
    """What one run has done, and the checkpoints of the runs inside it.

    Attributes:
        path: where it is among all checkpoints of its outermost run, such as `Team/coder#2`.
        progress: what it has done, as the run itself keeps it.
        saved: what was saved of it at the last pause; `None` for a run that has just begun.
    """

    __slots__ = ("_begun", "_children", "path", "progress", "saved")

    def __init__(self, path: str, saved: JsonValue = None) -> None:
        self.path = path
        self.progress: Progress | None = None
        self.saved = saved
        self._children: dict[str, Checkpoint] | None = None
        self._begun: dict[str, int] | None = None

    def child(self, name: str) -> Checkpoint:
        """The checkpoint of the next run of this name inside this run."""
        if self._begun is None:
            self._begun = {}
        number = self._begun[name] = self._begun.get(name, 0) + 1
        return self.at(name if number == 1 else f"{name}#{number}")

    def at(self, key: str) -> Checkpoint:
        """The checkpoint with this key, which is made when there is none."""
        if self._children is None:
            self._children = {}
        if (found := self._children.get(key)) is None:
            found = self._children[key] = Checkpoint(f"{self.path}/{key}")
        return found

    def forget(self, key: str) -> None:
        """Drops the checkpoint with this key: its result is known."""
        if self._children is not None:
            self._children.pop(key, None)

    def begin_again(self, lasting: tuple[str, ...]) -> None:
        """Clear all checkpoints for another attempt, but for those whose key begins with one of these."""
        self._begun = None
        for key, child in ({} if self._children is None else self._children).items():
            if not key.startswith(lasting):
                child.progress = child.saved = None
                child.begin_again(lasting)

    def to_json(self) -> SavedCheckpoint:
        """This and all checkpoints inside it."""
        children = {} if self._children is None else self._children
        saved = {key: child.to_json() for key, child in children.items()}
        return SavedCheckpoint(state=self.saved if self.progress is None else self.progress.saved(), children=saved)

    @classmethod
    def from_json(cls, path: str, saved: SavedCheckpoint) -> Checkpoint:
        """The checkpoints that were saved."""
        checkpoint = cls(path, saved["state"])
        if saved["children"]:
            checkpoint._children = {key: cls.from_json(f"{path}/{key}", one) for key, one in saved["children"].items()}
        return checkpoint
