"""Frozen dataclasses that are cheap to define.

`dataclasses.dataclass(frozen=True, slots=True)` writes and compiles six methods, which takes ten times as long as the
class statement itself. Importing an agent defines two hundred such classes, most of which the program never uses.
`@frozen` defines the same class, and its methods are made when they are first used: the constructor alone, since most
objects are only made and read, and the others together, by the standard library. `dataclasses` has no way to make the
constructor of a frozen class alone, and the others take ten times as long: the constructor is written here.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from types import MemberDescriptorType
from typing import NamedTuple, TypeVar, dataclass_transform, overload

from tactician.suggestions import suggest_options

T = TypeVar("T")
_COMPLETED = ("__repr__", "__eq__", "__hash__", "__match_args__", "__dataclass_params__")
_LATE = ("__init__", "__dataclass_fields__", *_COMPLETED)
_DECLARED = "__declared_defaults__"


@overload
def frozen(kind: type[T]) -> type[T]: ...
@overload
def frozen(*, kw_only: bool = False, enforced: bool = True) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field, Field))
def frozen(
    kind: type[T] | None = None, *, kw_only: bool = False, enforced: bool = True
) -> type[T] | Callable[[type[T]], type[T]]:
    """Make the class a frozen dataclass with slots, whose methods are generated when they are first used.

    Args:
        kind: the class. Its module has postponed annotations (`from __future__ import annotations`).
        kw_only: true when the constructor takes the fields by name only.
        enforced: false when only type checkers refuse assignments. The constructor takes a third of the time then,
            which counts for what is made several times in each turn with a model.
    """
    options = _Options(kw_only, enforced)

    def define(kind: type[T]) -> type[T]:
        return _define(kind, options)

    return define if kind is None else define(kind)


class _Options(NamedTuple):
    kw_only: bool
    enforced: bool


class _Late:
    """Attribute of a class that is generated with the others when one of them is first read."""

    __slots__ = ("_kind", "_name", "_options")

    def __init__(self, options: _Options) -> None:
        self._options = options

    def __set_name__(self, owner: type, name: str) -> None:
        self._kind, self._name = owner, name

    def __get__(self, instance: object, owner: type | None = None) -> object:
        _generate(self._kind, self._options, self._name)
        value = vars(self._kind)[self._name]
        bind = getattr(type(value), "__get__", None)
        return value if bind is None else bind(value, instance, owner)


def _define(kind: type[T], options: _Options) -> type[T]:
    """Return the class once more with slots, as the standard library does, and with attributes that are late."""
    body = dict(vars(kind))
    names = [name for name, annotation in body.get("__annotations__", {}).items() if _is_field(annotation)]
    defaults = {name: body.pop(name) for name in names if name in body}
    for name in ("__dict__", "__weakref__"):
        body.pop(name, None)
    inherited = {name for base in kind.__mro__[1:-1] for name in vars(base).get("__slots__", ())}
    late = {name: _Late(options) for name in _LATE if body.get(name) is None}
    slots = tuple(name for name in names if name not in inherited)
    body |= {"__qualname__": kind.__qualname__, "__slots__": slots, _DECLARED: defaults}
    create: Callable[[str, tuple[type, ...], dict[str, object]], type[T]] = type(kind)
    return create(kind.__name__, kind.__bases__, {**_STATE, **(_FROZEN if options.enforced else {}), **body, **late})


def _is_field(annotation: object) -> bool:
    return not str(annotation).removeprefix("typing.").startswith("ClassVar")


def _generate(kind: type, options: _Options, name: str) -> None:
    """Set a late attribute, and those that are made with it.

    Two threads may do so at once: they set attributes that are equal, one by one.
    """
    if name == "__init__":
        constructor = _write_constructor(kind, options.enforced)
        # What is made several times in each turn is not made by users, and a wrapper doubles the time it takes.
        is_wrapped = options.enforced and getattr(kind, "made_by_users", True)
        kind.__init__ = suggest_options(constructor) if is_wrapped else constructor  # type: ignore[misc]  # this class
    elif name == "__dataclass_fields__":
        described = dataclass(init=False, repr=False, eq=False, match_args=False, kw_only=options.kw_only)
        setattr(kind, name, vars(described(_copy_fields(kind)))[name])
    else:
        complete = dataclass(frozen=options.enforced, unsafe_hash=not options.enforced, kw_only=options.kw_only)
        twin: type = complete(_copy_fields(kind))
        for each in _COMPLETED:
            if isinstance(vars(kind)[each], _Late):
                setattr(kind, each, vars(twin)[each])


def _copy_fields(kind: type) -> type:
    """Return a class with the fields of another, for the standard library to make a dataclass of."""
    declared = dict(_declare_fields(kind))
    body: dict[str, object] = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__name__,  # without one, the standard library writes the signature there
        "__annotations__": {name: annotation for name, (annotation, _) in declared.items()},
        **{name: default for name, (_, default) in declared.items() if default is not MISSING},
        **{name: field_value for name in _LATE if not isinstance(field_value := vars(kind)[name], _Late)},
    }
    return type(kind.__name__, (), body)


def _declare_fields(kind: type) -> Iterator[tuple[str, tuple[object, object]]]:
    """Yield the annotation and the default of each field: inherited ones as the bases have them, then its own."""
    for base in kind.__mro__[-1:0:-1]:
        for name, inherited in getattr(base, "__dataclass_fields__", {}).items():
            if _is_field(inherited.type):
                yield name, (inherited.type, inherited)
    defaults = vars(kind)[_DECLARED]
    for name, annotation in vars(kind).get("__annotations__", {}).items():
        if _is_field(annotation):
            yield name, (annotation, defaults.get(name, MISSING))


def _refuse_assignment(self: object, name: str, value: object) -> None:
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_deletion(self: object, name: str) -> None:
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(instance: object, name: str) -> bool:
    """Return true for fields, and for all names unless a subclass without slots has attributes of its own."""
    return not hasattr(instance, "__dict__") or name in getattr(type(instance), "__dataclass_fields__")  # noqa: B009


def _read_state(self: object) -> list[object]:
    return [getattr(self, each.name) for each in fields(self)]  # type: ignore[arg-type]  # a dataclass


def _restore_state(self: object, state: list[object]) -> None:
    for each, value in zip(fields(self), state, strict=True):  # type: ignore[arg-type]  # a dataclass
        object.__setattr__(self, each.name, value)


_FROZEN = {"__setattr__": _refuse_assignment, "__delattr__": _refuse_deletion}
# For copies and for pickles of the caller: the usual methods set attributes.
_STATE = {"__getstate__": _read_state, "__setstate__": _restore_state}


@dataclass(repr=False, eq=False, match_args=False)
class _Example:
    items: list[object] = field(default_factory=list)


# The default of parameters in whose place something new is made, as documentation and `inspect` know it.
_MADE: object = _Example.__init__.__defaults__[0]  # type: ignore[index]  # there is one default


def _write_constructor(kind: type, enforced: bool) -> Callable[..., None]:
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
    file = f"<constructor of {kind.__module__}.{kind.__qualname__}>"
    # Debuggers and tracebacks look the lines up there, and an entry without a time is never checked for changes.
    linecache.cache[file] = (0, None, [f"{line}\n" for line in lines], file)
    exec(compile("\n".join(lines), file, "exec"), vars(sys.modules[kind.__module__]), made)
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
