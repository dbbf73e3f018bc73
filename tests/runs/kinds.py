"""Declared types and values of them, at random: what may be on a blackboard, storable or not."""

from __future__ import annotations

import string
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Generic, Literal, NamedTuple, TypeVar
from uuid import UUID

from hypothesis import strategies as st
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, SecretStr, create_model

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Kind:
    """A type as a field declares it, and values of it.

    Attributes:
        hint: the type.
        values: values that somebody may put where it is declared.
        is_plain: True when all of them must be storable.
    """

    hint: Any
    values: st.SearchStrategy[Any]
    is_plain: bool = True


class Color(Enum):
    RED = "red"
    ONE = 1
    PAIR = (1, 2)


class Plain(Enum):
    YES = "yes"
    NO = "no"


class Pair(NamedTuple):
    left: int
    right: str


class Box(BaseModel, Generic[T]):
    content: T


@dataclass
class Crate(Generic[T]):
    content: T


class Animal(BaseModel):
    name: str


class Bird(Animal):
    wings: int = 2


@dataclass
class Tool:
    name: str


@dataclass
class Saw(Tool):
    teeth: int = 20


TEXTS = st.text(max_size=5)
ODD_TEXTS = st.text(st.characters(codec=None), max_size=5)  # halves of surrogate pairs too

LEAVES = st.sampled_from(
    [
        Kind(int, st.integers()),
        Kind(str, TEXTS),
        Kind(bool, st.booleans()),
        Kind(type(None), st.none()),
        Kind(float, st.floats(allow_nan=True) | st.integers(-9, 9)),
        Kind(date, st.dates()),
        Kind(datetime, st.datetimes() | st.datetimes(timezones=st.just(UTC))),
        Kind(datetime, st.datetimes(timezones=st.timezones()), is_plain=False),
        Kind(time, st.times()),
        Kind(timedelta, st.timedeltas(timedelta(-999), timedelta(999))),
        Kind(Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
        Kind(UUID, st.uuids()),
        Kind(Plain, st.sampled_from(Plain)),
        Kind(Literal["a", 1, True], st.sampled_from(["a", True]), is_plain=False),
        Kind(str, ODD_TEXTS, is_plain=False),
        Kind(bytes, st.binary(max_size=5), is_plain=False),
        Kind(Color, st.sampled_from(Color), is_plain=False),
        Kind(complex, st.complex_numbers(), is_plain=False),
        Kind(Decimal, st.decimals(), is_plain=False),
        Kind(SecretStr, TEXTS.map(SecretStr), is_plain=False),
        Kind(Pair, st.builds(Pair, st.integers(), TEXTS)),
        Kind(Animal, st.builds(Animal, name=TEXTS) | st.builds(Bird, name=TEXTS), is_plain=False),
        Kind(Tool, st.builds(Tool, TEXTS) | st.builds(Saw, TEXTS), is_plain=False),
        Kind(Animal | Bird, st.builds(Animal, name=TEXTS) | st.builds(Bird, name=TEXTS), is_plain=False),
        Kind(Tool | Saw, st.builds(Saw, TEXTS) | st.builds(Tool, TEXTS), is_plain=False),
        Kind(int, st.booleans() | st.floats() | TEXTS, is_plain=False),  # of careless people
        Kind(list, st.lists(st.integers() | TEXTS | st.none())),
        Kind(dict, st.dictionaries(TEXTS, st.integers())),
    ]
)
KEYS = st.sampled_from(
    [
        Kind(str, TEXTS),
        Kind(int, st.integers()),
        Kind(UUID, st.uuids()),
        Kind(date, st.dates()),
        Kind(Plain, st.sampled_from(Plain)),
        Kind(bool, st.booleans()),
        Kind(str, ODD_TEXTS, is_plain=False),
        Kind(float, st.floats(), is_plain=False),
        Kind(Color, st.sampled_from(Color), is_plain=False),
        Kind(bytes, st.binary(max_size=5), is_plain=False),
        Kind(type(None), st.none(), is_plain=False),
        Kind(tuple[int, int], st.tuples(st.integers(), st.integers()), is_plain=False),
        Kind(Pair, st.builds(Pair, st.integers(), TEXTS), is_plain=False),
        Kind(frozenset[int], st.frozensets(st.integers(), max_size=2), is_plain=False),
        Kind(Any, st.integers() | TEXTS | st.booleans() | st.none() | st.dates() | st.uuids(), is_plain=False),
    ]
)


def _fill(generic: Any, *arguments: object) -> Any:  # noqa: ANN401 - types that are known at run time only
    return generic[arguments if len(arguments) > 1 else arguments[0]]


def _of(hint: object, values: st.SearchStrategy[Any], kind: Kind, *, is_plain: bool = True) -> Kind:
    return Kind(hint, values, is_plain and kind.is_plain)


def _many(kind: Kind) -> st.SearchStrategy[list[Any]]:
    return st.lists(kind.values, max_size=3)


def _box(kind: Kind) -> Kind:
    box = _fill(Box, kind.hint)
    return _of(box, kind.values.map(lambda value: box.model_construct(content=value)), kind)


_AROUND: tuple[Callable[[Kind], Kind], ...] = (
    lambda kind: _of(_fill(list, kind.hint), _many(kind), kind),
    lambda kind: _of(_fill(tuple, kind.hint, ...), _many(kind).map(tuple), kind),
    lambda kind: _of(_fill(deque, kind.hint), _many(kind).map(deque), kind),
    lambda kind: _of(kind.hint | None, st.none() | kind.values, kind),
    lambda kind: _of(_fill(Sequence, kind.hint), _many(kind) | _many(kind).map(tuple), kind, is_plain=False),
    lambda kind: _of(Any, kind.values, kind, is_plain=False),
    lambda kind: _of(object, kind.values, kind, is_plain=False),
    lambda kind: _of(Box, kind.values.map(lambda value: Box.model_construct(content=value)), kind, is_plain=False),
    lambda kind: _of(_fill(Crate, kind.hint), kind.values.map(Crate), kind),
    _box,
)


@st.composite
def _dictionaries(draw: st.DrawFn, inner: st.SearchStrategy[Kind]) -> Kind:
    key, kind, hint = draw(KEYS), draw(inner), draw(st.sampled_from([dict, Mapping, defaultdict]))
    if hint is defaultdict:
        lists = st.dictionaries(key.values, _many(kind), max_size=3).map(lambda known: defaultdict(list, known))
        return _of(_fill(defaultdict, key.hint, _fill(list, kind.hint)), lists, kind, is_plain=key.is_plain)
    values = st.dictionaries(key.values, kind.values, max_size=3)
    return _of(_fill(hint, key.hint, kind.hint), values, kind, is_plain=key.is_plain and hint is dict)


@st.composite
def _sets(draw: st.DrawFn, inner: st.SearchStrategy[Kind]) -> Kind:
    key, hint = draw(KEYS), draw(st.sampled_from([set, frozenset]))
    return _of(_fill(hint, key.hint), st.frozensets(key.values, max_size=3).map(hint), key)


@st.composite
def _unions(draw: st.DrawFn, inner: st.SearchStrategy[Kind]) -> Kind:
    one, other = draw(inner), draw(inner)
    return _of(one.hint | other.hint, one.values | other.values, one, is_plain=False)


_NAMES = st.lists(st.sampled_from(string.ascii_lowercase), min_size=1, max_size=4, unique=True)
_ALIASES: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {},
        {"alias": "Other"},
        {"validation_alias": AliasChoices("this", "that")},
        {"validation_alias": AliasPath("first", 0)},
        {"serialization_alias": "written"},
        {"validation_alias": "read", "serialization_alias": "written"},
    ]
)


@st.composite
def _models(draw: st.DrawFn, inner: st.SearchStrategy[Kind]) -> Kind:
    kinds = {name: draw(inner) for name in draw(_NAMES)}
    settings: dict[str, dict[str, Any]] = {name: {} for name in kinds}
    settings[min(kinds)] = draw(_ALIASES)
    excluded = draw(st.sampled_from([None, None, min(kinds)]))
    if excluded is not None:
        settings[excluded] = {"exclude": True, "default": None}
    extra = draw(st.none() | inner)
    has_note = draw(st.sampled_from([False, False, True]))
    config = ConfigDict(extra="forbid" if extra is None else "allow", frozen=draw(st.booleans()))
    declared: dict[str, Any] = {name: (kind.hint, Field(**settings[name])) for name, kind in kinds.items()}
    model = create_model("Model", __config__=config, **declared, _note=(int, 0))

    def build(parts: tuple[dict[str, Any], list[Any]]) -> BaseModel:
        known, added = parts
        built: BaseModel = model.model_construct()
        object.__setattr__(built, "__dict__", known)
        if extra is not None:
            object.__setattr__(built, "__pydantic_extra__", dict(zip(("more", "most"), added, strict=False)))
        if has_note:
            built.__pydantic_private__ = {"_note": 1}
        return built

    values = st.fixed_dictionaries({name: kind.values for name, kind in kinds.items()})
    added = st.just([]) if extra is None else st.lists(extra.values, max_size=2)
    is_plain = all(kind.is_plain for kind in kinds.values()) and extra is None and excluded is None and not has_note
    return Kind(model, st.tuples(values, added).map(build), is_plain)


@st.composite
def _dataclasses(draw: st.DrawFn, inner: st.SearchStrategy[Kind]) -> Kind:
    kinds = {name: draw(inner) for name in draw(_NAMES)}
    is_compared = draw(st.booleans())
    fields = [(name, kind.hint, field(compare=is_compared)) for name, kind in kinds.items()]
    made = make_dataclass("Made", fields, frozen=draw(st.booleans()), slots=draw(st.booleans()))
    values = st.fixed_dictionaries({name: kind.values for name, kind in kinds.items()})
    return Kind(made, values.map(lambda known: made(**known)), all(kind.is_plain for kind in kinds.values()))


def _extend(inner: st.SearchStrategy[Kind]) -> st.SearchStrategy[Kind]:
    around = st.builds(lambda wrap, kind: wrap(kind), st.sampled_from(_AROUND), inner)
    return st.one_of(around, _dictionaries(inner), _sets(inner), _unions(inner), _models(inner), _dataclasses(inner))


KINDS: st.SearchStrategy[Kind] = st.recursive(LEAVES, _extend, max_leaves=5)


def draw_portrait(value: object) -> object:
    """Return what a value is made of, with all types: equal portraits are of equal values.

    An `int` where a `float` may stand has the portrait of the float.
    """
    if isinstance(value, BaseModel):
        parts = {**vars(value), **(value.__pydantic_extra__ or {}), **(value.__pydantic_private__ or {})}
        return type(value), {name: draw_portrait(part) for name, part in parts.items()}
    if is_dataclass(value):
        return type(value), {one.name: draw_portrait(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return type(value), {draw_portrait(key): draw_portrait(part) for key, part in value.items()}
    if isinstance(value, set | frozenset):
        return type(value), frozenset(map(draw_portrait, value))
    if isinstance(value, Sequence | deque) and not isinstance(value, str | bytes):
        return type(value), tuple(map(draw_portrait, value))
    if type(value) in (int, float):
        return "number", repr(value) if value != value else value
    return type(value), repr(value) if value != value else value
