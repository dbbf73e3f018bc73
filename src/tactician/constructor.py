"""Constructors of dataclasses, written without the methods that the standard library writes besides.

`dataclasses` has no way to make the constructor of a frozen class alone, and the others take ten times as long.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from types import MemberDescriptorType


@dataclass(repr=False, eq=False, match_args=False)
class _Example:
    items: list[object] = field(default_factory=list)


# The default of parameters in whose place something new is made, as documentation and `inspect` know it.
_MADE: object = _Example.__init__.__defaults__[0]  # type: ignore[index]  # there is one default


def write_constructor(kind: type, enforced: bool) -> Callable[..., None]:
    """Return the `__init__` of a dataclass.

    Args:
        kind: the class, whose `__dataclass_fields__` are there.
        enforced: true when the class refuses assignments.
    """
    declared: tuple[Field[object], ...] = fields(kind)
    defaults = {f"_default_{each.name}": _find_default(each) for each in declared}
    setters = {f"_set_{each.name}": _find_setter(kind, each.name) for each in declared} if enforced else {}
    assignment = "  _set_{}(self, {})" if enforced else "  self.{} = {}"
    lines = [
        f"def create({', '.join(('_made', *defaults, *setters))}):",
        f" def __init__({', '.join(_write_parameters(declared))}):",
        *(assignment.format(each.name, _write_value(each)) for each in declared if _is_set(each)),
        "  self.__post_init__()" if hasattr(kind, "__post_init__") else "  pass",
        " return __init__",
    ]
    made: dict[str, Callable[..., Callable[..., None]]] = {}
    exec("\n".join(lines), vars(sys.modules[kind.__module__]), made)
    constructor = made["create"](_MADE, **defaults, **setters)
    constructor.__qualname__ = f"{kind.__qualname__}.__init__"
    constructor.__annotations__ = {each.name: each.type for each in declared if each.init} | {"return": None}
    return constructor


def _find_default(described: Field[object]) -> object:
    return described.default if described.default_factory is MISSING else described.default_factory


def _find_setter(kind: type, name: str) -> Callable[[object, object], None]:
    """Return the function that sets a field of a class that refuses assignments."""
    # The slot sets itself without a look-up of its name.
    slot: MemberDescriptorType = getattr(kind, name)
    return slot.__set__


def _is_set(described: Field[object]) -> bool:
    return described.init or _find_default(described) is not MISSING


def _write_parameters(declared: Sequence[Field[object]]) -> Iterator[str]:
    yield "self"
    yield from (_write_parameter(each) for each in declared if each.init and not each.kw_only)
    named = [_write_parameter(each) for each in declared if each.init and each.kw_only]
    yield from ("*", *named) if named else ()


def _write_parameter(described: Field[object]) -> str:
    name = described.name
    if described.default_factory is not MISSING:
        return f"{name}=_made"
    return name if described.default is MISSING else f"{name}=_default_{name}"


def _write_value(described: Field[object]) -> str:
    name, default = described.name, f"_default_{described.name}"
    if described.default_factory is MISSING:
        return name if described.init else default
    return f"{default}() if {name} is _made else {name}" if described.init else f"{default}()"
