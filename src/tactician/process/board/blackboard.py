"""The shared memory of a process, and the objects that mean something to every process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import replace
from types import MappingProxyType
from typing import Final, TypeVar

from tactician.errors import ConfigurationError, StoredStateError
from tactician.process.board.board_changes import BoardChange, Encode, Entry
from tactician.process.objects import DEFAULT_BINDING
from tactician.runs import RunContext

T = TypeVar("T")
GAVE_NOTHING: Final = "the last action gave nothing"
_NUMBERS: Final = {"add": 1, "move": 2}
"""How many numbers a change of a kind needs."""
_NOTHING: Final[Mapping[int, object]] = MappingProxyType({})
_NONE_ATTACHED: Final[Mapping[type, object]] = MappingProxyType({})


class Blackboard:
    """Memory of all that is known so far. Objects are added and hidden, never changed; only `clear` removes them.

    Lookup is by type, where the newest object wins, or by the name that an object was bound to.

    Objects are values. A process that is saved saves each object once, when it is added: an object that is changed
    afterwards is not saved again. So add a changed copy, as by `dataclasses.replace`.
    """

    __slots__ = (
        "__weakref__", "_added", "_attached", "_changes", "_conditions", "_encode", "_entries", "_hidden", "_newest",
    )  # fmt: skip

    def __init__(self, *objects: object) -> None:
        self._entries: list[Entry] = []
        self._hidden: Mapping[int, object] = _NOTHING
        self._attached: Mapping[type, object] = _NONE_ATTACHED
        self._conditions: dict[str, bool] = {}
        self._newest: dict[type, object | None] = {}
        self._added = 0
        self._changes: list[BoardChange] | None = None
        self._encode: Encode | None = None
        for value in objects:
            self.add(value)

    @classmethod
    def __from_run__(cls, run: RunContext) -> Blackboard:
        """Return the blackboard of the process of the action around a run.

        Raises:
            ConfigurationError: outside of actions.
        """
        return run.get(Blackboard)

    def save_with(self, encode: Encode) -> None:
        """Encode what is there, and all that is added from now on, so that it can be saved.

        Args:
            encode: returns an object as JSON; raises a `StoredStateError` when the object could not be read again.

        Raises:
            StoredStateError: when that is so for an object that is there; then nothing has changed.
        """
        self._entries = [entry if entry.saved else replace(entry, saved=encode(entry.value)) for entry in self._entries]
        self._encode = encode

    def add(self, value: object, binding: str = DEFAULT_BINDING) -> None:
        """Add an object, under a name if it is not simply the newest of its type.

        A hidden object becomes visible again.

        Raises:
            ConfigurationError: when the object is `None`.
            StoredStateError: when the process is saved, and the object could not be read again; then it is not added.
        """
        self.put(self.prepare(value, binding))

    def prepare(self, value: object, binding: str = DEFAULT_BINDING) -> Entry:
        """Return the entry of an object that is to be put: nothing has changed yet when any of several is refused.

        Raises:
            ConfigurationError: when the object is `None`.
            StoredStateError: as `add`.
        """
        if value is None:
            raise ConfigurationError("None cannot be added to a blackboard: add an object, or leave the call out.")
        return Entry(value, binding, saved=None if self._encode is None else self._encode(value))

    def put(self, entry: Entry) -> None:
        """Add the object of an entry that was prepared."""
        value = entry.value
        if id(value) in self._hidden:
            self.show(value)
        self._entries.append(Entry(value, entry.binding, entry.hidden, entry.saved, self._added))
        if self._changes is not None:
            self._changes.append(BoardChange("add", (self._added,), value, entry.binding, entry.saved))
        self._added += 1
        if self._conditions.pop(GAVE_NOTHING, None) is not None:
            self._note(BoardChange("condition", name=GAVE_NOTHING))
        newest = self._newest
        for kind in newest:
            if isinstance(value, kind):
                newest[kind] = value

    def attach(self, value: object) -> None:
        """Let look-ups by exactly its type find an object that belongs to the surroundings of the process.

        Such an object is not an entry: it is never the newest, is not saved, and stays when the blackboard is cleared.
        It takes the place of the last attached object of its type; an entry of its type comes before it.
        """
        self._attached = {**self._attached, type(value): value}
        self._newest.clear()

    def move(self, start: int, place: int) -> None:
        """Move the entries from a number on to an earlier place, as if they had been added there."""
        if place < start < len(self._entries):
            self._entries[place:] = self._entries[start:] + self._entries[place:start]
            self._note(BoardChange("move", (start, place)))
            self._newest.clear()

    def __setitem__(self, binding: str, value: object) -> None:
        self.add(value, binding)

    def __getitem__(self, binding: str) -> object:
        for entry in self._visible():
            if entry.binding == binding:
                return entry.value
        raise KeyError(binding)

    def __contains__(self, binding: object) -> bool:
        return any(entry.binding == binding for entry in self._visible())

    def last(self, kind: type[T]) -> T | None:
        """Return the newest object of a type, or `None`."""
        try:
            newest = self._newest[kind]
        except KeyError:
            newest = next((e.value for e in self._visible() if isinstance(e.value, kind)), self._attached.get(kind))
            self._newest[kind] = newest
        return newest if isinstance(newest, kind) else None

    def find_kinds(self, kinds: Mapping[str, type]) -> dict[str, bool]:
        """Return whether there is an object of each type, by the names of the types."""
        newest = self._newest
        for kind in kinds.values():
            if kind not in newest:
                self.last(kind)
        return {name: newest[kind] is not None for name, kind in kinds.items()}

    def find_named(self, binding: str, kind: type[T]) -> T | None:
        """Return the newest object of a type that was bound to a name, or `None`."""
        entries = (e for e in self._visible() if e.binding == binding and isinstance(e.value, kind))
        newest = next((e.value for e in entries), None)
        return newest if isinstance(newest, kind) else None

    def all(self, kind: type[T]) -> list[T]:
        """Return all objects of a type, oldest first."""
        return [value for value in self.objects if isinstance(value, kind)]

    @property
    def newest(self) -> object | None:
        """The object added last; `None` when it is hidden, or an action has returned `None` since."""
        if not self._entries or self.condition(GAVE_NOTHING):
            return None
        value = self._entries[-1].value
        return None if id(value) in self._hidden else value

    @property
    def objects(self) -> tuple[object, ...]:
        """Everything that is visible, oldest first."""
        return tuple(entry.value for entry in reversed(list(self._visible())))

    @property
    def size(self) -> int:
        """The number of entries, hidden ones included."""
        return len(self._entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All that was ever added, oldest first, hidden objects included."""
        return tuple(replace(entry, hidden=id(entry.value) in self._hidden) for entry in self._entries)

    @property
    def conditions(self) -> Mapping[str, bool]:
        """The conditions that were set."""
        return self._conditions

    @classmethod
    def of(cls, entries: Iterable[Entry], conditions: Mapping[str, bool]) -> Blackboard:
        """Create a blackboard with the entries and conditions of another."""
        board = cls()
        for entry in entries:
            board.put(entry)
            if entry.hidden:
                board.hide(entry.value)
        for name, value in conditions.items():
            board.set_condition(name, value)
        return board

    def take_changes(self) -> list[BoardChange]:
        """Return the changes since the last call; the first time, those that make an empty blackboard equal."""
        taken = self.to_changes() if self._changes is None else self._changes
        self._changes = []
        return taken

    def to_changes(self) -> list[BoardChange]:
        """Return the changes that make an empty blackboard equal to this blackboard."""
        added = [BoardChange("add", (e.number,), e.value, e.binding, e.saved) for e in self._entries]
        hidden = tuple(e.number for e in self._entries if id(e.value) in self._hidden)
        conditions = [BoardChange("condition", (), value, name) for name, value in self._conditions.items()]
        return [*added, *([BoardChange("hide", hidden)] if hidden else ()), *conditions]

    @classmethod
    def replay(cls, changes: Iterable[BoardChange]) -> Blackboard:
        """Rebuild a blackboard from its recorded changes.

        Raises:
            StoredStateError: when a change lacks the numbers of its entries.
        """
        board = cls()
        for change in changes:
            board._replay(change)
        board._changes = []
        return board

    def _replay(self, change: BoardChange) -> None:
        if len(change.numbers) < _NUMBERS.get(change.kind, 0):
            raise StoredStateError(
                f"The blackboard cannot be read: a change of the kind {change.kind!r} lacks numbers."
            )
        match change.kind:
            case "add":
                highest, self._added = self._added, change.numbers[0]
                self.put(Entry(change.value, change.name, saved=change.saved))
                self._added = max(self._added, highest)  # entries that were moved are not in the order of their numbers
            case "move":
                self.move(*change.numbers)
            case "clear":
                self.clear()
            case "condition" if change.value is None:
                self._conditions.pop(change.name, None)
            case "condition":
                self._conditions[change.name] = bool(change.value)
            case "hide" | "show":
                act = self.hide if change.kind == "hide" else self.show
                for entry in [entry for entry in self._entries if entry.number in change.numbers]:
                    act(entry.value)

    def _numbers_of(self, value: object) -> tuple[int, ...]:
        return tuple(entry.number for entry in self._entries if entry.value is value)

    def _note(self, change: BoardChange) -> None:
        if self._changes is not None:
            self._changes.append(change)

    def hide(self, value: object) -> None:
        """Hide this very object from all look-ups, until it is shown or added again.

        Objects are compared by identity: an equal object is not hidden.
        """
        if numbers := self._numbers_of(value):
            self._hidden = {**self._hidden, id(value): value}
            self._newest.clear()
            self._note(BoardChange("hide", numbers))

    def show(self, value: object) -> None:
        """Show this very object again."""
        if id(value) in self._hidden:
            self._hidden = {key: hidden for key, hidden in self._hidden.items() if hidden is not value}
            self._newest.clear()
            self._note(BoardChange("show", self._numbers_of(value)))

    def clear(self) -> None:
        """Remove all objects, and all conditions that were set."""
        self._hidden = _NOTHING
        for memory in (self._entries, self._newest, self._conditions):
            memory.clear()
        self._note(BoardChange("clear"))

    def forget_lookups(self) -> None:
        """Free the memory of past look-ups, which are only faster with it."""
        self._newest.clear()

    def set_condition(self, name: str, value: bool) -> None:
        """Set a condition that no `@condition` method computes."""
        holds = bool(value)
        if self._conditions.get(name) is not holds:
            self._conditions[name] = holds
            self._note(BoardChange("condition", value=holds, name=name))
        notes = _current_notes.get()
        if notes is not None and notes.board is self:
            notes.noted[name] = holds

    def note_conditions(self) -> AbstractContextManager[Mapping[str, bool]]:
        """Note the conditions that are set inside the `with` block: not those that others set meanwhile."""
        return _Notes(self)

    def condition(self, name: str) -> bool:
        """Return a condition that was set; `False` when it never was."""
        return self._conditions.get(name, False)

    def __len__(self) -> int:
        return sum(1 for _ in self._visible())

    def __repr__(self) -> str:
        return f"Blackboard({', '.join(type(value).__name__ for value in self.objects)})"

    def _visible(self) -> Iterator[Entry]:
        """Yield visible entries, newest first. Hidden objects are kept alive: their ids are never used again."""
        return (entry for entry in reversed(self._entries) if id(entry.value) not in self._hidden)


class _Notes:
    """Context manager in which the conditions are noted that code sets on a blackboard."""

    __slots__ = ("_token", "board", "noted")

    def __init__(self, board: Blackboard) -> None:
        self.board = board
        self.noted: dict[str, bool] = {}

    def __enter__(self) -> Mapping[str, bool]:
        self._token = _current_notes.set(self)
        return self.noted

    def __exit__(self, *_: object) -> None:
        _current_notes.reset(self._token)


_current_notes: ContextVar[_Notes | None] = ContextVar("the conditions that an action sets", default=None)
