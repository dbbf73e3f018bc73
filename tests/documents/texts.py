"""Random data, and TOML texts of it whose lines are known."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from hypothesis import strategies as st

from tactician.documents.data import DataPath

TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
NAMES = st.sampled_from(["a", "b", "c", "d-e", "f_1"]) | TEXTS
SCALARS = st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
DATA = st.recursive(
    st.none() | SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
TABLES: st.SearchStrategy[dict[str, object]] = st.dictionaries(
    NAMES,
    VALUES
    | st.dictionaries(NAMES, VALUES, max_size=3)
    | st.lists(st.dictionaries(NAMES, VALUES, max_size=3), min_size=1, max_size=3),
    max_size=4,
)


def paths_in(data: object, path: DataPath = ()) -> Iterator[DataPath]:
    """Yield the paths of all values in data, and that of the whole."""
    yield path
    for step, inner in _items(data):
        yield from paths_in(inner, (*path, step))


def _items(data: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(data, Mapping):
        yield from data.items()
    elif isinstance(data, list):
        yield from enumerate(data)


class TomlWriter:
    """Writes a table as TOML, tables with headers, and arrays over several lines. It notes the line of each value."""

    def __init__(self) -> None:
        self.lines: dict[DataPath, int] = {(): 1}
        self._text = "# [ = \n"

    def write(self, table: Mapping[str, object]) -> str:
        """Return the text."""
        plain = {name: value for name, value in table.items() if not _is_table(value) and not _is_array(value)}
        for name, value in plain.items():
            self._entry((name,), name, value)
        for name, value in table.items():
            if _is_array(value) and isinstance(value, list):
                self._array(name, value)
            elif _is_table(value) and isinstance(value, Mapping):
                self._add(f"# [{name!r}]\n\n" if name.isprintable() else "\n")
                self._note((name,))
                self._add(f"[ {_quote(name)} ]  # [x]\n")
                for inner, one in value.items():
                    self._entry((name, inner), inner, one)
        return self._text

    def _array(self, name: str, tables: list[object]) -> None:
        for place, table in enumerate(tables):
            self.lines.setdefault((name,), self._line)
            self._note((name, place))
            self._add(f"[[{_quote(name)}]]\n")
            assert isinstance(table, Mapping)
            for inner, one in table.items():
                self._entry((name, place, inner), inner, one)

    def _entry(self, path: DataPath, name: str, value: object) -> None:
        self._note(path)
        self._add(f"{_quote(name)} = ")
        self._value(path, value)
        self._add("\n")

    def _value(self, path: DataPath, value: object) -> None:
        if isinstance(value, list):
            self._add("[ # ]\n")
            for place, one in enumerate(value):
                self._note((*path, place))
                self._value((*path, place), one)
                self._add(" ,\n")
            self._add("]")
        elif isinstance(value, Mapping):
            self._add("{")
            for place, (name, one) in enumerate(value.items()):
                self._add(", " if place else "")
                self._note((*path, name))
                self._add(f"{_quote(name)}=")
                self._value((*path, name), one)
            self._add("}")
        elif isinstance(value, str) and "\n" in value and _is_literal(value):
            self._add(f"'''\n{value}'''")
        else:
            self._add(json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f"))

    def _note(self, path: DataPath) -> None:
        self.lines[path] = self._line

    def _add(self, text: str) -> None:
        self._text += text

    @property
    def _line(self) -> int:
        return self._text.count("\n") + 1


def write_toml(table: Mapping[str, object]) -> str:
    """Return a table as TOML."""
    return TomlWriter().write(table)


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_array(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, Mapping) for one in value)


def _is_literal(text: str) -> bool:
    return "'" not in text and all(letter == "\n" or letter.isprintable() for letter in text)


def _quote(name: str) -> str:
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
