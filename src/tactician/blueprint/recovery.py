"""Recovery of invalid data: the valid part is built to find further problems."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Generic, TypeVar

from pydantic import ValidationError

from tactician.documents.data import Data
from tactician.documents.data import DataPath as Path
from tactician.documents.models import list_mistakes
from tactician.errors import MOST_PROBLEMS
from tactician.frozen import frozen

T = TypeVar("T")
_ROUNDS: Final = 10
_NODES: Final = frozenset({"peers", "members"})
"""The lists in which an agent may take the place of anything."""


@dataclass(slots=True)
class Recovery:
    """Changes that make data valid: removed and added values, by paths of the original data."""

    data: Data
    reported: set[Path] = field(default_factory=set)
    _removed: set[Path] = field(default_factory=set)
    _placed: dict[Path, Data] = field(default_factory=dict)
    _failed: set[Path] = field(default_factory=set)
    _deleted: dict[Path, list[int]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)

    def recover(self, paths: Iterable[Path]) -> bool:
        """Change the data at these paths of its current form; return whether that was possible."""
        touched: set[Path] = set()
        wrong = {self.find_original_path(path): None for path in paths}
        self.reported.update(wrong)
        for path in wrong:
            if touched.isdisjoint(_prefixes(path)):
                if (changed := self._recover(path)) is None:
                    return False
                touched.add(changed)
        return True

    def build_data(self) -> Data:
        """Return the current form of the data."""
        added: dict[Path, dict[str, Data]] = {}
        for path, value in self._placed.items():
            if isinstance(step := path[-1], str):
                added.setdefault(path[:-1], {})[step] = value
        return self._apply_changes(self.data, (), added)

    def find_original_path(self, path: Path) -> Path:
        """Return the original path of a path in the current data."""
        walked: Path = ()
        for step in path:
            if isinstance(step, int):
                for deleted in self._deleted.get(walked, ()):
                    step += deleted <= step
            walked = (*walked, step)
        return walked

    def is_reported(self, path: Path) -> bool:
        """Return whether a problem at the path is reported already, or the text has nothing there."""
        return any(
            prefix in self.reported or prefix in self._removed or prefix in self._placed for prefix in _prefixes(path)
        )

    def _recover(self, path: Path) -> Path | None:
        """Return the path of the change, at the path or above it; `None` when no change is possible."""
        placed = next((prefix for prefix in _prefixes(path) if prefix in self._placed), None)
        if placed is not None:
            del self._placed[placed]
            self._failed.add(placed)
            path = placed
        while path:
            if path not in self._failed and self._changes(path):
                return path
            path = path[:-1]
        return None

    def _changes(self, path: Path) -> bool:
        """Yield the possible changes: removal of the value, or a placeholder for a missing value."""
        value = _placeholder(path, f"placeholder_{next(self._numbers)}")
        if path in self._removed or not _has(self.data, path) or (isinstance(path[-1], int) and value is not None):
            if value is not None:
                self._placed[path] = value
            return value is not None
        self._removed.add(path)
        if isinstance(path[-1], int):
            insort(self._deleted.setdefault(path[:-1], []), path[-1])
        return True

    def _apply_changes(self, data: Data, path: Path, added: Mapping[Path, dict[str, Data]]) -> Data:
        if path in self._placed:
            return self._placed[path]
        if isinstance(data, dict):
            left = {name: item for name, item in data.items() if not self._is_removed((*path, name))}
            return {name: self._apply_changes(item, (*path, name), added) for name, item in left.items()} | added.get(
                path, {}
            )
        if isinstance(data, list):
            places = (place for place in range(len(data)) if not self._is_removed((*path, place)))
            return [self._apply_changes(data[place], (*path, place), added) for place in places]
        return data

    def _is_removed(self, path: Path) -> bool:
        return path in self._removed and path not in self._placed


@frozen
class Recovered(Generic[T]):
    """Value that was parsed without the mistakes in its data, and the changes to the data."""

    value: T
    mending: Recovery


def recover_parse(data: Data, error: ValidationError, validate: Callable[[Data], T]) -> Recovered[T] | None:
    """Parse data without its mistakes; return `None` when nothing is left.

    Args:
        data: the data.
        error: the validation error.
        validate: function that parses data.
    """
    mending = Recovery(data)
    for _ in range(_ROUNDS):
        if error.error_count() > MOST_PROBLEMS:
            return None
        if not mending.recover(list_mistakes(error)):
            return None
        try:
            return Recovered(validate(mending.build_data()), mending)
        except ValidationError as again:
            error = again
    return None


def _prefixes(path: Path) -> Iterable[Path]:
    """Return all non-empty prefixes of a path, shortest first."""
    return (path[:length] for length in range(1, len(path) + 1))


def _has(data: Data, path: Path) -> bool:
    for step in path:
        match data:
            case dict() if isinstance(step, str) and step in data:
                data = data[step]
            case list() if isinstance(step, int) and step < len(data):
                data = data[step]
            case _:
                return False
    return True


def _placeholder(path: Path, label: str) -> Data:
    """Return a harmless value for a required field, or `None`."""
    agent, step = _agent(label), path[-1]
    if isinstance(step, int):
        return agent if path[-2:-1] and path[-2] in _NODES else None
    if step == "workers" and "departments" in path[-3:-2]:
        return [agent]
    placeholders: dict[str, Data] = {
        **dict.fromkeys(("name", "description"), label),
        **dict.fromkeys(("maxTurns", "maxRounds", "maxTokens", "after"), 1),
        **dict.fromkeys(("target", "worker", "manager", "executive"), agent),
        "model": "default",
        "instructions": "",
        "routes": [{"description": label, "target": agent}],
        "workers": [{"description": label, "worker": agent}],
        "members": [agent],
        "peers": [_agent(f"{label}_{place}") for place in range(2)],
        "id": label,
        "tasks": [{"description": label}],
        "items": [label],
        "map": {"description": label},
        "reduce": {"description": label},
        "departments": {label: {"manager": agent, "workers": [_agent(f"{label}_worker")]}},
    }
    return placeholders.get(step)


def _agent(label: str) -> dict[str, Data]:
    return {"type": "agent", "name": label, "model": "default", "instructions": "", "maxTurns": 1}
