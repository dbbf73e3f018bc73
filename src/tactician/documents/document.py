"""Documents: JSON, YAML or TOML with its data and the lines of its values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from tactician.documents.data import DEFAULT_DOCUMENT_LIMITS, Data, DataPath, DocumentLimits
from tactician.documents.files import read_text
from tactician.documents.json_text import locate_json, parse_json
from tactician.documents.lines import Place
from tactician.documents.toml_text import locate_toml, parse_toml
from tactician.errors import DocumentError, Problem

Format: TypeAlias = Literal["json", "yaml", "toml"]
FORMATS: Mapping[str, Format] = MappingProxyType({".json": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml"})
"""The formats of files, by the end of their names."""


@dataclass(frozen=True)
class DataDocument:
    """Data, with the text from which it was read.

    Attributes:
        data: the data; an alias of YAML is the same object as its anchor.
        text: the text; empty for data from a program.
        format: the format of the text.
        file: the file of the text, if any.
    """

    data: Data = field(repr=False)
    text: str = field(default="", repr=False)
    format: Format = "json"
    file: Path | None = None

    def find_line(self, path: DataPath) -> int | None:
        """Return the line of a value, from 1, or of the innermost value around it; `None` without a text."""
        return self._places.find_line(path) if self.text else None

    @cached_property
    def _places(self) -> Place:
        """Lines of all values, which are located when an error needs them."""
        return _find_codec(self.format).locate(self.text)


def read_document(
    text: str, format: Format, limits: DocumentLimits = DEFAULT_DOCUMENT_LIMITS, *, file: Path | None = None
) -> DataDocument:
    """Parse a text as a document.

    Raises:
        DocumentError: when the text is not of the format, has a name twice in an object, or exceeds the limits.
    """
    return DataDocument(_find_codec(format).parse(text, limits), text, format, file)


def load_document(
    file: Path, limits: DocumentLimits = DEFAULT_DOCUMENT_LIMITS, *, format: Format | None = None
) -> DataDocument:
    """Read the document in a file, whose name determines the format unless `format` does.

    Raises:
        DocumentError: when the file cannot be read, is not of its format, or exceeds the limits.
    """
    subject = f"{file} is wrong"
    if (kind := format or FORMATS.get(file.suffix.lower())) is None:
        raise DocumentError(subject, [Problem("", f"its name has to end in {', '.join(FORMATS)}")])
    text = read_text(file, limits.size)
    try:
        return read_document(text, kind, limits, file=file)
    except DocumentError as error:
        raise DocumentError(subject, error.problems) from None


def make_document(data: object, limits: DocumentLimits = DEFAULT_DOCUMENT_LIMITS) -> DataDocument:
    """Return data from a program as a document, which has no lines.

    Raises:
        DocumentError: when the data has no JSON form, or exceeds the limits.
    """
    try:
        text = json.dumps(data)
    except (TypeError, ValueError, RecursionError) as error:
        raise DocumentError("The document is not valid", [Problem("", f"it has no JSON form: {error}")]) from error
    return DataDocument(parse_json(text, limits))


def write_yaml(data: Data) -> str:
    """Return data as YAML, with multi-line texts as blocks."""
    from tactician.documents.yaml_text import dump_yaml

    return dump_yaml(data)


class _Codec(NamedTuple):
    """Parser and locator of a format."""

    parse: Callable[[str, DocumentLimits], Data]
    locate: Callable[[str], Place]


def _find_codec(format: Format) -> _Codec:
    if format == "json":
        return _Codec(parse_json, locate_json)
    if format == "toml":
        return _Codec(parse_toml, locate_toml)
    from tactician.documents.yaml_text import locate_yaml, parse_yaml

    return _Codec(parse_yaml, locate_yaml)
