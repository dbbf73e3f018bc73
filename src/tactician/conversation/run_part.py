"""Part of a conversation that belongs to a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class RunPart:
    """Messages that a run has added to a conversation: those from `begin` to `end`.

    A run that is continued after a crash adds them again, and they take the place of these.

    Attributes:
        run_id: id of the run.
        begin: number of messages before the part.
        end: number of messages up to its end; `None` while the run adds messages.
    """

    run_id: str
    begin: int
    end: int | None = None

    def cut(self, begin: int, end: int) -> None:
        """Note that the messages from `begin` to `end` are removed from the conversation."""
        self.begin -= max(0, min(end, self.begin) - begin)
        if self.end is not None:
            self.end -= max(0, min(end, self.end) - begin)

    def find_bounds(self, length: int) -> tuple[int, int]:
        """Return begin and end in a conversation of so many messages."""
        return self.begin, length if self.end is None else self.end

    def close(self, length: int) -> RunPart:
        """Return the part with its end in a conversation of so many messages."""
        return RunPart(self.run_id, *self.find_bounds(length))

    def is_valid_for(self, length: int) -> bool:
        """Return whether the part can belong to a conversation of so many messages."""
        begin, end = self.find_bounds(length)
        return 0 <= begin <= end <= length
