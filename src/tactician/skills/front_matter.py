"""Front matter of `SKILL.md`: YAML between two lines `---`, of which all values are texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, TypeAlias

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)

from tactician.errors import TacticianError
from tactician.frozen import frozen

FrontValue: TypeAlias = "str | list[FrontValue] | dict[str, FrontValue]"
FrontMatter: TypeAlias = dict[str, FrontValue]
_MARK: Final = "---"
_LONGEST: Final = 64_000
_MAX_DEPTH: Final = 20
_UNQUOTED: Final = re.compile(r"^([A-Za-z][\w-]*:[ \t]+)([^\s\"'|>\[{#&*!][^\n:]*:[^\n]*)", re.MULTILINE)
"""Line with a value that has a colon in it, and no quotes around it."""


class FrontMatterError(TacticianError, ValueError):
    """The front matter of a `SKILL.md` is missing or cannot be read."""


@frozen
class ReadFrontMatter:
    """Front matter as far as it can be read.

    Attributes:
        values: its values.
        body: the instructions after it.
        problem: what a strict reader would refuse; `None` when that is nothing.
    """

    values: FrontMatter
    body: str
    problem: str | None = None


def split_front_matter(content: str) -> tuple[FrontMatter, str]:
    """Return the front matter of a `SKILL.md`, and the instructions after it.

    The front matter ends at the next `---`, wherever it is. As in the reference validator, flow style, anchors, tags
    and repeated keys are refused.

    Raises:
        FrontMatterError: when it is missing or cannot be read.
    """
    text, body = _split(content)
    return _parse(text, _Reader()), body


def read_front_matter(content: str) -> ReadFrontMatter:
    """Return the front matter of a `SKILL.md` of somebody else, as far as it can be read.

    Flow style and tags are read, and what else is not plain is left out. Where the text is no YAML, values with a colon
    are quoted first, as `description: Use this: ...` needs.

    Raises:
        FrontMatterError: when it is missing, or cannot be read even so.
    """
    text, body = _split(content)
    try:
        return ReadFrontMatter(_parse(text, _Reader()), body)
    except FrontMatterError as error:
        problem = str(error)
    try:
        return ReadFrontMatter(_parse(text, _Reader(is_strict=False)), body, problem)
    except FrontMatterError:
        quoted = _UNQUOTED.sub(_quote, text)
        if quoted == text:
            raise
    return ReadFrontMatter(_parse(quoted, _Reader(is_strict=False)), body, problem)


def _split(content: str) -> tuple[str, str]:
    if not content.startswith(_MARK):
        raise FrontMatterError("SKILL.md must start with front matter: a line '---'")
    parts = content.split(_MARK, 2)
    if len(parts) < 3:
        raise FrontMatterError("the front matter is not closed by a line '---'")
    if len(parts[1]) > _LONGEST:
        raise FrontMatterError(f"the front matter is longer than {_LONGEST} characters")
    return parts[1], parts[2].strip()


def _quote(line: re.Match[str]) -> str:
    value = line[2].rstrip().replace("'", "''")
    return f"{line[1]}'{value}'"


def _parse(text: str, reader: _Reader) -> FrontMatter:
    _check_depth(text)
    try:
        events = _read_events(text, yaml.SafeLoader if reader.is_strict else yaml.CSafeLoader)
        first = next(events, None)
        value = "" if first is None else reader.read(first, events, 0)
        if next(events, None) is not None:
            raise FrontMatterError("the front matter must be a single document")
    except yaml.YAMLError as error:
        raise FrontMatterError(f"the front matter is not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(value, dict):
        raise FrontMatterError("the front matter must be a mapping, such as 'name: my-skill'")
    return value


def _check_depth(text: str) -> None:
    """Check how deep a text is nested, by the parser in C: that in Python takes minutes for thousands of brackets.

    Raises:
        FrontMatterError: when it is nested too deep.
    """
    depth = 0
    with suppress(yaml.YAMLError):  # the reader reports it again
        for event in _read_events(text, yaml.CSafeLoader):
            depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise FrontMatterError(f"the front matter is nested deeper than {_MAX_DEPTH} levels")


def _read_events(text: str, loader: type[yaml.SafeLoader | yaml.CSafeLoader]) -> Iterator[Event]:
    """Yield the events of a text as they are parsed, so that nothing is parsed after an event that is refused."""
    return (event for event in yaml.parse(text, Loader=loader) if not _is_frame(event))


def _is_frame(event: Event) -> bool:
    """Return whether an event is the beginning or the end of a stream or a document."""
    return not isinstance(event, NodeEvent | CollectionEndEvent)


class _Reader:
    """Reader of values: a strict reader refuses what is not plain, another leaves it out."""

    def __init__(self, *, is_strict: bool = True) -> None:
        self.is_strict = is_strict

    def read(self, event: Event, events: Iterator[Event], depth: int) -> FrontValue:
        """Return the value that begins with an event.

        Raises:
            FrontMatterError: when it is nested too deep, or not plain.
        """
        if depth > _MAX_DEPTH:  # the parser in C may have stopped before
            raise FrontMatterError(f"the front matter is nested deeper than {_MAX_DEPTH} levels")
        if self.is_strict:
            _check(event)
        if isinstance(event, ScalarEvent):
            return str(event.value)
        if isinstance(event, AliasEvent):
            return ""
        if isinstance(event, MappingStartEvent):
            return self._read_mapping(events, depth)
        items: list[FrontValue] = []
        while not isinstance(item := next(events), CollectionEndEvent):
            items.append(self.read(item, events, depth + 1))
        return items

    def _read_mapping(self, events: Iterator[Event], depth: int) -> FrontMatter:
        values: FrontMatter = {}
        while not isinstance(event := next(events), CollectionEndEvent):
            key = self.read(event, events, depth + 1)
            problem = _find_key_problem(event, key, values)
            if problem is not None and self.is_strict:
                raise FrontMatterError(problem)
            value = self.read(next(events), events, depth + 1)
            if problem is None:
                values[str(key)] = value
        return values


def _find_key_problem(event: Event, key: FrontValue, values: FrontMatter) -> str | None:
    if isinstance(event, ScalarEvent) and key == "<<" and not event.style:
        return "merge keys are not allowed"
    if not isinstance(key, str):
        return "a key of the front matter is not a text"
    return f"the key {key!r} is there twice" if key in values else None


def _check(event: Event) -> None:
    """Check that an event is plain YAML.

    Raises:
        FrontMatterError: when it is not.
    """
    line = 1 if event.start_mark is None else event.start_mark.line + 1
    if isinstance(event, AliasEvent) or (isinstance(event, NodeEvent) and event.anchor is not None):
        raise FrontMatterError(f"line {line}: anchors and aliases are not allowed")
    if isinstance(event, CollectionStartEvent) and event.flow_style:
        raise FrontMatterError(f"line {line}: braces and brackets are not allowed; write an entry per line")
    if getattr(event, "tag", None) is not None:
        raise FrontMatterError(f"line {line}: tags are not allowed")
