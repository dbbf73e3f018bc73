"""What a run has done so far, as far as it is needed to go on after a pause.

A run that waits is not a task that sleeps: it ends, and its frames are saved. To go on, the same Runnable runs again
from the beginning, and each run inside it finds its frame: one that had finished gives its result at once, one that
waits goes on. So what is composed of runs needs no code for pauses, as long as it runs the same things in the same
order.
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


class SavedFrame(TypedDict):
    """A frame as JSON."""

    state: JsonValue
    children: dict[str, SavedFrame]


class Frame:
    """What one run has done, and the frames of the runs inside it.

    Attributes:
        path: where it is among all frames of its outermost run, such as `Team/coder#2`.
        progress: what it has done, as the run itself keeps it.
        saved: what was saved of it at the last pause; `None` for a run that has just begun.
    """

    __slots__ = ("_begun", "_children", "path", "progress", "saved")

    def __init__(self, path: str, saved: JsonValue = None) -> None:
        self.path = path
        self.progress: Progress | None = None
        self.saved = saved
        self._children: dict[str, Frame] | None = None
        self._begun: dict[str, int] | None = None

    def child(self, name: str) -> Frame:
        """The frame of the next run of this name inside this run."""
        if self._begun is None:
            self._begun = {}
        number = self._begun[name] = self._begun.get(name, 0) + 1
        return self.at(name if number == 1 else f"{name}#{number}")

    def at(self, key: str) -> Frame:
        """The frame with this key, which is made when there is none."""
        if self._children is None:
            self._children = {}
        if (found := self._children.get(key)) is None:
            found = self._children[key] = Frame(f"{self.path}/{key}")
        return found

    def forget(self, key: str) -> None:
        """Drops the frame with this key: its result is known."""
        if self._children is not None:
            self._children.pop(key, None)

    def begin_again(self, lasting: tuple[str, ...]) -> None:
        """Has another attempt do all anew, but for frames whose key begins like these: it finds them as they are."""
        self._begun = None
        for key, child in ({} if self._children is None else self._children).items():
            if not key.startswith(lasting):
                child.progress = child.saved = None
                child.begin_again(lasting)

    def to_json(self) -> SavedFrame:
        """This and all frames inside it."""
        children = {} if self._children is None else self._children
        saved = {key: child.to_json() for key, child in children.items()}
        return SavedFrame(state=self.saved if self.progress is None else self.progress.saved(), children=saved)

    @classmethod
    def from_json(cls, path: str, saved: SavedFrame) -> Frame:
        """The frames that were saved."""
        frame = cls(path, saved["state"])
        if saved["children"]:
            frame._children = {key: cls.from_json(f"{path}/{key}", one) for key, one in saved["children"].items()}
        return frame
