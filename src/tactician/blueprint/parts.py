"""What all parts of a blueprint have in common: names as in JSON, and help with names written wrongly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Self, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import InitErrorDetails, PydanticCustomError

from tactician.blueprint.pending import LATER, LATER_IN_TEXT
from tactician.blueprint.places import Path
from tactician.blueprint.texts import Data
from tactician.suggestions import closest, closest_spelling

_CLOSE = 0.7
# A variable may be in the place of each of these. A further constraint would not let it through.
Count: TypeAlias = Annotated[int, Field(strict=True, ge=0), LATER]
Positive: TypeAlias = Annotated[int, Field(strict=True, gt=0), LATER]
Number: TypeAlias = Annotated[float, Field(strict=True), LATER]
Seconds: TypeAlias = Annotated[float, Field(strict=True, gt=0), LATER]
Temperature: TypeAlias = Annotated[float, Field(strict=True, ge=0, le=2), LATER]
Flag: TypeAlias = Annotated[bool, Field(strict=True), LATER]
ToolName: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$"), LATER_IN_TEXT]
Name: TypeAlias = Annotated[str, Field(min_length=1)]


class Part(BaseModel):
    """A part of a blueprint."""

    # Built when first used: a program that has blueprints of agents only pays for no others.
    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        defer_build=True,
    )

    @model_validator(mode="wrap")
    @classmethod
    def _explained(cls, value: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Takes `null` for nothing, and says of a field that there is not which one was meant."""
        if isinstance(value, dict):
            value = {name: one for name, one in value.items() if one is not None}
        try:
            return handler(value)
        except ValidationError as error:
            told = error.errors(include_url=False, include_context=False)
            # In a list, those with mistakes in them are not counted: so it need not be too short.
            wrong = [one["loc"] for one in told]
            real = [
                one for one in told if one["type"] != "too_short" or not any(_is_in(at, one["loc"]) for at in wrong)
            ]
            raise ValidationError.from_exception_data(cls.__name__, [cls._told(one) for one in real]) from error

    @classmethod
    def _told(cls, error: Mapping[str, object]) -> InitErrorDetails:
        place, message = error["loc"], str(error["msg"])
        assert isinstance(place, tuple)
        if error["type"] == "extra_forbidden" and len(place) == 1:
            message = cls._unknown(str(place[0]))
        # Braces in a message are no placeholders.
        kind = PydanticCustomError("problem", "{message}", {"message": message})
        return InitErrorDetails(type=kind, loc=place, input=error["input"])

    @classmethod
    def _unknown(cls, name: str) -> str:
        meant = closest_spelling(name, (field.alias or label for label, field in cls.model_fields.items()), _CLOSE)
        return f"there is no such field{f'; did you mean {meant!r}?' if meant else ''}"

    def to_data(self) -> dict[str, Data]:
        """This as JSON has it: without what says nothing."""
        found: dict[str, Data] = {}
        for name, field in type(self).model_fields.items():
            if not field.exclude and (value := getattr(self, name)) is not None:
                found[field.serialization_alias or field.alias or name] = as_data(value)
        return found


def _is_in(place: tuple[int | str, ...], around: tuple[int | str, ...]) -> bool:
    return len(place) > len(around) and place[: len(around)] == around


def mistakes_of(error: ValidationError) -> dict[Path, str]:
    """What is wrong, by its place."""
    told = error.errors(include_url=False, include_context=False, include_input=False)
    return {one["loc"]: one["msg"].removeprefix("Value error, ") for one in told}


def one_of(field: str, kinds: Mapping[str, type[Part]], what: str, *, or_text: bool = False) -> BeforeValidator:
    """Reads a part of one of these kinds, by what it says in a field; a `$ref` is its own kind.

    A discriminated union would add the kinds to the paths of errors, and could not say which one was meant.
    """

    def read(value: object, info: ValidationInfo) -> object:
        if isinstance(value, Part) or (or_text and isinstance(value, str)):
            return value
        if not isinstance(value, Mapping):
            raise PydanticCustomError("problem", "{message}", {"message": f"{what} is an object"})
        named = value.get(field, "$ref" if "$ref" in value else None)
        if (kind := kinds.get(named) if isinstance(named, str) else None) is not None:
            return kind.model_validate(value, by_alias=True, by_name=False, context=info.context)
        raise PydanticCustomError("problem", "{message}", {"message": f"{what} {_unlike(field, named, kinds)}"})

    return BeforeValidator(read)


def _unlike(field: str, named: object, known: Iterable[str]) -> str:
    names = list(known)
    if named is None:
        return f"needs the field {field!r}, one of: {', '.join(names)}"
    meant = closest(str(named), names)
    hint = f" did you mean {meant!r}?" if meant else f" known: {', '.join(names)}"
    return f"cannot have the {field} {str(named)[:80]!r};{hint}"


def needing(field: str) -> dict[str, JsonValue]:
    """In a JSON Schema: this field has to be there. `null` is nothing."""
    return {"required": [field], "properties": {field: {"type": "string"}}}


def as_data(value: object) -> Data:
    """A value of a field, as JSON has it."""
    if isinstance(value, Part):
        return value.to_data()
    if isinstance(value, Mapping):
        return {str(name): as_data(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_data(one) for one in value]
    assert value is None or isinstance(value, str | int | float)
    return str(value) if isinstance(value, str) else value
