"""Plain JSON-like data: its limits, and paths into it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from tactician.errors import DocumentError, Problem
from tactician.frozen import frozen

_LONGEST_STEP = 200
Data: TypeAlias = "dict[str, Data] | list[Data] | str | int | float | bool | None"
"""What JSON can express, whatever the format."""
DataPath: TypeAlias = tuple[str | int, ...]
"""The names and positions that lead to a value."""


@frozen(kw_only=True)
class DocumentLimits:
    """Limits of a document from an untrusted source.

    Attributes:
        size: characters of the text.
        depth: levels of nested objects and lists.
        values: objects, lists and values; those that YAML's aliases repeat count each time.
    """

    size: int = 2_000_000
    depth: int = 128
    values: int = 200_000


DEFAULT_DOCUMENT_LIMITS = DocumentLimits()


class UnreadableTextError(DocumentError):
    """Error for a text that is not a document of its format, or exceeds the limits."""

    def __init__(self, message: str, line: int | None = None, path: DataPath = ()) -> None:
        self.message = message
        super().__init__("The document is wrong", [Problem(format_path(path), message, line=line)])


def format_path(path: Iterable[str | int]) -> str:
    """Return a path as errors show it: `routes[0].target.name`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{_quote(step)}" for step in path).removeprefix(".")


def check_text(text: str, limits: DocumentLimits) -> None:
    """Check a text before it is parsed.

    Raises:
        UnreadableTextError: when the text is too long, or has half of a surrogate pair, which files and models refuse.
    """
    if len(text) > limits.size:
        raise UnreadableTextError(f"it has more than {limits.size:,} characters")
    try:
        text.encode()
    except UnicodeEncodeError:  # an exception that holds the text
        raise create_surrogate_error() from None


def check_data(data: Data, limits: DocumentLimits) -> None:
    """Check the number of values in data, and how deep they are nested.

    Raises:
        UnreadableTextError: when there are too many values, or they are nested too deep.
    """
    count, level = 0, [data]
    for _ in range(limits.depth + 1):
        if (count := count + len(level)) > limits.values:
            raise create_size_error(limits)
        if not (level := [inner for node in level for inner in _iterate(node)]):
            return
    raise create_depth_error(limits)


def measure_data(data: Data) -> tuple[int, int]:
    """Return how many values data has, and how deep they are nested."""
    count, depth, level = 1, 0, list(_iterate(data))
    while level:
        count, depth = count + len(level), depth + 1
        level = [inner for node in level for inner in _iterate(node)]
    return count, depth


def create_size_error(limits: DocumentLimits, line: int | None = None) -> UnreadableTextError:
    """Return the error of a text with too many values."""
    return UnreadableTextError(f"it has more than {limits.values:,} values", line)


def create_depth_error(limits: DocumentLimits, line: int | None = None) -> UnreadableTextError:
    """Return the error of a text that is nested too deep."""
    return UnreadableTextError(f"it is nested more than {limits.depth} deep", line)


def create_surrogate_error(path: DataPath = ()) -> UnreadableTextError:
    """Return the error of a text with half of a surrogate pair."""
    return UnreadableTextError("it has half of a surrogate pair, which is not a character", path=path)


def _iterate(data: Data) -> Iterator[Data]:
    if isinstance(data, dict):
        yield from data.values()
    elif isinstance(data, list):
        yield from data


def _quote(step: str) -> str:
    step = step if len(step) <= _LONGEST_STEP else f"{step[:_LONGEST_STEP]}…"
    return step if step and not set(step) & set(".[] ") else f'"{step}"'
