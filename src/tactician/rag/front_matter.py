"""Front matter of Markdown: facts about a document in YAML, before its text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tactician.documents.data import DocumentLimits
from tactician.documents.document import read_document
from tactician.errors import DocumentError
from tactician.rag.elements import Metadata, MetadataValue

_LIMITS: Final = DocumentLimits(size=20_000, depth=8, values=1_000)
_LINE: Final = "---"


def split_front_matter(text: str) -> tuple[Metadata, str]:
    """Return the facts before a text, and the text without them. What is no mapping in YAML is text.

    Of the facts, those that filters can compare are kept: texts, numbers, truth values, and lists of them.
    """
    first, _, following = text.removeprefix("\ufeff")[: _LIMITS.size].partition("\n")
    if first.rstrip() != _LINE:
        return {}, text
    lines = following.split("\n")
    end = next((number for number, line in enumerate(lines) if line.rstrip() in (_LINE, "...")), None)
    if end is None:
        return {}, text
    try:
        data = read_document("\n".join(lines[:end]), "yaml", _LIMITS).data
    except DocumentError:
        return {}, text
    if not isinstance(data, Mapping):
        return {}, text
    length = len(first) + 1 + sum(len(line) + 1 for line in lines[: end + 1])
    facts = {str(name): fact for name, value in data.items() if (fact := _read_fact(value)) is not None}
    return facts, text.removeprefix("\ufeff")[length:]


def _read_fact(value: object) -> MetadataValue | None:
    if isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list) and value and all(isinstance(each, str | int | float | bool) for each in value):
        return [each for each in value if isinstance(each, str | int | float | bool)]
    return None
