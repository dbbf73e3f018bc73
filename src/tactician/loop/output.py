"""Typed output: JSON schemas for a model, and parsers of its answers, and of the beginnings of answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Annotated, Generic, Protocol, TypeVar, cast, get_args, get_origin, runtime_checkable

import pydantic
from pydantic_core import from_json, to_json

from tactician.llm import OutputSpec, close_schema, is_strict
from tactician.model_classes import is_model_class
from tactician.text import replace_surrogates, strip_code_fence
from tactician.tools import as_text, describe_validation_error

T = TypeVar("T")


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


def output_type(kind: type[T]) -> OutputType[T]:
    """Return the output type for a Python type: text for `str`, else any type that pydantic validates. Cached."""
    # A union is not a class, but it is a valid output type, and hashable: what mypy cannot express.
    return cast("OutputType[T]", _compile(cast(Hashable, kind)))


@lru_cache(maxsize=512)
def _compile(kind: Hashable) -> OutputType[object]:
    if kind is str:
        return OutputType("str", None, lambda text: text, as_text, lambda text: None)
    adapter: pydantic.TypeAdapter[object] = pydantic.TypeAdapter(kind)  # type: ignore[arg-type]  # see output_type
    name = _format_name(kind)
    schema = _inline_root(adapter.json_schema())
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
    data = _extract_json(replace_surrogates(text))
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


def _extract_json(text: str) -> str | bytes:
    """Return the JSON in an answer: all of it, the content of a code fence, or else its outer braces."""
    if (fenced := strip_code_fence(text)) is not None:
        return fenced
    stripped = text.strip()
    if stripped.startswith(("{", "[", '"')) or "{" not in stripped:
        return stripped
    return stripped[stripped.index("{") : stripped.rindex("}") + 1] if "}" in stripped else stripped


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
