"""What the type variables of a generic class stand for in a class that derives from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar, get_args, get_origin

from typing_extensions import get_original_bases

_Known: TypeAlias = Mapping[object, object]


def specialized(hints: Mapping[str, object], owner: type, attribute: str) -> dict[str, object]:
    """The annotations of a method as they are in a class: `T` is `Story` in a `Writer(Generates[Story])`."""
    home = next(kind for kind in owner.__mro__ if attribute in vars(kind))
    known = _seen_from(owner, home, {})
    return {name: _filled(hint, known) for name, hint in hints.items()} if known else dict(hints)


def _seen_from(kind: type, home: type, known: _Known) -> _Known:
    """What the type variables of a class stand for in one that derives from it."""
    if kind is home:
        return known
    bases = ((get_origin(base) or base, get_args(base)) for base in get_original_bases(kind))
    origin, arguments = next((origin, said) for origin, said in bases if home in origin.__mro__)
    filled = (_filled(argument, known) for argument in arguments)
    return _seen_from(origin, home, dict(zip(getattr(origin, "__parameters__", ()), filled, strict=False)))


def _filled(hint: Any, known: _Known) -> object:  # noqa: ANN401 - what typing makes has no class in common
    if isinstance(hint, TypeVar):
        return known.get(hint, hint)
    if isinstance(hint, type) or not (parameters := getattr(hint, "__parameters__", ())):
        return hint
    filled: object = hint[tuple(known.get(parameter, parameter) for parameter in parameters)]
    return filled
