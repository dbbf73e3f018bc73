"""Types by name, as Python and as Java spell them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from operator import or_
from types import GenericAlias, NoneType
from typing import Annotated, Any, Generic, Literal, TypeVar, Union
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from tactician.blueprint.type_names import TypeName, find_type_name
from tactician.names import NameProblem, Names

T = TypeVar("T")
U = TypeVar("U")


class Order(BaseModel):
    number: int = 0

    class Line(BaseModel):
        text: str = ""


class Page(BaseModel, Generic[T]):
    items: list[T]


class Pair(BaseModel, Generic[T, U]):
    one: T
    other: U


@dataclass
class Box(Generic[T]):
    content: T


class Größe(BaseModel):
    wert: int = 0


HERE = __name__
NAMES = Names(packages=[HERE])


def find(name: str) -> type[object]:
    found = NAMES.find(name)
    assert isinstance(found, type)
    return found


def resolved(text: str) -> object:
    return TypeName.of(text).resolve(find)


def type_names() -> st.SearchStrategy[TypeName]:
    words = st.from_regex(r"[^\W\d][\w$]{0,8}(\.[^\W\d][\w$]{0,8}){0,3}", fullmatch=True)

    def around(inner: st.SearchStrategy[TypeName]) -> st.SearchStrategy[TypeName]:
        several = st.lists(inner, min_size=1, max_size=3).map(tuple)
        members = st.lists(inner.filter(lambda one: one.name != "|"), min_size=2, max_size=3).map(tuple)
        return st.builds(TypeName, words, several) | members.map(lambda some: TypeName("|", some))

    return st.recursive(words.map(TypeName), around, max_leaves=8)


def types() -> st.SearchStrategy[Any]:
    plain: list[Any] = [str, int, float, bool, date, datetime, Decimal, UUID, Order, Order.Line, Größe, dict, list]

    def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(
            inner.map(lambda one: GenericAlias(list, one)),
            inner.map(lambda one: GenericAlias(dict, (str, one))),
            inner.map(Page.__class_getitem__),
            inner.map(Box.__class_getitem__),  # type: ignore[attr-defined]
            inner.map(lambda one: one | None),
            st.builds(lambda one, other: Pair.__class_getitem__((one, other)), inner, inner),
            st.builds(lambda one, other: GenericAlias(tuple, (one, other)), inner, inner),
            st.builds(or_, inner, inner),
        )

    return st.recursive(st.sampled_from(plain), around, max_leaves=5)


class TestPython:
    @given(type_names())
    def test_a_name_is_read_as_it_is_written(self, name: TypeName) -> None:
        text = str(name)
        if len(text) <= 1_000:
            assert TypeName.of(text) == _without_java(name)
            assert TypeName.of(text.replace(" ", "")) == TypeName.of(text.replace("[", "\n[ ").replace(",", " ,\t "))

    @given(types())
    def test_a_type_is_found_by_its_name(self, kind: Any) -> None:  # noqa: ANN401
        name = find_type_name(kind)
        assert name is not None
        if len(name) <= 1_000:
            assert str(TypeName.of(name)) == name
            assert resolved(name) == kind

    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            (None, "None"),
            (NoneType, "None"),
            (str, "str"),
            (dict[str, list[int]], "dict[str, list[int]]"),
            (datetime | None, "datetime.datetime | None"),
            (Union[Decimal, None], "decimal.Decimal | None"),  # noqa: UP007
            (list[int | str], "list[int | str]"),
            (Order, f"{HERE}.Order"),
            (Order.Line, f"{HERE}.Order.Line"),
            (Page[Order], f"{HERE}.Page[{HERE}.Order]"),
            (Page[Page[int | None]], f"{HERE}.Page[{HERE}.Page[int | None]]"),
            (Box[list[UUID]], f"{HERE}.Box[list[uuid.UUID]]"),
            (Pair[int, Box[str]], f"{HERE}.Pair[int, {HERE}.Box[str]]"),
            (Page, f"{HERE}.Page"),
        ],
    )
    def test_names_of_types(self, kind: object, name: str) -> None:
        assert find_type_name(kind) == name
        assert resolved(name) in (kind, NoneType if kind is None else kind)

    def test_types_that_no_import_finds(self) -> None:
        class Local(BaseModel): ...

        hidden: list[object] = [Local, list[Local], Local | None, Page[Local], Box[Local], Literal["a"], "Order", T]
        hidden += [Annotated[int, "a"]]
        assert [find_type_name(one) for one in hidden] == [None] * len(hidden)

    def test_a_type_that_was_found_can_be_used(self) -> None:
        kind: Any = resolved(f"list[{HERE}.Page[{HERE}.Box[int]]] | None")
        made = TypeAdapter(kind).validate_json('[{"items": [{"content": "3"}]}]')
        assert made == [Page[Box[int]](items=[Box(3)])]


class TestJava:
    @pytest.mark.parametrize(
        ("java", "python"),
        [
            ("java.lang.String", "str"),
            ("java.lang.Integer", "int"),
            ("java.lang.Long", "int"),
            ("java.lang.Double", "float"),
            ("java.lang.Float", "float"),
            ("java.lang.Boolean", "bool"),
            ("java.math.BigDecimal", "decimal.Decimal"),
            ("java.math.BigInteger", "int"),
            ("java.time.LocalDate", "datetime.date"),
            ("java.time.Instant", "datetime.datetime"),
            ("java.time.LocalDateTime", "datetime.datetime"),
            ("java.util.UUID", "uuid.UUID"),
            ("java.util.List<com.acme.Order>", "list[com.acme.Order]"),
            ("java.util.Set<java.lang.String>", "set[str]"),
            ("java.util.Map<java.lang.String,java.util.List<java.lang.Long>>", "dict[str, list[int]]"),
            ("com.acme.Page<com.acme.Order, int>", "com.acme.Page[com.acme.Order, int]"),
            ("com.acme.Order$Line", "com.acme.Order$Line"),
            ("java.util.List", "list"),
            ("java.util.Deque<int>", "java.util.Deque[int]"),
        ],
    )
    def test_it_is_spelled_as_python_has_it(self, java: str, python: str) -> None:
        assert str(TypeName.of(java)) == python
        assert TypeName.of(python) == TypeName.of(java)

    def test_classes_are_found_by_their_names(self) -> None:
        classes: dict[str, type[object]] = {"com.acme.Order": Order, "com.acme.Order$Line": Order.Line}
        text = "java.util.Map<java.lang.String, java.util.List<com.acme.Order$Line>>"
        assert TypeName.of(text).resolve(classes.__getitem__) == dict[str, list[Order.Line]]


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("", "the name of a type ends early"),
            (" \n", "the name of a type ends early"),
            ("list[", "the name of a type ends early"),
            ("int |", "the name of a type ends early"),
            ("list[]", "the name of a type is expected where ']' is"),
            ("| int", "the name of a type is expected where '|' is"),
            ("list[int,]", "the name of a type is expected where ']' is"),
            ("list[int", "']' is expected in the name of a type"),
            ("list[int>", "']' is expected in the name of a type"),
            ("java.util.List<int]", "'>' is expected in the name of a type"),
            ("list[int str]", "']' is expected in the name of a type"),
            ("int]", "'int]' is not the name of a type: ']' is not expected"),
            ("list[int][str]", "'list[int][str]' is not the name of a type: '[' is not expected"),
            ("int str", "'int str' is not the name of a type: 'str' is not expected"),
            ("3d", "'3d' is not the name of a type"),
            ("a-b", "'a-b' is not the name of a type"),
            ("__import__('os')", "is not the name of a type"),
            ("java.util.List<? extends com.acme.Order>", "is not the name of a type"),
            ("a" * 1_001, "the name of a type has more than 1,000 characters"),
            ("list[" * 21 + "int" + "]" * 21, "the name of a type is nested more than 20 deep"),
        ],
    )
    def test_no_name(self, text: str, why: str) -> None:
        with pytest.raises(ValueError) as caught:
            TypeName.of(text)
        assert why in str(caught.value)
        assert len(str(caught.value)) < 200

    @given(st.text(max_size=60) | st.text("aint[]<>,| .$", max_size=60) | st.text("[<", max_size=1_100))
    @example("list[" * 199)
    def test_every_mistake_is_a_value_error(self, text: str) -> None:
        try:
            name = TypeName.of(text)
        except ValueError:
            return
        assert TypeName.of(str(name)) == name

    def test_the_deepest_and_the_longest(self) -> None:
        deepest = "list[" * 20 + "int" + "]" * 20
        assert str(TypeName.of(deepest)) == deepest
        assert TypeName.of(f"  {'a' * 998}  ").name == "a" * 998

    @pytest.mark.parametrize("text", ["int[str]", "None[int]", f"{HERE}.Order[int]", f"{HERE}.Page[int, str]"])
    def test_a_type_that_there_cannot_be(self, text: str) -> None:
        with pytest.raises(TypeError):
            resolved(text)

    def test_a_class_that_nobody_knows(self) -> None:
        with pytest.raises(NameProblem, match=r"there is nothing with the name 'com\.acme\.Order'"):
            resolved("list[com.acme.Order]")


def _without_java(name: TypeName) -> TypeName:
    return TypeName(TypeName.of(name.name).name if name.name != "|" else "|", tuple(map(_without_java, name.inner)))
