"""YAML texts as data: what JSON could say as well, by the core schema of YAML 1.2, and with the lines of all of it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
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

from tactician.blueprint.limits import Limits
from tactician.blueprint.places import Path
from tactician.blueprint.texts import Data, Unreadable, check_size, too_deep, too_many

_TAG: Final = "tag:yaml.org,2002:"
_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BREAKS = re.compile(r"[\r\x85\u2028\u2029\ufeff]")
_NUMBER = {"int": int, "float": float}


def from_yaml(text: str, limits: Limits) -> Data:
    """The data of a YAML text.

    Raises:
        Unreadable: when it is not such a text, says something twice, or is too large.
    """
    return _read(text, limits).data


def lines_of(text: str, limits: Limits) -> Mapping[Path, int]:
    """The lines of all that is in a YAML text, from 1. Nothing of another text."""
    try:
        return _read(text, limits).lines
    except Unreadable:
        return {}


def to_yaml(data: Data) -> str:
    """Data as YAML, texts of several lines as blocks."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def _read(text: str, limits: Limits) -> _Reader:
    check_size(text, limits)
    reader = _Reader(limits)
    for event in _events(text):
        reader.take(event)
    return reader


def _events(text: str) -> Iterator[Event]:
    """The events of a text. PyYAML's own composer is recursive, in C, without a limit: it can be made to crash."""
    try:
        yield from yaml.parse(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Unreadable(f"it is not YAML: {error.problem}", None if mark is None else mark.line + 1) from error
    except (yaml.YAMLError, ValueError) as error:
        raise Unreadable(f"it is not YAML: {str(error).splitlines()[0]}") from error


@dataclass(slots=True)
class _Open:
    """A list or an object of which not everything was read."""

    made: dict[str, Data] | list[Data]
    path: Path
    anchor: str | None
    count: int
    key: str | None = field(default=None)


class _Reader:
    """Takes events. What an alias repeats counts each time, so that no text grows without bound."""

    def __init__(self, limits: Limits) -> None:
        self.data: Data = None
        self.lines: dict[Path, int] = {}
        self._limits = limits
        self._count = 0
        self._documents = 0
        self._open: list[_Open] = []
        self._known: dict[str, tuple[Data, int]] = {}

    def take(self, event: Event) -> None:
        """One more event."""
        line = 0 if event.start_mark is None else event.start_mark.line + 1
        if isinstance(event, DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise Unreadable("a second document begins; give each a file of its own", line)
        elif isinstance(event, CollectionEndEvent):
            self._close()
        elif isinstance(event, NodeEvent):
            self._node(event, line)

    def _node(self, event: NodeEvent, line: int) -> None:
        holder = self._open[-1] if self._open else None
        if holder is not None and isinstance(holder.made, dict) and holder.key is None:
            holder.key = self._key(event, holder.made, holder.path, line)
            self.lines[(*holder.path, holder.key)] = line
            return
        path = _next(holder)
        self.lines.setdefault(path, line)
        if isinstance(event, CollectionStartEvent):
            _check_tag(event, line, path)
            self._counted(1, line)
            if len(self._open) >= self._limits.depth:
                raise too_deep(self._limits, line)
            made: dict[str, Data] | list[Data] = {} if isinstance(event, MappingStartEvent) else []
            self._open.append(_Open(made, path, event.anchor, self._count))
        elif isinstance(event, AliasEvent):
            value, count = self._repeated(event, line, path)
            self._counted(count, line)
            self._add(value)
        elif isinstance(event, ScalarEvent):
            self._counted(1, line)
            scalar = _scalar(event, line, path)
            if event.anchor is not None:
                self._known[event.anchor] = scalar, 1
            self._add(scalar)

    def _close(self) -> None:
        done = self._open.pop()
        if done.anchor is not None:
            self._known[done.anchor] = done.made, self._count - done.count + 1
        self._add(done.made)

    def _add(self, value: Data) -> None:
        if not self._open:
            self.data = value
            return
        holder = self._open[-1]
        if isinstance(holder.made, list):
            holder.made.append(value)
        elif holder.key is not None:
            holder.made[holder.key] = value
            holder.key = None

    def _key(self, event: NodeEvent, taken: Mapping[str, Data], path: Path, line: int) -> str:
        if not isinstance(event, ScalarEvent) or (event.value == "<<" and not event.style):
            raise Unreadable("a name is a plain text here", line, path)
        if event.value in taken:
            raise Unreadable(f"{event.value!r} is said twice", line, path)
        return str(event.value)

    def _repeated(self, event: AliasEvent, line: int, path: Path) -> tuple[Data, int]:
        if (found := self._known.get(event.anchor or "")) is None:
            raise Unreadable(f"*{event.anchor} repeats what is not there", line, path)
        return found

    def _counted(self, count: int, line: int) -> None:
        self._count += count
        if self._count > self._limits.values:
            raise too_many(self._limits, line)


def _next(holder: _Open | None) -> Path:
    """The path of the next value."""
    if holder is None:
        return ()
    return (*holder.path, len(holder.made) if holder.key is None else holder.key)


def _check_tag(event: CollectionStartEvent, line: int, path: Path) -> None:
    usual = "map" if isinstance(event, MappingStartEvent) else "seq"
    if event.tag not in (None, "!", _TAG + usual):
        raise Unreadable(f"the tag {event.tag!r} means nothing here", line, path)


def _scalar(event: ScalarEvent, line: int, path: Path) -> Data:
    tag = None if event.tag is None else str(event.tag).removeprefix(_TAG)
    if tag in (None, "!", "str"):
        return plain(event.value, line, path) if tag is None and not event.style else str(event.value)
    value = plain(event.value, line, path)
    if tag in _NUMBER and type(value) is _NUMBER[tag]:
        return value
    raise Unreadable(f"the tag {event.tag!r} means nothing here", line, path)


def plain(text: str, line: int | None = None, path: Path = ()) -> Data:
    """What a text without quotes stands for: `yes` is a text, and so is `2026-01-01`.

    Raises:
        Unreadable: when it is a number of which a computer has none.
    """
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text) or _FALSE.fullmatch(text):
        return text.lower() == "true"
    kind = int if _INT.fullmatch(text) else float if _FLOAT.fullmatch(text) else None
    if kind is None:
        return text
    try:
        number = kind(text)
    except ValueError:  # of thousands of digits
        number = math.inf
    if isinstance(number, float) and math.isinf(number):
        raise Unreadable(f"{text[:40]} is too large a number", line, path)
    return number


class _Dumper(yaml.SafeDumper):
    """Writes no aliases, and texts of several lines as blocks."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # What is a text by YAML's older rules may be a number by ours; and PyYAML breaks lines where others do not.
    is_other = any(pattern.fullmatch(text) for pattern in (_NULL, _TRUE, _FALSE, _INT, _FLOAT))
    style = '"' if is_other or _BREAKS.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar(f"{_TAG}str", text, style=style)


_Dumper.add_representer(str, _text)
