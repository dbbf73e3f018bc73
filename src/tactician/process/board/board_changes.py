"""Entries of a blackboard, and the changes that have made it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Literal, TypeAlias

from tactician.data_fields import CodeOnly
from tactician.frozen import frozen
from tactician.process.objects import DEFAULT_BINDING
from tactician.process.stored_types import SavedObject

Encode: TypeAlias = Callable[[object], SavedObject]
"""Returns an object as JSON."""


@frozen(enforced=False)
class BoardChange:
    """Change of a blackboard.

    Attributes:
        kind: `"add"` an object, `"move"` the last entries, `"hide"` or `"show"` an object, `"clear"` all, or set a
            `"condition"`.
        numbers: numbers of the entries; for a move, the place of the first, and its new place.
        value: the object that was added, or the value of the condition; `None` if the condition is no longer set.
        name: name that the object is bound to, or the condition's name.
        saved: the object as JSON, on the blackboard of a process that is saved.
    """

    kind: Literal["add", "move", "hide", "show", "clear", "condition"]
    numbers: tuple[int, ...] = ()
    value: object = None
    name: str = ""
    saved: CodeOnly[SavedObject | None] = None


@frozen(enforced=False)
class Entry:
    """An object on a blackboard.

    Attributes:
        value: the object.
        binding: the name that it is bound to.
        hidden: True when look-ups do not find it.
        saved: the object as JSON, on the blackboard of a process that is saved.
        number: number of the entries that were added before it.
    """

    value: object
    binding: str = DEFAULT_BINDING
    hidden: bool = False
    saved: SavedObject | None = None
    number: int = field(default=0, compare=False)
