"""Formats in which data is written for models: in prompts, tool results and memory."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from tactician.errors import ConfigurationError, MissingExtraError
from tactician.suggestions import suggest_options

if TYPE_CHECKING:
    from pydantic import JsonValue

ToonDelimiter: TypeAlias = Literal[",", "\t", "|"]
_LONGEST: Final = 1_000_000
_WIDEST: Final = 16


class ContextFormat(StrEnum):
    """Format in which data is written for models. Schemas and the answers of models are always JSON."""

    JSON = "json"
    """Compact JSON."""
    TOON = "toon"
    """Token-Oriented Object Notation (https://toonformat.dev), which needs fewer tokens. It needs the extra `toon`."""


@runtime_checkable
class ContextFormatter(Protocol):
    """Writer of data for models, which an `Ensemble(context_format=...)` takes as well."""

    def format(self, value: object) -> str:
        """Return a value as text; text stays as it is."""
        ...

    def format_json(self, text: str) -> str:
        """Return JSON text in the format; text that is not JSON stays as it is."""
        ...


def load_formatter(format: ContextFormat | ContextFormatter) -> ContextFormatter:
    """Return the formatter of a format; a formatter itself stays as it is.

    Raises:
        MissingExtraError: when the extra of the format is not installed.
        ConfigurationError: when the object is neither a format nor a formatter.
    """
    if isinstance(format, str):
        if format not in tuple(ContextFormat):
            raise ConfigurationError(f"{format!r} is not one of {', '.join(map(repr, map(str, ContextFormat)))}")
        return ToonFormatter() if format == ContextFormat.TOON else JsonFormatter()
    if not isinstance(format, type) and isinstance(format, ContextFormatter):
        return format
    raise ConfigurationError(f"{format!r} is not a ContextFormat, and has no methods `format` and `format_json`")


class JsonFormatter:
    """Formatter for JSON."""

    def format(self, value: object) -> str:
        """Return a value as JSON; text stays as it is."""
        return value if isinstance(value, str) else write_json(value)

    def format_json(self, text: str) -> str:
        """Return the text as it is."""
        return text


@suggest_options
class ToonFormatter:
    """Formatter for TOON, with the options of its encoder.

    Args:
        indent: the spaces of a level.
        delimiter: what stands between the values of a list or a row: a comma, a tab or a bar. Values that have it
            inside are quoted.

    Raises:
        ConfigurationError: when there is no such indentation or delimiter.
        MissingExtraError: when the extra `toon` is not installed.
    """

    def __init__(self, *, indent: int = 2, delimiter: ToonDelimiter = ",") -> None:
        if type(indent) is not int or not 1 <= indent <= _WIDEST:
            raise ConfigurationError(f"The indentation of TOON is 1 to {_WIDEST} spaces, not {indent!r}")
        if delimiter not in get_args(ToonDelimiter):
            allowed = ", ".join(map(repr, get_args(ToonDelimiter)))
            raise ConfigurationError(f"The delimiter of TOON is one of {allowed}, not {delimiter!r}")
        try:
            from toon_format import encode
        except ImportError as error:
            from tactician.extras import describe_install

            raise MissingExtraError(
                f"The format TOON needs toon-format, which is not installed. {describe_install('toon')}"
            ) from error
        self.indent = indent
        self.delimiter: ToonDelimiter = delimiter
        self._encode = partial(encode, indent_size=indent, delimiter=delimiter)

    def __repr__(self) -> str:
        return f"ToonFormatter(indent={self.indent}, delimiter={self.delimiter!r})"

    def format(self, value: object) -> str:
        """Return a value as TOON; text stays as it is, and what TOON has no form for, as a lone surrogate, is JSON."""
        return value if isinstance(value, str) else self._encode_json(write_json(value))

    def format_json(self, text: str) -> str:
        """Return JSON text as TOON. Text that is not an object or a list, or is very long, stays as it is."""
        if len(text) > _LONGEST or text.lstrip()[:1] not in ("{", "["):
            return text
        return self._encode_json(text, allow_inf_nan=False)

    def _encode_json(self, text: str, *, allow_inf_nan: bool = True) -> str:
        from pydantic_core import from_json

        try:
            value: JsonValue = from_json(text, allow_inf_nan=allow_inf_nan)
            return self._encode(value)
        except (ValueError, RecursionError):
            return text


def write_json(value: object) -> str:
    """Return a value as JSON, with `str` for what has no JSON form, and base64 for bytes that are no text."""
    from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

    try:
        return to_json(value, fallback=str).decode()
    except PydanticSerializationError:  # a lone surrogate, perhaps
        import json

        return json.dumps(to_jsonable_python(value, fallback=str, bytes_mode="base64"))
