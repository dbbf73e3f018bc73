"""The lines of all that is in a JSON text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tactician.blueprint.places import Path

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|\n|[^\s\[\]{}:,"]+')


@dataclass(slots=True)
class _Open:
    """An object or a list that goes on."""

    path: Path
    is_object: bool
    key: str | None = None
    count: int = 0

    @property
    def inner(self) -> Path:
        """The path of the next value."""
        return (*self.path, self.count if not self.is_object else self.key or "")


def lines_of_json(text: str) -> Mapping[Path, int]:
    """The lines of all names and values in a JSON text, from 1; those before the first mistake in another text."""
    return dict(_lines(text))


def _lines(text: str) -> Iterator[tuple[Path, int]]:
    line, around = 1, list[_Open]()
    for match in _TOKEN.finditer(text):
        token, here = match[0], around[-1] if around else None
        if token == "\n":
            line += 1
        elif token == "," and here is not None:
            here.key, here.count = None, here.count + 1
        elif token in "]}":
            if not around:
                return
            around.pop()
        elif here is not None and here.is_object and here.key is None and token[0] == '"':
            here.key = _name(token)
            yield here.inner, line
        elif token not in ":,":
            path = here.inner if here is not None else ()
            if here is None or not here.is_object:
                yield path, line
            if token in "[{":
                around.append(_Open(path, token == "{"))


def _name(token: str) -> str:
    try:
        return str(json.loads(token, strict=False))
    except ValueError:
        return token
