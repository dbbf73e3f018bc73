"""Types of the results of tools: which of them have a structured form."""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeAlias, Union, get_args, get_origin

from tactician.llm import Document, Image
from tactician.llm import Text as TextPart
from tactician.tools.artifacts import Artifact
from tactician.tools.tool import ToolOutput

OutputType: TypeAlias = object
"""Type of an output, as an annotation has it."""
_CONTENT: Final = (str, NoneType, Image, Document, TextPart, ToolOutput, Artifact)
_UNFINISHED: Final = (Iterator, AsyncIterator, Awaitable)


def is_structured(kind: OutputType) -> bool:
    """Return whether outputs of a type have a structured form: neither text, nor nothing, nor content for people."""
    return all(_is_structured(part) for part in _split(kind))


def _split(kind: OutputType) -> Iterator[OutputType]:
    """Yield the members of a union, and the types of the values of a choice."""
    if get_origin(kind) in (Union, UnionType):
        for member in get_args(kind):
            yield from _split(member)
    elif get_origin(kind) is Annotated:
        yield from _split(get_args(kind)[0])
    elif get_origin(kind) is Literal:
        yield from map(type, get_args(kind))
    else:
        yield kind


def _is_structured(kind: OutputType) -> bool:
    if kind in (Any, object, None) or isinstance(kind, str):
        return False
    origin = get_origin(kind) or kind
    if not isinstance(origin, type):
        return True
    if issubclass(origin, _CONTENT + _UNFINISHED):
        return False
    if issubclass(origin, Sequence) and not issubclass(origin, enum.Enum):
        return not any(_may_be_file(argument) for argument in get_args(kind))
    return True


def _may_be_file(kind: OutputType) -> bool:
    return any(part in (Any, object) or part in (Image, Document) for part in _split(kind))
