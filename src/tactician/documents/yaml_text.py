"""YAML texts as bounded data: values with a JSON form, by the core schema of YAML 1.2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)

from tactician.documents.data import (
    Data,
    DataPath,
    DocumentLimits,
    UnreadableTextError,
    check_text,
    create_depth_error,
    create_size_error,
)
from tactician.documents.lines import Place, PlaceBuilder
from tactician.documents.scalars import is_plain_text, parse_scalar

_TAG: Final = "tag:yaml.org,2002:"
_BREAKS = re.compile(r"[\r\x85\u2028\u2029\ufeff]")
_TOO_DEEP: Final = "exceeded maximum nesting depth"
_NUMBER = {"int": int, "float": float}


def parse_yaml(text: str, limits: DocumentLimits) -> Data:
    """Return the data of a YAML text.

    Raises:
        UnreadableTextError: when the text is not YAML, has a name twice in an object, or exceeds the limits.
    """
    check_text(text, limits)
    reader = _Reader(limits)
    for event in _parse_events(text, limits):
        reader.take(event)
    return reader.data


def locate_yaml(text: str) -> Place:
    """Return the places of all values in a YAML text. An alias is a single place, whatever it repeats."""
    builder = PlaceBuilder()
    for event in _parse_events(text, DocumentLimits()):
        line = _line_of(event)
        if isinstance(event, CollectionStartEvent):
            builder.open(line, is_object=isinstance(event, MappingStartEvent))
        elif isinstance(event, CollectionEndEvent):
            builder.close()
        elif isinstance(event, ScalarEvent) and builder.expects_name:
            builder.name(str(event.value), line)
        elif isinstance(event, NodeEvent):
            builder.value(line)
    return builder.root


def dump_yaml(data: Data) -> str:
    """Return data as YAML, with multi-line texts as blocks."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def _parse_events(text: str, limits: DocumentLimits) -> Iterator[Event]:
    """Yield the events of a text. PyYAML's own composer is recursive, in C, without a limit: a text can crash it."""
    try:
        yield from yaml.parse(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:  # an exception that holds a part of the text
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        if error.problem == _TOO_DEEP:  # newer parsers read ahead, and refuse a text before its levels can be counted
            raise create_depth_error(limits, line) from None
        raise UnreadableTextError(f"it is not YAML: {error.problem}", line) from None
    except (yaml.YAMLError, ValueError) as error:
        raise UnreadableTextError(f"it is not YAML: {str(error).splitlines()[0]}") from None


def _line_of(event: Event) -> int:
    return 1 if event.start_mark is None else int(event.start_mark.line) + 1


@dataclass(slots=True)
class _Open:
    """Object or list that has not ended."""

    content: dict[str, Data] | list[Data]
    anchor: str | None
    count: int
    name: str | None = None

    @property
    def expects_name(self) -> bool:
        return isinstance(self.content, dict) and self.name is None

    def add(self, value: Data) -> None:
        if isinstance(self.content, list):
            self.content.append(value)
        elif self.name is not None:
            self.content[self.name] = value
            self.name = None

    @property
    def step(self) -> DataPath:
        """Path step of the next value."""
        return (len(self.content),) if isinstance(self.content, list) else () if self.name is None else (self.name,)


class _Reader:
    """Builder of data from events. Values that an alias repeats count each time, which bounds the size."""

    def __init__(self, limits: DocumentLimits) -> None:
        self.data: Data = None
        self._limits = limits
        self._count = 0
        self._documents = 0
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Data, int]] = {}

    def take(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise UnreadableTextError("a second document begins; give each a file of its own", _line_of(event))
        elif isinstance(event, CollectionEndEvent):
            self._close()
        elif isinstance(event, NodeEvent):
            if self._open and self._open[-1].expects_name:
                self._open[-1].name = self._name(event)
            else:
                self._value(event)

    def _name(self, event: NodeEvent) -> str:
        if not isinstance(event, ScalarEvent) or (event.value == "<<" and not event.style):
            raise self._error("a name is a plain text here", event)
        if event.value in self._open[-1].content:
            raise self._error(f"{event.value[:80]!r} appears twice", event)
        return str(event.value)

    def _value(self, event: NodeEvent) -> None:
        if isinstance(event, CollectionStartEvent):
            self._open_collection(event)
        elif isinstance(event, AliasEvent):
            if (target := self._anchors.get(event.anchor or "")) is None:
                raise self._error(f"*{event.anchor} repeats what is not there", event)
            value, count = target
            self._add_to_count(count, event)
            self._add(value)
        elif isinstance(event, ScalarEvent):
            self._add_to_count(1, event)
            scalar = self._scalar(event)
            if event.anchor is not None:
                self._anchors[event.anchor] = scalar, 1
            self._add(scalar)

    def _open_collection(self, event: CollectionStartEvent) -> None:
        is_object = isinstance(event, MappingStartEvent)
        if event.tag not in (None, "!", _TAG + ("map" if is_object else "seq")):
            raise self._error(f"the tag {event.tag!r} means nothing here", event)
        self._add_to_count(1, event)
        if len(self._open) >= self._limits.depth:
            raise create_depth_error(self._limits, _line_of(event))
        self._open.append(_Open({} if is_object else [], event.anchor, self._count))

    def _close(self) -> None:
        done = self._open.pop()
        if done.anchor is not None:
            self._anchors[done.anchor] = done.content, self._count - done.count + 1
        self._add(done.content)

    def _add(self, value: Data) -> None:
        if self._open:
            self._open[-1].add(value)
        else:
            self.data = value

    def _scalar(self, event: ScalarEvent) -> Data:
        text = str(event.value)
        tag = None if event.tag is None else str(event.tag).removeprefix(_TAG)
        if tag in ("!", "str") or (tag is None and event.style):
            return text
        try:
            value = parse_scalar(text)
        except UnreadableTextError as error:
            raise self._error(error.message, event) from None
        if tag is None or (tag in _NUMBER and type(value) is _NUMBER[tag]):
            return value
        raise self._error(f"the tag {event.tag!r} means nothing here", event)

    def _add_to_count(self, count: int, event: Event) -> None:
        self._count += count
        if self._count > self._limits.values:
            raise create_size_error(self._limits, _line_of(event))

    def _error(self, message: str, event: Event) -> UnreadableTextError:
        path = tuple(step for collection in self._open for step in collection.step)
        return UnreadableTextError(message, _line_of(event), path)


class _Dumper(yaml.SafeDumper):
    """Dumper without aliases, and with multi-line texts as blocks."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # A text by YAML's older rules may be a number by ours; and PyYAML breaks lines where others do not.
    style = '"' if not is_plain_text(text) or _BREAKS.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar(f"{_TAG}str", text, style=style)


_Dumper.add_representer(str, _represent_text)
