"""Type annotations for the planner: classes whose instances can be recognized at run time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    TypeAlias,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from typing_extensions import get_original_bases

from tactician.process import SomeOf
from tactician.process.objects import get_field_names

_REMEDY: Final = "wrap it in a class of its own, so that the planner can tell it from others"
_ONE_EACH: Final = "take one parameter for each, as in `story: Story | None`, or a class that they derive from"
_SAY_WHICH: Final = "say which type it is, as in `class StoryWriter(Writer[Story])`"
UNDEFINED: Final = "import it (not only under TYPE_CHECKING), or define it before the class"


def is_class(hint: object) -> TypeGuard[type]:
    """Return whether instances of the type can be recognized; not so for `list[Story]`, `Any` or a `TypedDict`."""
    if not isinstance(hint, type) or get_origin(hint) is not None:
        return False
    try:
        isinstance(None, hint) or issubclass(NoneType, hint)
    except TypeError:
        return False
    return True


def list_members(hint: object) -> tuple[object, ...]:
    """Return the members of a union, without `Annotated`; the type itself when it is not a union."""
    return tuple(map(_strip_arguments, _list_members(hint)))


def find_generics(hint: object) -> tuple[object, ...]:
    """Return the members of a union that are parametrized generic classes of a user, such as `Box[Story]`."""
    return tuple(member for member in _list_members(hint) if _strip_arguments(member) is not member)


def _list_members(hint: object) -> tuple[object, ...]:
    origin = get_origin(hint)
    if origin is Annotated:
        return _list_members(get_args(hint)[0])
    if origin in (Union, UnionType):
        return tuple(member for argument in get_args(hint) for member in _list_members(argument))
    return (NoneType if hint is None else hint,)


def _strip_arguments(hint: object) -> object:
    """Return `Box` for `Box[Story]`, since only instances of `Box` can be recognized."""
    origin = get_origin(hint)
    is_open = getattr(hint, "__parameters__", ())
    return origin if isinstance(origin, type) and Generic in origin.__mro__ and not is_open else hint


def list_metadata(hint: object) -> tuple[object, ...]:
    """Return the metadata that `Annotated` adds, also inside a union."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *marks = get_args(hint)
        return (*list_metadata(inner), *marks)
    return (
        tuple(mark for argument in get_args(hint) for mark in list_metadata(argument))
        if origin in (Union, UnionType)
        else ()
    )


def describe_remedy(hint: object) -> str:
    """Return advice for a type that is not a class."""
    if len([member for member in list_members(hint) if member is not NoneType]) > 1:
        return _ONE_EACH
    is_open = isinstance(hint, TypeVar) or bool(getattr(hint, "__parameters__", ()))
    return _SAY_WHICH if is_open else _REMEDY


def format_hint(hint: object) -> str:
    """Return a type as source code, without module names."""
    name = hint.__name__ if isinstance(hint, type | TypeVar) and get_origin(hint) is None else str(hint)
    return re.sub(r"(?:[\w<>]+\.)+", "", name)


def list_classes(hint: object, label: str, problems: list[str]) -> tuple[type, ...]:
    """Return the classes in a union, without `None`. Other members add a sentence to `problems`."""
    kinds = [member for member in list_members(hint) if member is not NoneType]
    classes = tuple(kind for kind in kinds if is_class(kind))
    others = (kind for kind in kinds if kind not in classes)
    problems.extend(f"{label} {format_hint(kind)}, which is not a class; {describe_remedy(kind)}" for kind in others)
    return classes


def list_part_classes(kind: type, namespace: Mapping[str, object], problems: list[str]) -> tuple[type, ...]:
    """Return the classes of the fields of a `SomeOf`; nothing for another class."""
    if not issubclass(kind, SomeOf):
        return ()
    try:
        hints = get_type_hints(kind, localns=dict(namespace), include_extras=True)
    except NameError as error:
        problems.append(
            f"{kind.__name__}: the annotation {error.name!r} is not defined where it can be seen; {UNDEFINED}"
        )
        return ()
    fields = ((name, hints[name]) for name in get_field_names(kind))
    members = (list_classes(hint, f"{kind.__name__}: the field {name!r} is of", problems) for name, hint in fields)
    return tuple(dict.fromkeys(part for classes in members for part in classes))


def find_subclasses(kind: type) -> tuple[type, ...]:
    """Return the class and all loaded subclasses; only the class itself when it is not a user's class.

    A class that was defined again, as in a notebook, replaces the older definition. `dataclass(slots=True)` does so
    too.
    """
    if kind.__module__ in ("builtins", "pydantic.main") or kind is SomeOf:
        return (kind,)
    children: list[type] = type.__subclasses__(kind)
    derived = (subclass for child in children for subclass in find_subclasses(child))
    newest = {(kind.__module__, kind.__qualname__): kind for kind in derived}
    return (kind, *newest.values())


_Known: TypeAlias = Mapping[object, object]


def specialize_hints(hints: Mapping[str, object], owner: type, attribute: str) -> dict[str, object]:
    """Return the annotations of a method as seen from a class: `T` is `Story` in a `Writer(Generates[Story])`."""
    home = next(kind for kind in owner.__mro__ if attribute in vars(kind))
    bindings = _bind_type_variables(owner, home, {})
    return {name: _fill_type_variables(hint, bindings) for name, hint in hints.items()} if bindings else dict(hints)


def _bind_type_variables(kind: type, home: type, bindings: _Known) -> _Known:
    """Return the values of the type variables of a class, as seen from a subclass."""
    if kind is home:
        return bindings
    bases = ((get_origin(base) or base, get_args(base)) for base in get_original_bases(kind))
    origin, arguments = next((origin, base_arguments) for origin, base_arguments in bases if home in origin.__mro__)
    filled = (_fill_type_variables(argument, bindings) for argument in arguments)
    return _bind_type_variables(origin, home, dict(zip(getattr(origin, "__parameters__", ()), filled, strict=False)))


def _fill_type_variables(hint: Any, bindings: _Known) -> object:  # noqa: ANN401 - what typing makes has no class in common
    if isinstance(hint, TypeVar):
        return bindings.get(hint, hint)
    if isinstance(hint, type) or not (parameters := getattr(hint, "__parameters__", ())):
        return hint
    filled: object = hint[tuple(bindings.get(parameter, parameter) for parameter in parameters)]
    return filled
