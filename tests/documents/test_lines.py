"""The line of each value, in texts of all formats."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.documents.data import Data, DataPath
from tactician.documents.document import DataDocument, make_document, read_document, write_yaml
from tests.documents.texts import DATA, TABLES, TomlWriter, paths_in


def value_at(data: Data, path: DataPath) -> Data:
    """Return the value at a path."""
    for step in path:
        if isinstance(data, list) and isinstance(step, int):
            data = data[step]
        else:
            assert isinstance(data, dict)
            assert isinstance(step, str)
            data = data[step]
    return data


def marked(data: object) -> tuple[object, int]:
    """Return the data with a number of its own in the place of each value that holds no others, and their count."""
    count = 0

    def mark(value: object) -> object:
        nonlocal count
        if isinstance(value, dict) and value:
            return {name: mark(one) for name, one in value.items()}
        if isinstance(value, list) and value:
            return [mark(one) for one in value]
        count += 1
        return 10_000_000 + count

    return mark(data), count


def check_marks(document: DataDocument) -> int:
    """Check that each mark is in the line that the document says, and return how many there are."""
    lines, found = document.text.split("\n"), 0
    for path in paths_in(document.data):
        value = value_at(document.data, path)
        line = document.find_line(path)
        assert line is not None
        if isinstance(value, int):
            # YAML writes a name that is empty or long in a line of its own.
            assert str(value) in lines[line - 1] or re.match(r"[-: ]*\? ", lines[line - 1])
            found += 1
        else:
            inner = [document.find_line((*path, *one)) for one in paths_in(value) if one]
            assert all(line <= (one or 0) for one in inner)
    return found


@given(DATA, st.sampled_from([None, 0, 1, 4]))
def test_of_json(data: object, indent: int | None) -> None:
    made, count = marked(data)
    text = "\n" + json.dumps(made, indent=indent, ensure_ascii=not indent)
    assert check_marks(read_document(text, "json")) == count


@given(DATA)
def test_of_yaml(data: object) -> None:
    made, count = marked(data)
    text = "# a comment\n" + write_yaml(make_document(made).data)
    assert check_marks(read_document(text, "yaml")) == count


@given(TABLES)
def test_of_toml(table: dict[str, object]) -> None:
    writer = TomlWriter()
    document = read_document(writer.write(table), "toml")
    found = {path: document.find_line(path) for path in writer.lines}
    assert found == writer.lines
    assert set(paths_in(document.data)) <= found.keys()


TOML = """\
# comment [x]
title = "a = [1"

[server.paths]            # three
"quoted \\u0041" = 'x'
deep . 'er' = { a = 1, b = [ 1,
  { c = 2 } ] }

[[job]]
name = \"\"\"
x = 1
\"\"\"
[[job.step]]
run = '''
[no]'''
[[job]]
[[job.step]]
[[job.step]]
at = 1979-05-27 07:32:00
[server]
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 1),
        (("title",), 2),
        (("server",), 4),
        (("server", "paths"), 4),
        (("server", "paths", "quoted A"), 5),
        (("server", "paths", "deep"), 6),
        (("server", "paths", "deep", "er", "b"), 6),
        (("server", "paths", "deep", "er", "b", 1), 7),
        (("server", "paths", "deep", "er", "b", 1, "c"), 7),
        (("job",), 9),
        (("job", 0, "name"), 10),
        (("job", 0, "step", 0, "run"), 14),
        (("job", 1), 16),
        (("job", 1, "step", 1), 18),
        (("job", 1, "step", 1, "at"), 19),
        (("job", 7, "step"), 9),
        (("nowhere",), 1),
    ],
)
def test_of_a_toml_text(path: DataPath, line: int) -> None:
    assert read_document(TOML, "toml").find_line(path) == line


def test_of_what_is_not_there_is_that_of_what_is_around_it() -> None:
    document = read_document('{\n"a": {\n"b": [\n1,\n2]}}', "json")
    assert [document.find_line(path) for path in ((), ("a", "b", 1), ("a", "b", 2, "c"), ("a", "x"), ("x",))] == [
        1, 5, 3, 2, 1,
    ]  # fmt: skip


def test_of_an_alias_is_that_of_the_alias() -> None:
    document = read_document("a: &x\n  b: 1\nc: *x\n", "yaml")
    assert (document.find_line(("a", "b")), document.find_line(("c", "b"))) == (2, 3)


def test_data_of_a_program_has_none() -> None:
    assert make_document({"a": 1}).find_line(("a",)) is None
