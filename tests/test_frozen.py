"""`@frozen` defines what `@dataclass(frozen=True, slots=True)` defines, later."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from inspect import getsource, signature, unwrap
from threading import Barrier
from typing import ClassVar

import pytest
from pydantic import TypeAdapter, ValidationError

from tactician.frozen import frozen


@frozen
class Point:
    """Point of a plane."""

    origin: ClassVar[str] = "here"

    x: int
    y: int = 0
    names: tuple[str, ...] = field(default=(), compare=False)
    marks: list[str] = field(default_factory=list, repr=False, hash=False)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is below zero")

    @property
    def total(self) -> int:
        return self.x + self.y


@dataclass(frozen=True, slots=True)
class Standard:
    """Point as the standard library defines it."""

    origin: ClassVar[str] = "here"

    x: int
    y: int = 0
    names: tuple[str, ...] = field(default=(), compare=False)
    marks: list[str] = field(default_factory=list, repr=False, hash=False)


@frozen(kw_only=True)
class Solid(Point):
    """Point of a space."""

    z: int


@frozen(enforced=False)
class Loose:
    """Point whose fields only type checkers refuse to set."""

    x: int
    names: tuple[str, ...] = field(default=(), compare=False)


class Coloured(Point):
    """Subclass that is not a dataclass, and has a dictionary."""

    colour = "red"


@dataclass(frozen=True)
class Weighted(Point):
    """Subclass that the standard library makes."""

    weight: float = 1.0


@frozen
class Odd:
    """Class with methods of its own."""

    x: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Odd) and self.x % 2 == other.x % 2

    def __hash__(self) -> int:
        return self.x % 2

    def __repr__(self) -> str:
        return "odd"


def test_it_has_the_constructor_the_text_and_the_fields_of_a_dataclass() -> None:
    assert signature(Point) == signature(Standard)
    assert repr(Point(1, names=("a",))) == repr(Standard(1, names=("a",))).replace("Standard", "Point")
    assert all(is_dataclass(kind) for kind in (Point, Solid))
    assert [each.name for each in fields(Point)] == [each.name for each in fields(Standard)]
    assert vars(Point)["__match_args__"] == vars(Standard)["__match_args__"]
    assert vars(Point)["__slots__"] == vars(Standard)["__slots__"]
    assert Point(1).total == 1
    assert Point.origin == "here"


def test_equal_fields_make_equal_values() -> None:
    assert Point(1, names=("a",)) == Point(1)
    assert Point(1) not in [Point(2), Standard(1)]
    assert hash(Point(1, names=("a",))) == hash(Point(1))
    assert Point(1).marks is not Point(1).marks


@pytest.mark.parametrize("value", [Point(1), Solid(1, z=2), Weighted(1), Coloured(1)])
def test_fields_cannot_be_assigned_or_deleted(value: Point) -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        setattr(value, "x", 3)  # noqa: B010
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        delattr(value, "x")
    assert value.x == 1


def test_only_type_checkers_refuse_assignments_that_are_not_enforced() -> None:
    value = Loose(1, ("a",))
    assert (value, hash(value)) == (Loose(1), hash(Loose(1)))
    assert replace(value, x=2) == Loose(2)
    setattr(value, "x", 2)  # noqa: B010
    assert value.x == 2
    with pytest.raises(AttributeError):
        setattr(value, "colour", "blue")  # noqa: B010


def test_only_a_subclass_with_a_dictionary_takes_other_attributes() -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(Point(1), "colour", "blue")  # noqa: B010
    coloured = Coloured(1)
    coloured.colour = "blue"
    assert coloured.colour == "blue"
    del coloured.colour
    assert coloured.colour == "red"


def test_subclasses_inherit_the_fields() -> None:
    assert repr(Solid(1, 2, z=3)) == "Solid(x=1, y=2, names=(), z=3)"
    assert vars(Solid)["__slots__"] == ("z",)
    assert repr(Weighted(1, 2, weight=3.0)) == "Weighted(x=1, y=2, names=(), weight=3.0)"
    assert replace(Solid(1, z=3), y=5) == Solid(1, 5, z=3)
    with pytest.raises(ValueError, match="below zero"):
        Solid(-1, z=1)
    with pytest.raises(TypeError, match="non-frozen"):
        dataclass(type("Loose", (Point,), {"__annotations__": {}}))


def test_methods_of_the_class_are_kept() -> None:
    assert (Odd(1) == Odd(3), hash(Odd(3)), repr(Odd(1))) == (True, 1, "odd")


@pytest.mark.parametrize("value", [Point(1, 2, ("a",), ["b"]), Solid(1, z=2), Loose(1)])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_values_are_copied(value: object, copied: Callable[[object], object]) -> None:
    assert copied(value) == value
    assert type(copied(value)) is type(value)


def test_pydantic_validates_it() -> None:
    adapter = TypeAdapter(Solid)
    assert adapter.validate_python({"x": "1", "z": 2}) == Solid(1, z=2)
    assert adapter.validate_json(adapter.dump_json(Solid(1, 2, ("a",), z=3))) == Solid(1, 2, ("a",), z=3)
    with pytest.raises(ValidationError, match="below zero"):
        adapter.validate_python({"x": -1, "z": 2})


def test_threads_may_use_it_first_at_the_same_time() -> None:
    threads = 8
    for _ in range(50):
        plain: type[object] = type("Fresh", (), {"__annotations__": {"x": "int"}, "__module__": __name__})
        create: Callable[[int], object] = frozen(plain)
        start = Barrier(threads)

        def use(number: int, create: Callable[[int], object] = create, start: Barrier = start) -> bool:
            start.wait()
            return create(number) == create(number) and repr(create(number)) == f"Fresh(x={number})"

        with ThreadPoolExecutor(threads) as pool:
            assert all(pool.map(use, range(threads)))


def test_patterns_name_the_fields() -> None:
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
        case _:
            pytest.fail("the pattern has no fields")


def test_tracebacks_and_debuggers_show_the_lines_of_the_constructor() -> None:
    with pytest.raises(ValueError, match="below zero") as error:
        Point(-1)
    lines = [str(entry.statement).strip() for entry in error.traceback]

    assert "self.__post_init__()" in lines
    assert getsource(unwrap(Point.__init__)).splitlines()[0].strip().startswith("def __init__(self, x, y=")
