"""Progress of a run, as a tree of data under stable keys.

A run that waits, or whose worker has died, is not a task that sleeps: it is resumed by running the same Runnable again
from the beginning. Each run inside it finds its checkpoint: a finished run returns its result at once, others
continue where they were. So what is composed of runs needs no code for suspensions, as long as it runs the same things
in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, cast

import pydantic
from pydantic_core import PydanticSerializationError, to_jsonable_python
from typing_extensions import TypedDict

from tactician.errors import StoredStateError
from tactician.runs.outcomes.suspension import PendingRequest

T = TypeVar("T")
Keys: TypeAlias = tuple[str, ...]
Data: TypeAlias = dict[str, object]
"""Values by keys: JSON, or `Live` objects anywhere in it."""


_NO_DATA: Final[Mapping[str, object]] = MappingProxyType({})
_ATTEMPT: Final = "@attempt"
"""Name of the number of the attempt in the data; missing in the first."""


class Live(Generic[T]):
    """Object in the data of a checkpoint, which becomes JSON only when it leaves the program.

    Args:
        value: the object.
        encode: function that returns its JSON form.
    """

    __slots__ = ("_encode", "value")

    def __init__(self, value: T, encode: Callable[[T], object] = to_jsonable_python) -> None:
        self.value = value
        self._encode = encode

    @classmethod
    def create(cls, value: T, encode: Callable[[T], object], *, is_saved: bool) -> Live[T]:
        """Return a live object; with its JSON form in a run that is saved, so that what has none is refused now."""
        if not is_saved:
            return cls(value, encode)
        saved = encode(value)
        return cls(value, lambda _: saved)

    def encode(self) -> object:
        """Return the JSON form."""
        return self._encode(self.value)


def revive(value: object, decode: Callable[[object], T]) -> T:
    """Return the object of a value in a checkpoint: the live object, or what its JSON form means.

    Raises:
        StoredStateError: when the JSON form is not valid.
    """
    if isinstance(value, Live):
        return cast("T", value.value)
    try:
        return decode(value)
    except (pydantic.ValidationError, PydanticSerializationError) as error:  # the second for halves of surrogates
        raise StoredStateError(f"The saved state of a run cannot be read: {error}") from error


class Changes(NamedTuple):
    """Changes of the data of a checkpoint: values to set, and items to append to lists."""

    set: Data
    extend: Mapping[str, list[object]] = {}


class Progress(Protocol):
    """Live state of a run that keeps its checkpoint."""

    def to_data(self) -> Data:
        """Return all of the state."""
        ...

    def take_changes(self) -> Changes:
        """Return what has changed since the last call, or since the state was restored."""
        ...


class Operation(NamedTuple):
    """Change of a checkpoint in a tree. To drop a checkpoint, `data` is empty."""

    keys: Keys
    kind: Literal["set", "extend", "drop"]
    data: Data


class SavedCheckpoint(TypedDict):
    """A checkpoint, and all inside it, as JSON or with live objects."""

    data: Data
    children: dict[str, SavedCheckpoint]


class Journal(Protocol):
    """Log that keeps the changes of a tree of checkpoints."""

    def record_operation(self, operation: Operation) -> None:
        """Note a change; the next step that is saved has it."""
        ...

    async def save(self, checkpoint: Checkpoint, kind: str, name: str = "", detail: str = "") -> None:
        """Append a step with the changes noted so far, and a checkpoint's changes."""
        ...

    async def show_pending(self, asked: Iterable[PendingRequest], answered: Collection[str]) -> None:
        """Show requests in the record of the run while it continues, and no longer those with some ids."""
        ...

    async def check_lease(self) -> None:
        """Make sure that the run is still this worker's."""
        ...


class Checkpoint:
    """Progress of a run, and the checkpoints of the runs inside it.

    Attributes:
        progress: live state that the run itself keeps; its data is not up to date meanwhile.
        journal: log of the changes; `None` for a run that is not saved at each step.
        series: what tells it from earlier checkpoints with the same key, in idempotency keys; empty where none can be.
    """

    __slots__ = ("_begun", "_children", "_data", "_is_dropped", "_key", "_parent", "journal", "progress", "series")

    def __init__(self, key: str, parent: Checkpoint | None = None) -> None:
        self._key = key
        self._parent = parent
        self.progress: Progress | None = None
        self.journal: Journal | None = None if parent is None else parent.journal
        self._data: Data | None = None
        self._children: dict[str, Checkpoint] | None = None
        self._begun: dict[str, int] | None = None
        self._is_dropped = False
        self.series = ""

    @property
    def is_root(self) -> bool:
        """True for the checkpoint of the outermost run."""
        return self._parent is None

    @property
    def root(self) -> Checkpoint:
        """The checkpoint of the outermost run."""
        place = self
        while place._parent is not None:
            place = place._parent
        return place

    @property
    def parent(self) -> Checkpoint | None:
        """The checkpoint around it; `None` for the checkpoint of the outermost run."""
        return self._parent

    @property
    def names(self) -> Keys:
        """The name of the outermost run, and the keys that lead here."""
        names, place = [self._key], self._parent
        while place is not None:
            names.append(place._key)
            place = place._parent
        return tuple(reversed(names))

    @property
    def keys(self) -> Keys:
        """The place in the tree."""
        return self.names[1:]

    @property
    def distinct_keys(self) -> Keys:
        """The place in the tree, with the series of each checkpoint that leads here."""
        keys, place = [], self
        while place._parent is not None:
            keys.append(f"{place._key}~{place.series}" if place.series else place._key)
            place = place._parent
        return tuple(reversed(keys))

    @property
    def path(self) -> str:
        """The place as text, with the name of the outermost run, such as `Team/coder#2`."""
        return "/".join(self.names)

    @property
    def attempt_path(self) -> str:
        """The place as text, with the number of each later attempt, as in `Team/coder~2`."""
        names, place = [], self
        while place._parent is not None:
            attempt = place.data.get(_ATTEMPT)
            names.append(place._key if attempt is None else f"{place._key}~{attempt}")
            place = place._parent
        return "/".join((place._key, *reversed(names)))

    @property
    def data(self) -> Mapping[str, object]:
        """The data as last set, or as restored."""
        return self._data or _NO_DATA

    def child(self, name: str) -> Checkpoint:
        """Return the checkpoint of the next run of this name inside this run."""
        if self._begun is None:
            self._begun = {name: 1}
            return self.at(name)
        number = self._begun[name] = self._begun.get(name, 0) + 1
        return self.at(name if number == 1 else f"{name}#{number}")

    def at(self, key: str) -> Checkpoint:
        """Return the checkpoint with this key, or create it."""
        if (children := self._children) is None:
            children = self._children = {}
        if (child := children.get(key)) is None:
            child = children[key] = Checkpoint(key, self)
        return child

    def apart(self, key: str) -> Checkpoint:
        """Return a checkpoint with this key that is not in the tree: nothing of it is kept."""
        checkpoint = Checkpoint(key, self)
        checkpoint.journal = None
        return checkpoint

    def find_upwards(self, key: str) -> list[Checkpoint]:
        """Return the checkpoints with this key in this checkpoint and in all around it, innermost first."""
        matches: list[Checkpoint] = []
        place: Checkpoint | None = self
        while place is not None:
            if place._children is not None and (child := place._children.get(key)) is not None:
                matches.append(child)
            place = place._parent
        return matches

    def set(self, **values: object) -> None:
        """Set values of the data."""
        if self.journal is not None and self._is_attached:
            self.journal.record_operation(Operation(self.keys, "set", {**values}))
        if self._data is None:
            self._data = values
        else:
            self._data.update(values)

    def attach(self, progress: Progress) -> None:
        """Let a live state keep the data from now on."""
        self.progress = progress
        self._data = None

    def take_changes(self) -> Iterator[Operation]:
        """Yield what has changed in the live state since the last time."""
        if self.progress is None or not self._is_attached:
            return
        changes = self.progress.take_changes()
        if changes.set:
            yield Operation(self.keys, "set", changes.set)
        if changes.extend:
            yield Operation(self.keys, "extend", dict(changes.extend))

    def to_operation(self) -> Operation:
        """Return the change that makes an empty checkpoint equal, and forget the changes of its live state."""
        if self.progress is None:
            return Operation(self.keys, "set", dict(self.data))
        self.progress.take_changes()
        return Operation(self.keys, "set", self.progress.to_data())

    def drop(self, key: str) -> None:
        """Remove the checkpoint with this key: its result is known."""
        child = None if self._children is None else self._children.pop(key, None)
        if child is not None:
            child._is_dropped = True
            if self.journal is not None and self._is_attached:
                self.journal.record_operation(Operation(child.keys, "drop", {}))

    def reset(self, lasting: tuple[str, ...] = ()) -> None:
        """Forget all inside it, but for checkpoints whose key has such a prefix: another attempt begins."""
        self._begun = None
        attempt = self.data.get(_ATTEMPT)
        self.set(**{_ATTEMPT: attempt + 1 if isinstance(attempt, int) else 2})
        for key in list(self._children or ()):
            if not key.startswith(lasting):
                self.drop(key)

    def release(self) -> None:
        """Let go of all inside it, as the run has ended and nobody continues it.

        A checkpoint and those inside it refer to each other: only the garbage collector would take them apart.
        """
        places = [self]
        for place in places:  # it grows meanwhile
            if (children := place._children) is not None:
                places += children.values()
                place._children = None

    def detach(self) -> None:
        """Take the data over from the live states in this tree, which is about to be restored from its data."""
        self._begun = None
        if self.progress is not None:
            self._data, self.progress = self.progress.to_data(), None
        for child in (self._children or {}).values():
            child.detach()

    def walk(self) -> Iterator[Checkpoint]:
        """Iterate over this checkpoint and all inside it."""
        yield self
        for child in list((self._children or {}).values()):
            yield from child.walk()

    def connect(self, journal: Journal | None) -> None:
        """Note all further changes of the tree in a log."""
        for checkpoint in self.walk():
            checkpoint.journal = journal

    def to_saved(self) -> SavedCheckpoint:
        """Return this and all checkpoints inside it, with live objects."""
        data = dict(self.data) if self.progress is None else self.progress.to_data()
        return SavedCheckpoint(data=data, children={k: c.to_saved() for k, c in (self._children or {}).items()})

    def save_children(self) -> Iterator[tuple[str, SavedCheckpoint]]:
        """Yield the keys and the saved forms of those inside it that have any data."""
        for key, child in (self._children or {}).items():
            data = dict(child.data) if child.progress is None else child.progress.to_data()
            children = dict(child.save_children())
            if data or children:
                yield key, SavedCheckpoint(data=data, children=children)

    @classmethod
    def restore(cls, path: str, saved: SavedCheckpoint) -> Checkpoint:
        """Restore a tree that was saved."""
        root = cls(path)
        root._restore(saved)
        return root

    def apply(self, operation: Operation) -> None:
        """Apply a change to the tree that this is the root of."""
        place = self
        if operation.kind == "drop":
            for key in operation.keys[:-1]:
                place = place.at(key)
            if place._children is not None and operation.keys:
                place._children.pop(operation.keys[-1], None)
            return
        for key in operation.keys:
            place = place.at(key)
        place._apply(operation.kind, operation.data)

    def _apply(self, kind: Literal["set", "extend"], values: Mapping[str, object]) -> None:
        if self._data is None:
            self._data = {}
        for key, value in values.items():
            saved_value = self._data.get(key)
            if kind == "extend" and isinstance(saved_value, list) and isinstance(value, list):
                saved_value.extend(value)
            else:
                self._data[key] = list(value) if isinstance(value, list) else value  # a list of its own grows

    @property
    def _is_attached(self) -> bool:
        """False after the checkpoint, or a checkpoint around it, was dropped: a task that lingers changes nothing."""
        place: Checkpoint | None = self
        while place is not None:
            if place._is_dropped:
                return False
            place = place._parent
        return True

    def _restore(self, saved: SavedCheckpoint) -> None:
        self._data = None
        self._apply("set", saved["data"])
        for key, child in saved["children"].items():
            self.at(key)._restore(child)
