"""TOML texts as bounded data. The line of each value is located on demand."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator

from tactician.documents.data import (
    Data,
    DocumentLimits,
    UnreadableTextError,
    check_data,
    check_text,
    create_depth_error,
)
from tactician.documents.json_text import parse_float
from tactician.documents.lines import Place

_TOKEN = re.compile(
    r"""\#[^\n]*+
    | \"\"\" (?:[^"\\]|\\.|"(?!""))*+ "{0,5}
    | ''' (?:[^']|'(?!''))*+ '{0,5}
    | " (?:[^"\\\n]|\\.)*+ "?
    | ' [^'\n]*+ '?
    | [\[\]{}=,.\n]
    | [^\s\#"'\[\]{}=,.]++""",
    re.DOTALL | re.VERBOSE,
)
_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def parse_toml(text: str, limits: DocumentLimits) -> Data:
    """Return the data of a TOML text. Values without a JSON form are texts: dates, times, `nan` and `inf`.

    Raises:
        UnreadableTextError: when the text is not TOML, has a name twice in a table, or exceeds the limits.
    """
    check_text(text, limits)
    _check_depth(text, limits)
    try:
        data = _convert(tomllib.loads(text, parse_float=_parse_number))
    except tomllib.TOMLDecodeError as error:
        match = _LINE.search(message := str(error))
        line = int(match[1]) if match and match[1] else text.count("\n") + 1
        raise UnreadableTextError(f"it is not TOML: {_LINE.sub('', message)}", line) from None
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits
        raise UnreadableTextError(f"it is not TOML: {error}") from None
    check_data(data, limits)
    return data


def locate_toml(text: str) -> Place:
    """Return the places of all values in a TOML text."""
    return _Locator(text).locate()


def _check_depth(text: str, limits: DocumentLimits) -> None:
    """Check the depth before `tomllib` reads the text: `tomllib` is recursive, and quadratic in the dots of a name."""
    brackets = dots = 0
    for token, line in _tokens(text):
        match token:
            case "[" | "{":
                brackets += 1
            case "]" | "}":
                brackets -= 1
            case ".":
                dots += 1
            case "\n" | "=" | ",":
                dots = 0
        if brackets + dots > limits.depth:
            raise create_depth_error(limits, line)


def _parse_number(token: str) -> float | str:
    return token if token.endswith(("nan", "inf")) else parse_float(token)


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line = 1
    for match in _TOKEN.finditer(text):
        if not (token := match[0]).startswith("#"):
            yield token, line
        line += token.count("\n")


def _convert(value: object) -> Data:
    if isinstance(value, dict):
        return {name: _convert(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_convert(item) for item in value]
    return value if isinstance(value, str | int | float) else str(value)


class _Locator:
    """Locator of the values in a valid TOML text."""

    def __init__(self, text: str) -> None:
        self._tokens = [*_tokens(text), ("\n", 0)]
        self._next = 0
        self._root = Place(1)

    def locate(self) -> Place:
        """Return the places of all values."""
        table = self._root
        while self._next < len(self._tokens):
            if self._peek() == "\n":
                self._next += 1
            elif self._peek() == "[":
                table = self._header()
            else:
                self._entry(table)
        return self._root

    def _header(self) -> Place:
        line, self._next = self._tokens[self._next][1], self._next + 1
        if is_item := self._peek() == "[":
            self._next += 1
        *parents, name = self._names("]")
        self._next += is_item
        place = _reach(self._root, parents, line)
        return place.inner.setdefault(name, Place(line)).add_item(line) if is_item else _reach(place, [name], line)

    def _entry(self, table: Place) -> None:
        line = self._tokens[self._next][1]
        *parents, name = self._names("=")
        _reach(table, parents, line).inner[name] = place = Place(line)
        self._value(place)

    def _value(self, place: Place) -> None:
        match self._peek():
            case "[":
                self._each("]", lambda: self._value(place.add_item(self._tokens[self._next][1])))
            case "{":
                self._each("}", lambda: self._entry(place))
            case _:
                while self._peek() not in ("\n", ",", "]", "}"):
                    self._next += 1

    def _each(self, end: str, read: Callable[[], None]) -> None:
        self._next += 1
        while (token := self._peek()) != end:
            if token in ("\n", ","):
                self._next += 1
            else:
                read()
        self._next += 1

    def _names(self, end: str) -> list[str]:
        names = []
        while (token := self._take()) != end:
            if token != ".":
                names.append(_unquote(token))
        return names

    def _peek(self) -> str:
        return self._tokens[self._next][0]

    def _take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1][0]


def _reach(place: Place, names: list[str], line: int) -> Place:
    """Return the place of a table; of an array of tables, the place of its last table."""
    for name in names:
        place = place.inner.setdefault(name, Place(line))
        if isinstance(last := next(reversed(place.inner), None), int):
            place = place.inner[last]
    return place


def _unquote(token: str) -> str:
    if token[0] not in "\"'":
        return token
    return str(tomllib.loads(f"name = {token}")["name"]) if "\\" in token else token[1:-1]
