"""Base class of all parts of a blueprint: fields, data form, and variables in place of values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from types import GenericAlias, UnionType
from typing import Annotated, ClassVar, Final, Literal, TypeAlias, Union, get_args, get_origin

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from tactician.documents.data import Data
from tactician.documents.models import NOT_BLANK, DocumentModel
from tactician.documents.variables import find_variable, has_variables
from tactician.frozen import frozen
from tactician.suggestions import find_closest

FILLED: Final = "filled"
"""The context of validation in which variables were put in: nothing is let through any more."""
_VARIABLE: Final = r"\$\{[A-Za-z_]\w*(:-[^}]*)?\}"
_TEXT: Final = {"type": "string"}


class Pending(str):
    """Variable in the place of a number or a flag."""

    __slots__ = ()


@frozen
class DeferredValue:
    """Validator that accepts texts with a variable until the variable is expanded."""

    name: str
    description: str
    pattern: str
    kind: type[str]
    matches: Callable[[str], object]

    @property
    def schema(self) -> JsonSchemaValue:
        """The JSON Schema of texts with a variable."""
        return {"title": self.name, "description": self.description, **_TEXT, "pattern": self.pattern}

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: object, inner: ValidatorFunctionWrapHandler, info: ValidationInfo) -> object:
            if info.context != FILLED and isinstance(value, str) and self.matches(value):
                return self.kind(value)
            return inner(value)

        return core_schema.with_info_wrap_validator_function(read, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        data = handler(schema)
        kinds = data.get("anyOf", [data])
        return data if data == _TEXT else {"anyOf": [*kinds, {"$ref": f"#/$defs/{self.name}"}]}


DEFERRED: Final = DeferredValue(
    "Variable",
    "`${NAME}` or `${NAME:-otherwise}`: what the environment says.",
    f"^{_VARIABLE}$",
    Pending,
    find_variable,
)
DEFERRED_IN_TEXT: Final = DeferredValue(
    "TextWithVariables", "A text with `${NAME}` in it.", f"(^|[^$]){_VARIABLE}", str, has_variables
)


_CLOSE = 0.7
# A variable may be in the place of each of these. A further constraint would not let it through.
Count: TypeAlias = Annotated[int, Field(strict=True, ge=0), DEFERRED]
Positive: TypeAlias = Annotated[int, Field(strict=True, gt=0), DEFERRED]
Number: TypeAlias = Annotated[float, Field(strict=True), DEFERRED]
Seconds: TypeAlias = Annotated[float, Field(strict=True, gt=0), DEFERRED]
Rate: TypeAlias = Annotated[float, Field(strict=True, gt=0), DEFERRED]
Temperature: TypeAlias = Annotated[float, Field(strict=True, ge=0, le=2), DEFERRED]
Flag: TypeAlias = Annotated[bool, Field(strict=True), DEFERRED]
ToolName: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$"), DEFERRED_IN_TEXT]
Name: TypeAlias = Annotated[str, Field(pattern=NOT_BLANK)]


def convert_type(declared: object) -> object:
    """Return the type in blueprints of a field of a runtime class: strict, or a variable; functions by names."""
    origin, inside = get_origin(declared), get_args(declared)
    kind, limits = (inside[0], inside[1:]) if origin is Annotated else (declared, ())
    if kind in (int, float, bool):
        return Annotated[(kind, Field(strict=True), *limits, DEFERRED)]
    if limits:
        return Annotated[(convert_type(kind), *limits)]
    if origin is Literal:
        return Annotated[declared, DEFERRED_IN_TEXT]
    if origin in (Union, UnionType):
        return reduce(or_, (convert_type(each) for each in inside))
    if origin is Callable:
        return Name
    if origin in (tuple, frozenset, set, Sequence, Collection):
        return GenericAlias(tuple, (convert_type(inside[0]), ...))
    if origin is Mapping:
        return GenericAlias(Mapping, (inside[0], convert_type(inside[1])))
    return declared


class Part(DocumentModel):
    """Part of a blueprint.

    Attributes:
        order: names of the fields that documents have first, in their order.
    """

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    order: ClassVar[Sequence[str]] = ()

    def to_data(self) -> dict[str, Data]:
        """Return the data of the part, without empty fields."""
        values: dict[str, Data] = {}
        fields = type(self).model_fields
        for name in dict.fromkeys((*self.order, *fields)):
            field = fields[name]
            if not field.exclude and (value := getattr(self, name)) is not None:
                values[field.serialization_alias or field.alias or name] = as_data(value)
        return values


def one_of(
    field: str, kinds: Mapping[str, type[Part]], what: str, *, or_text: bool = False, otherwise: str | None = None
) -> BeforeValidator:
    """Parse a part of several possible kinds, by a discriminator field; a `$ref` is a kind of its own.

    A discriminated union would add the kinds to the paths of errors, and could not say which was meant.

    Args:
        field: the discriminator field.
        kinds: the kinds, by the values of the field.
        what: the part in messages.
        or_text: true when text is valid too.
        otherwise: the kind of a part without the field.
    """

    def read(value: object, info: ValidationInfo) -> object:
        if isinstance(value, Part) or (or_text and isinstance(value, str)):
            return value
        if not isinstance(value, Mapping):
            raise PydanticCustomError("problem", "{message}", {"message": f"{what} is an object"})
        if (named := value.get(field)) is None:
            named = "$ref" if "$ref" in value else otherwise
        if (kind := kinds.get(named) if isinstance(named, str) else None) is not None:
            return kind.model_validate(value, by_alias=True, by_name=False, context=info.context)
        raise PydanticCustomError(
            "problem", "{message}", {"message": f"{what} {_describe_unknown_kind(field, named, kinds)}"}
        )

    return BeforeValidator(read)


def part_or(kind: type[Part], plain: type, what: str) -> BeforeValidator:
    """Parse a part, or a plain value in its place. A union would add its alternatives to the paths of errors.

    Args:
        kind: the kind of the part.
        plain: the type of the plain value.
        what: the valid values, for messages.
    """

    def read(value: object, info: ValidationInfo) -> object:
        if isinstance(value, plain | Part):
            return value
        if isinstance(value, Mapping):
            return kind.model_validate(value, by_alias=True, by_name=False, context=info.context)
        raise PydanticCustomError("problem", "{message}", {"message": f"it is neither {what}"})

    return BeforeValidator(read)


def _describe_unknown_kind(field: str, named: object, kinds: Iterable[str]) -> str:
    names = list(kinds)
    if named is None:
        return f"needs the field {field!r}: {', '.join(names)}"
    meant = find_closest(str(named), names)
    hint = f" did you mean {meant!r}?" if meant else f" known: {', '.join(names)}"
    return f"cannot have the {field} {str(named)[:80]!r};{hint}"


def require_field(field: str) -> dict[str, JsonValue]:
    """Mark a field as required in a JSON Schema, where `null` counts as missing."""
    return {"required": [field], "properties": {field: {"type": "string"}}}


def as_data(value: object) -> Data:
    """Return a field value as JSON data."""
    if isinstance(value, Part):
        return value.to_data()
    if isinstance(value, Mapping):
        return {str(name): as_data(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_data(item) for item in value]
    assert value is None or isinstance(value, str | int | float)
    return str(value) if isinstance(value, str) else value
