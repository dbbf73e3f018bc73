"""Typed output: JSON schemas for a model, and parsers of its answers, whatever prose or fences are around the JSON."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache
from itertools import chain
from types import FunctionType
from typing import Annotated, Final, Generic, Protocol, TypeVar, cast, get_args, get_origin, runtime_checkable

import pydantic
from pydantic.errors import PydanticUserError
from pydantic_core import from_json, to_json
from typing_extensions import TypeForm

from tactician.errors import DeclarationError
from tactician.llm.model import OutputSpec
from tactician.llm.schema import close_schema, is_strict
from tactician.model_classes import is_model_class
from tactician.text import replace_surrogates, strip_code_fence
from tactician.tools.function import describe_validation_error
from tactician.tools.tool import as_text

T = TypeVar("T")
_BEGINNINGS: Final = re.compile(r'\{(?=\s*["}])|\[(?=\s*[\[\]{"\-0-9tfn])')
_FENCE: Final = "```"
_END_OF_THOUGHTS: Final = "</think>"
_DECODER: Final = json.JSONDecoder()
_WORK: Final = 16
"""How many times the length of the text may be read in vain, so that hostile texts take linear time."""
_COST_OF_DEPTH: Final = 10_000
_LINE_SPEED: Final = 32
_MOST_VALUES: Final = 64


@runtime_checkable
class TextForm(Protocol):
    """Type of answers that have a form as text, too."""

    @classmethod
    def __from_text__(cls, text: str) -> object | None:
        """Return the answer that a text is; `None` when it has not that form, so that it is read as JSON."""
        ...


class InvalidOutput(ValueError):  # noqa: N818 - it says what the answer is
    """Error for an answer that is not an object of the output type, with a message for the model."""


class OutputType(Generic[T]):
    """Type of an answer. `spec` is `None` for plain text.

    Structured output must be an object at its root: any other type travels as `{"value": ...}`. A type that is a
    `TextForm` is read from its form as text, too.
    """

    def __init__(
        self,
        name: str,
        spec: OutputSpec | None,
        parse: Callable[[str], T],
        accept: Callable[[object], T],
        partial: Callable[[str], object],
    ) -> None:
        self.name = name
        self.spec = spec
        self.parse = parse
        """The answer as an object; raises `InvalidOutput`."""
        self.accept = accept
        """An object that is the answer already, or becomes it; raises `InvalidOutput`."""
        self.partial = partial
        """As much of an answer as is in the beginning of its text; `None` when there is nothing yet."""


def output_type(kind: TypeForm[T]) -> OutputType[T]:
    """Return the output type for a Python type: text for `str`, else any type that pydantic validates. Cached.

    Raises:
        DeclarationError: when the type has no JSON schema.
    """
    # Every type form is hashable: what checkers cannot know.
    return cast("OutputType[T]", _compile(cast(Hashable, kind)))


@lru_cache(maxsize=512)
def _compile(kind: Hashable) -> OutputType[object]:
    if kind is str:
        return OutputType("str", None, lambda text: text, as_text, lambda text: None)
    name = _format_name(kind)
    adapter, schema = _create_adapter(kind, name)
    wrapped = schema.get("type") != "object"
    if wrapped:
        definitions = schema.pop("$defs", {})
        schema = {"type": "object", "properties": {"value": schema}, **({"$defs": definitions} if definitions else {})}
    complete = close_schema(schema)

    form = kind if isinstance(kind, TextForm) else None

    def parse(text: str) -> object:
        answer = None if form is None else form.__from_text__(text)
        return _parse(text, adapter, wrapped) if answer is None else answer

    # Providers take no other letters in a name.
    plain_name = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:64] or "output"
    spec = OutputSpec(plain_name, complete, is_strict(complete))
    return OutputType(
        name,
        spec,
        parse,
        lambda value: _accept(value, adapter, parse),
        lambda text: parse_partial(text, kind, wrapped),
    )


def _create_adapter(kind: Hashable, name: str) -> tuple[pydantic.TypeAdapter[object], dict[str, object]]:
    try:
        if isinstance(kind, FunctionType):  # pydantic would take it for the schema of its arguments
            raise TypeError("it is a function")
        adapter: pydantic.TypeAdapter[object] = pydantic.TypeAdapter(kind)  # type: ignore[arg-type]  # see output_type
        return adapter, _inline_root(adapter.json_schema())
    except (PydanticUserError, TypeError) as error:
        advice = "give a pydantic model, a dataclass, a TypedDict, or a type of JSON values such as list[str]"
        problem = f"no model can write an object of this type, as it has no JSON schema: {advice}"
        raise DeclarationError(f"the output type {name}", [problem]) from error


def _format_name(kind: object) -> str:
    if get_origin(kind) is Annotated:
        return _format_name(get_args(kind)[0])
    return getattr(kind, "__name__", None) or re.sub(r"[\w.<>]*\.", "", str(kind))


def _inline_root(schema: dict[str, object]) -> dict[str, object]:
    """Return the schema with its root in place: the root of a recursive type is a reference."""
    reference, definitions = schema.get("$ref"), schema.get("$defs")
    if not isinstance(reference, str) or not isinstance(definitions, dict):
        return schema
    root: dict[str, object] = definitions[reference.removeprefix("#/$defs/")]
    return {**root, "$defs": definitions}


def _accept(value: object, adapter: pydantic.TypeAdapter[object], parse: Callable[[str], object]) -> object:
    try:
        return adapter.validate_python(value)
    except pydantic.ValidationError as error:
        if isinstance(value, str):
            return parse(value)
        raise InvalidOutput(describe_validation_error(error)) from error


def _parse(text: str, adapter: pydantic.TypeAdapter[object], wrapped: bool) -> object:
    """Return the object in an answer: of all of it, else of the likeliest JSON in it that is valid."""
    written = replace_surrogates(text)
    fenced = strip_code_fence(written)
    try:
        return _validate(written.strip() if fenced is None else fenced, adapter, wrapped)
    except InvalidOutput as error:
        first = error
    misfit: InvalidOutput | None = None
    for value in find_json_values(written):
        try:
            return _validate(value, adapter, wrapped)
        except InvalidOutput as error:
            misfit = misfit or error
    raise misfit or first


def _validate(data: str | bytes, adapter: pydantic.TypeAdapter[object], wrapped: bool) -> object:
    try:
        if wrapped:
            value: object = from_json(data)
            if isinstance(value, dict) and value.keys() == {"value"}:
                data = to_json(value["value"])
        return adapter.validate_json(data)
    except pydantic.ValidationError as error:
        raise InvalidOutput(describe_validation_error(error)) from error
    except ValueError as error:
        raise InvalidOutput(f"it is not JSON: {error}") from error


def parse_partial(text: str, kind: object, wrapped: bool) -> object:
    """Return the beginning of an answer as a value of its type; `None` when there is nothing yet.

    A pydantic model has the fields so far; the others are missing, or have their defaults. A list has the items so far,
    the last of which may be partial. Other types are plain JSON values.
    """
    try:
        data: object = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return None
    if wrapped:
        data = data.get("value") if isinstance(data, dict) else None
    return _validate_partial(data, kind) if data else None


def _validate_partial(data: object, kind: object) -> object:
    if isinstance(data, list) and get_origin(kind) in (list, tuple) and (kinds := get_args(kind)):
        return [_validate_partial(item, kinds[0]) for item in data]
    if isinstance(data, dict) and isinstance(kind, type) and is_model_class(kind):
        return _create_partial_model(data, kind)
    try:
        return _adapter(kind).validate_python(data)
    except (pydantic.ValidationError, TypeError):
        return data


def _create_partial_model(data: dict[str, object], kind: type[pydantic.BaseModel]) -> pydantic.BaseModel:
    fields = kind.model_fields.items()
    names = {name: field.alias or name for name, field in fields}
    come = {name: _validate_partial(data[names[name]], f.annotation) for name, f in fields if names[name] in data}
    return kind.model_construct(set(come), **come)


@lru_cache(maxsize=512)
def _adapter(kind: Hashable) -> pydantic.TypeAdapter[object]:
    return pydantic.TypeAdapter(kind)  # type: ignore[arg-type]  # a type, but mypy cannot know


def find_json_values(text: str) -> Iterator[str]:
    """Yield the JSON objects and arrays in a text, none of which is inside another, the likeliest answer first.

    Thoughts do not count. Values in code fences come before others, later values before earlier ones, as an answer
    follows its explanation, and empty ones come last. The time is linear, and the number of values is bounded.
    """
    answer = text.rpartition(_END_OF_THOUGHTS)[2]
    region = answer if answer.strip() else text
    fenced = chain.from_iterable(reversed(_find_values(part)) for part in reversed(region.split(_FENCE)[1::2]))
    values = dict.fromkeys(chain(fenced, reversed(_find_values(region))))
    yield from sorted(values, key=_is_empty)


def _find_values(text: str) -> deque[str]:
    """Return the last values in a text, in their order."""
    values: deque[str] = deque(maxlen=_MOST_VALUES)
    place, work = 0, _WORK * len(text)
    while work > 0 and (begin := _BEGINNINGS.search(text, place)) is not None:
        start = begin.start()
        try:
            _, place = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            work -= error.pos - start + error.pos // _LINE_SPEED  # the error has counted all lines before
            place = start + 1
        except (RecursionError, ValueError):  # too deep, or a number of thousands of digits
            work -= _COST_OF_DEPTH
            place = start + 1
        else:
            values.append(text[start:place])
    return values


def _is_empty(value: str) -> bool:
    return not value[1:-1].strip()
