"""Lines of the values in a text, as a tree of the same shape as the data."""

from __future__ import annotations

from dataclasses import dataclass, field

from tactician.documents.data import DataPath, UnreadableTextError


@dataclass(slots=True)
class Place:
    """Line of a value, and the places of the values inside it."""

    line: int
    inner: dict[str | int, Place] = field(default_factory=dict)

    def find_line(self, path: DataPath) -> int:
        """Return the line of the value at a path, or of the innermost value around it."""
        place = self
        for step in path:
            if (inner := place.inner.get(step)) is None:
                break
            place = inner
        return place.line

    def add_item(self, line: int) -> Place:
        """Add the next item of a list."""
        place = self.inner[len(self.inner)] = Place(line)
        return place


class PlaceBuilder:
    """Builder of the places of a text, from its names and values in their order."""

    def __init__(self) -> None:
        self.root = Place(1)
        self._open: list[tuple[Place, bool]] = []
        self._named: Place | None = None

    @property
    def expects_name(self) -> bool:
        """`True` if the next text is the name of a value."""
        return bool(self._open) and self._open[-1][1] and self._named is None

    def name(self, name: str, line: int) -> None:
        """Add the name of the next value; it is on the line of the value, too.

        Raises:
            UnreadableTextError: when the object has the name already.
        """
        inner = self._open[-1][0].inner
        if name in inner:
            raise UnreadableTextError(f"{name[:80]!r} appears twice in an object", line)
        self._named = inner[name] = Place(line)

    def value(self, line: int) -> Place:
        """Add a value."""
        if not self._open:
            self.root = Place(line)
            return self.root
        if (named := self._named) is None:
            return self._open[-1][0].add_item(line)
        self._named = None
        return named

    def open(self, line: int, *, is_object: bool) -> None:
        """Begin an object or a list."""
        self._open.append((self.value(line), is_object))

    def close(self) -> None:
        """End the innermost object or list."""
        self._open.pop()
