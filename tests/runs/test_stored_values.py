"""Values as JSON, and back: those that read back equal, and the refusals of all others."""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import pytest
from pydantic import (
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    Json,
    PrivateAttr,
    SecretStr,
    computed_field,
    field_serializer,
    field_validator,
)
from pydantic_core import from_json, to_json

from tactician.conversation import Conversation
from tactician.errors import StoredStateError
from tactician.llm import UserMessage
from tactician.llm.messages import SystemMessage
from tactician.runs.values.stored_values import decode_value, encode_value


@dataclass
class Beast:
    name: str


@dataclass
class Hound(Beast):
    owner: str = "Ada"


@dataclass
class Kennel:
    dogs: list[Beast]


@dataclass
class TaggedBeast:
    name: str
    kind: Literal["beast"] = "beast"


@dataclass
class TaggedHound:
    name: str
    kind: Literal["hound"] = "hound"


@dataclass
class TaggedKennel:
    dogs: list[TaggedBeast | TaggedHound]


class Pet(BaseModel):
    name: str


class Cat(Pet):
    lives: int = 9


class House(BaseModel):
    pet: Pet


@dataclass
class Loose:
    """Something whose field may be anything."""

    thing: Any = None


class Login(BaseModel):
    password: SecretStr


class Aliased(BaseModel):
    model_config = ConfigDict(extra="forbid")
    first: int = Field(alias="First")
    second: int = Field(validation_alias=AliasPath("second", 0))
    third: int = Field(serialization_alias="Third")


@dataclass
class Grid:
    cells: dict[tuple[int, int], str]


class Masked(BaseModel):
    key: str

    @field_serializer("key")
    def _mask(self, key: str) -> str:
        return "***"


class Closed(BaseModel):
    """Something that does not read what it writes."""

    size: int

    @field_serializer("size")
    def _write(self, size: int) -> str:
        return f"{size} cm"


class Noted(BaseModel):
    text: str
    _note: str = PrivateAttr("")


class Partial(BaseModel):
    text: str
    hidden: int = Field(default=0, exclude=True)


class Parsed(BaseModel):
    numbers: Json[list[int]]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def total(self) -> int:
        return sum(self.numbers)


class Blob(BaseModel):
    data: bytes


class Base64Blob(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    data: bytes


class Choosy(BaseModel):
    text: str

    @field_validator("text")
    @classmethod
    def _look_up(cls, text: str) -> str:
        return {"known": "known"}[text]


class Shape(Enum):
    POINT = (0, 0)


@dataclass
class Drawing:
    shape: Shape


class UserName(str):
    __slots__ = ()


@dataclass
class Price:
    amount: float


@dataclass
class Visit:
    when: datetime = field(compare=False)


@dataclass
class Series:
    items: Sequence[int]


class Opaque: ...


@dataclass
class Talk:
    conversation: Conversation


def store(value: object, kind: object = None) -> object:
    """What is read back of a value, also after a store has kept the text."""
    return decode_value(from_json(to_json(encode_value(value, kind))), type(value) if kind is None else kind)


def refuse(value: object, kind: object = None) -> str:
    """Why a value is refused."""
    with pytest.raises(StoredStateError) as refused:
        encode_value(value, kind)
    return str(refused.value)


class TestStored:
    @pytest.mark.parametrize(
        "value",
        [
            Kennel([Beast("Rex")]),
            TaggedKennel([TaggedHound("Rex"), TaggedBeast("Tom")]),
            House(pet=Pet(name="Tom")),
            Aliased.model_validate({"First": 1, "second": [2], "third": 3}),
            Loose({"texts": ["a", None, True, 1, 1.5]}),
            Parsed.model_validate({"numbers": "[1, 2]"}),
            Base64Blob(data=b"\xff\x00"),
            Noted(text="x"),
            Partial(text="x"),
            Price(2.5),
            Visit(datetime(2026, 1, 2, tzinfo=UTC)),
            Loose("the character \0"),
            Login(password=SecretStr("")),
            "plain",
            [1, [2, {}]],
        ],
    )
    def test_it_reads_back_equal(self, value: object) -> None:
        read = store(value)
        assert read == value
        assert type(read) is type(value)

    def test_a_field_that_is_not_compared_reads_back_too(self) -> None:
        visit = store(Visit(datetime(2026, 1, 2, tzinfo=UTC)))
        assert isinstance(visit, Visit)
        assert visit.when == datetime(2026, 1, 2, tzinfo=UTC)

    @pytest.mark.parametrize("amount", [math.inf, -math.inf, -0.0])
    def test_unusual_numbers(self, amount: float) -> None:
        read = store(Price(amount))
        assert isinstance(read, Price)
        assert str(read.amount) == str(amount)

    def test_what_is_not_a_number_equals_itself(self) -> None:
        read = store(Price(math.nan))
        assert isinstance(read, Price)
        assert math.isnan(read.amount)

    def test_an_int_may_stand_for_a_float(self) -> None:
        assert store(Price(5)) == Price(5)

    @pytest.mark.parametrize("wrap", [lambda talk: talk, Talk], ids=["itself", "a field"])
    def test_a_conversation(self, wrap: Callable[[Conversation], object]) -> None:
        talk = Conversation([SystemMessage("Be kind."), UserMessage("Hi"), UserMessage("Hello?")])
        talk.remove("m1")
        talk.version = 7
        read = store(wrap(talk))
        found = read.conversation if isinstance(read, Talk) else read
        assert isinstance(found, Conversation)
        assert (found.id, found.ids, found.version) == (talk.id, ("m0", "m2"), 7)
        assert found.messages == talk.messages


class TestRefused:
    @pytest.mark.parametrize(
        ("value", "refusal"),
        [
            (
                Kennel([Beast("Tom"), Hound("Rex")]),
                "`Kennel.dogs[1]` cannot be stored: it is of the type Hound, and would be read back as Beast. Declare "
                "it as `Hound | Beast`, with a `Literal` field in each to tell them apart.",
            ),
            (
                House(pet=Cat(name="Tom")),
                "`House.pet` cannot be stored: it is of the type Cat, and would be read back as Pet. Declare it as "
                "`Cat | Pet`, with a `Literal` field in each to tell them apart.",
            ),
            (
                Loose(Hound("Rex")),
                "`Loose.thing` cannot be stored: it is of the type Hound, and would be read back as dict. Declare it "
                "as `Hound`, or convert it to `dict`.",
            ),
            (
                Loose((1, 2)),
                "`Loose.thing` cannot be stored: it is of the type tuple, and would be read back as list. Declare it "
                "as `tuple`, or convert it to `list`.",
            ),
            (
                Loose({"days": {1: "Monday"}}),
                "`Loose.thing['days']` cannot be stored: its key or element of the type int would be read back as "
                "another value. Declare its type, as in `dict[int, ...]` or `set[int]`, or use text.",
            ),
            (
                Loose([Shape.POINT]),
                "`Loose.thing[0]` cannot be stored: it is of the type Shape, and would be read back as list. Declare "
                "it as `Shape`, or convert it to `list`.",
            ),
            (
                Login(password=SecretStr("rosebud")),
                "`Login.password` cannot be stored: it would be read back as SecretStr('**********'). A secret is "
                "stored masked: keep it in the environment, or in an attribute of the agent.",
            ),
            (
                Grid({(1, 2): "x"}),
                "`Grid` cannot be stored: its JSON form could not be read again (cells.1,2.[key]: Input should be a "
                "valid array). The keys of a JSON object are text: use text as keys, or a list of pairs.",
            ),
            (
                Masked(key="rosebud"),
                "`Masked.key` cannot be stored: it would be read back as '***'. Let its type read back all that it "
                "writes.",
            ),
            (
                Closed(size=3),
                "`Closed` cannot be stored: its JSON form could not be read again (size: Input should be a valid "
                "integer, unable to parse string as an integer). Let its type read back all that it writes.",
            ),
            (
                Partial(text="x", hidden=1),
                "`Partial.hidden` cannot be stored: it would be read back as 0. Let its type read back all that it "
                "writes.",
            ),
            (
                Drawing(Shape.POINT),
                "`Drawing` cannot be stored: its JSON form could not be read again (shape: Input should be (0, 0)). "
                "Let its type read back all that it writes.",
            ),
            (
                Beast(UserName("Tom")),
                "`Beast.name` cannot be stored: it is of the type UserName, and would be read back as str. Declare it "
                "as `UserName`, or convert it to `str`.",
            ),
            (
                Series((1, 2)),
                "`Series.items` cannot be stored: it is of the type tuple, and would be read back as list. Declare it "
                "as `tuple`, or convert it to `list`.",
            ),
            (
                Loose(OrderedDict(a=1)),
                "`Loose.thing` cannot be stored: it is of the type OrderedDict, and would be read back as dict. "
                "Declare it as `OrderedDict`, or convert it to `dict`.",
            ),
            (
                Kennel([Beast("Rex \ud83d")]),
                r"`Kennel.dogs[0].name` cannot be stored: 'Rex \ud83d' has half of a surrogate pair. Remove it.",
            ),
            (
                Loose({"\ud83d": 1}),
                r"`Loose.thing` cannot be stored: '\ud83d' has half of a surrogate pair. Remove it.",
            ),
            (
                "\ud83d",
                r"`str` cannot be stored: '\ud83d' has half of a surrogate pair. Remove it.",
            ),
        ],
    )
    def test_the_refusal_names_the_place_and_the_remedy(self, value: object, refusal: str) -> None:
        assert refuse(value) == refusal

    def test_a_private_attribute(self) -> None:
        noted = Noted(text="x")
        noted._note = "look"
        assert refuse(noted) == (
            "`Noted._note` cannot be stored: it would be read back as ''. Private attributes are not stored: make it a "
            "field, or leave it as a new object has it."
        )

    @pytest.mark.parametrize(
        ("value", "place"),
        [
            (Opaque(), "`Opaque`"),
            ([1, Opaque()], "`list[1]`"),
            (Loose({"a": Beast("Tom"), "b": Opaque()}), "`Loose.thing['b']`"),
        ],
    )
    def test_what_has_no_json_form(self, value: object, place: str) -> None:
        refusal = refuse(value)
        assert refusal.startswith(f"{place} cannot be stored: Opaque has no JSON form (")
        assert refusal.endswith("Make Opaque a dataclass or a pydantic model.")

    def test_bytes_that_are_no_text(self) -> None:
        refusal = refuse(Blob(data=b"\xff"))
        assert refusal.startswith("`Blob.data` cannot be stored: bytes has no JSON form (")
        assert refusal.endswith(
            'Set `ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")` in the class whose field it is.'
        )

    def test_what_contains_itself(self) -> None:
        loop = Loose()
        loop.thing = [loop]
        assert refuse(loop).endswith(
            "Nothing in it may contain itself, or be nested too deeply: use ids instead of objects."
        )

    def test_what_is_nested_too_deeply_has_a_short_path(self) -> None:
        nested: list[object] = []
        for _ in range(3000):
            nested = [nested]
        assert len(refuse(nested)) < 400

    def test_elements_of_a_set(self) -> None:
        assert "its key or element of the type date would be read back as another value" in refuse(
            {date(2026, 1, 2)}, set[Any]
        )

    def test_keys_of_an_open_dictionary(self) -> None:
        assert "its key or element of the type UUID" in refuse({UUID(int=1): 1}, dict[Any, int])

    def test_what_the_code_of_a_type_raises(self) -> None:
        unknown = Choosy.model_construct(text="unknown")
        assert "its JSON form could not be read again (KeyError: 'unknown')" in refuse(unknown)

    def test_an_object_of_another_type_than_the_declared_one(self) -> None:
        assert "`Hound` cannot be stored: it is of the type Hound" in refuse(Hound("Rex"), Beast)


class TestRead:
    def test_what_is_not_valid_is_named_without_the_value(self) -> None:
        with pytest.raises(StoredStateError, match=re.escape("dogs.0.name: Input should be a valid string")) as refused:
            decode_value({"dogs": [{"name": 123456}]}, Kennel)
        assert "123456" not in str(refused.value)
