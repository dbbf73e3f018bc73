"""Bounds of blueprints: they may come from anywhere."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.documents import DocumentLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(DocumentLimits):
    """What is read and built at most.

    Attributes:
        size: characters of a file, and of all that it names together, each counted as often as it is named.
        depth: how deep objects and lists are nested, those of files in each other counted together.
        values: objects, lists and values in a file, those that YAML's aliases repeat counted each time; and in all
            files that it names together, as for `size`.
        nodes: agents and constellations, those of other files included.
    """

    nodes: int = 5_000


DEFAULT_LIMITS = Limits()


@dataclass(slots=True)
class Taken:
    """How much of the limits the files have taken that others name."""

    size: int = 0
    values: int = 0

    def more(self, size: int, values: int, limits: Limits) -> str | None:
        """Takes more; says what is wrong once it is too much."""
        self.size += size
        self.values += values
        if self.size > limits.size:
            return f"with it, the files that are named have more than {limits.size:,} characters"
        if self.values > limits.values:
            return f"with it, the files that are named have more than {limits.values:,} values"
        return None
