"""Front matter of `SKILL.md`: YAML between two lines `---`, of which all values are texts."""

from __future__ import annotations

from collections.abc import Iterator
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

FrontValue: TypeAlias = "str | list[FrontValue] | dict[str, FrontValue]"
FrontMatter: TypeAlias = dict[str, FrontValue]
_MARK: Final = "---"
_LONGEST: Final = 64_000
_MAX_DEPTH: Final = 20


class FrontMatterError(TacticianError, ValueError):
    """The front matter of a `SKILL.md` is missing or cannot be read."""


def split_front_matter(content: str) -> tuple[FrontMatter, str]:
    """Return the front matter of a `SKILL.md`, and the instructions after it.

    The front matter ends at the next `---`, wherever it is. As in the reference validator, flow style, anchors, tags
    and repeated keys are refused.

    Raises:
        FrontMatterError: when it is missing or cannot be read.
    """
    if not content.startswith(_MARK):
        raise FrontMatterError("SKILL.md must start with front matter: a line '---'")
    parts = content.split(_MARK, 2)
    if len(parts) < 3:
        raise FrontMatterError("the front matter is not closed by a line '---'")
    if len(parts[1]) > _LONGEST:
        raise FrontMatterError(f"the front matter is longer than {_LONGEST} characters")
    value = _parse(parts[1])
    if not isinstance(value, dict):
        raise FrontMatterError("the front matter must be a mapping, such as 'name: my-skill'")
    return value, parts[2].strip()


def _parse(text: str) -> FrontValue:
    try:
        events = iter([event for event in yaml.parse(text, Loader=yaml.SafeLoader) if not _is_frame(event)])
        first = next(events, None)
        value = "" if first is None else _read(first, events, 0)
        if next(events, None) is not None:
            raise FrontMatterError("the front matter must be a single document")
    except yaml.YAMLError as error:
        raise FrontMatterError(f"the front matter is not valid YAML: {' '.join(str(error).split())}") from error
    return value


def _is_frame(event: Event) -> bool:
    """Return whether an event is the beginning or the end of a stream or a document."""
    return not isinstance(event, NodeEvent | CollectionEndEvent)


def _read(event: Event, events: Iterator[Event], depth: int) -> FrontValue:
    _check(event, depth)
    if isinstance(event, ScalarEvent):
        return str(event.value)
    if isinstance(event, MappingStartEvent):
        return _read_mapping(events, depth)
    items: list[FrontValue] = []
    while not isinstance(item := next(events), CollectionEndEvent):
        items.append(_read(item, events, depth + 1))
    return items


def _read_mapping(events: Iterator[Event], depth: int) -> FrontMatter:
    values: FrontMatter = {}
    while not isinstance(event := next(events), CollectionEndEvent):
        key = _read(event, events, depth + 1)
        if isinstance(event, ScalarEvent) and key == "<<" and event.style is None:
            raise FrontMatterError("merge keys are not allowed")
        if not isinstance(key, str):
            raise FrontMatterError("a key of the front matter is not a text")
        if key in values:
            raise FrontMatterError(f"the key {key!r} is there twice")
        values[key] = _read(next(events), events, depth + 1)
    return values


def _check(event: Event, depth: int) -> None:
    """Check that an event is plain YAML.

    Raises:
        FrontMatterError: when it is not.
    """
    if depth > _MAX_DEPTH:
        raise FrontMatterError(f"the front matter is nested deeper than {_MAX_DEPTH} levels")
    line = 1 if event.start_mark is None else event.start_mark.line + 1
    if isinstance(event, AliasEvent) or (isinstance(event, NodeEvent) and event.anchor is not None):
        raise FrontMatterError(f"line {line}: anchors and aliases are not allowed")
    if isinstance(event, CollectionStartEvent) and event.flow_style:
        raise FrontMatterError(f"line {line}: braces and brackets are not allowed; write an entry per line")
    if getattr(event, "tag", None) is not None:
        raise FrontMatterError(f"line {line}: tags are not allowed")
