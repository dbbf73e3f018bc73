"""`${NAME}` in texts: replaced once, in linear time, and never in what replaces it."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.documents.document import write_yaml
from tactician.documents.scalars import parse_scalar
from tactician.documents.variables import Variable, escape_variables, find_variable, has_variables, substitute_variables
from tactician.errors import DocumentError

TEXTS = st.text(st.sampled_from("${}:-AB1_ é\n"), max_size=30)
# What substitution does, said as one pattern; which takes quadratic time.
PATTERN = re.compile(r"\$(\$)?\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\})?")


def shout(variable: Variable) -> str:
    return f"<{variable.name}|{variable.default}>" if variable.name else variable.text


def expected(match: re.Match[str]) -> str:
    escape, name, default = match.groups()
    return "${" if escape and not name else f"${match[0][2:]}" if escape else f"<{name}|{default}>" if name else "${"


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("plain $ { } $A", "plain $ { } $A"),
        ("${A}", "<A|None>"),
        ("x${A}${B:-c d}y", "x<A|None><B|c d>y"),
        ("${A:-}", "<A|>"),
        ("${A:-${B}}", "<A|${B>}"),
        ("${A:-x$${y}", "<A|x$${y>"),
        ("$${A}", "${A}"),
        ("$$${A}", "$${A}"),
        ("$${A:-${B}}", "${A:-<B|None>}"),
        ("${", "${"),
        ("${1}${é}${A B}${}", "${1}${é}${A B}${}"),
        ("${A:-never closed ${B", "${A:-never closed ${B"),
        ("${A:-x\n}", "<A|x\n>"),
    ],
)
def test_what_replaces_what(text: str, replaced: str) -> None:
    assert substitute_variables(text, shout) == replaced


def test_what_is_put_in_is_not_looked_at_again() -> None:
    assert substitute_variables("${A}{B}${A}", lambda _: "${B}$") == "${B}${B}${B}$"


@given(TEXTS)
def test_it_does_what_the_pattern_does(text: str) -> None:
    kept = substitute_variables(text, lambda variable: variable.text)
    assert kept == PATTERN.sub(lambda match: "${" + match[0][3:] if match[1] else match[0], text)
    names = [match[2] for match in PATTERN.finditer(text) if match[2] and not match[1]]
    assert has_variables(text) == bool(names)


@given(TEXTS | st.text())
def test_what_is_escaped_comes_back(text: str) -> None:
    escaped = escape_variables(text)
    assert substitute_variables(escaped, lambda variable: pytest.fail(variable.text)) == text
    assert not has_variables(escaped)


@given(TEXTS)
def test_a_variable_alone_is_all_of_the_text(text: str) -> None:
    found, match = find_variable(text), PATTERN.fullmatch(text)
    whole = match is not None and match[2] is not None and match[1] is None
    assert (found is not None) == whole
    if found is not None and match is not None:
        assert (found.text, found.name, found.default) == (text, match[2], match[3])


@pytest.mark.parametrize(
    "text",
    ["${A:-" * 300_000, "$" * 1_000_000, "${" * 500_000, "${" + "A" * 1_000_000, "${A}" * 250_000, "$${" * 300_000],
)
def test_a_large_text_takes_no_time(text: str) -> None:
    began = time.process_time()
    substitute_variables(text, shout)
    has_variables(text)
    find_variable(text)
    escape_variables(text)
    assert time.process_time() - began < 20  # what is quadratic takes an hour


class TestScalars:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("", None), ("~", None), ("null", None), ("true", True), ("FALSE", False), ("yes", "yes"), ("0700", 700),
            ("-1", -1), ("1.", 1.0), (".5", 0.5), ("1e3", 1000.0), ("1_000", "1_000"), ("2026-01-01", "2026-01-01"),
            (".nan", ".nan"), ("0x10", "0x10"), ("a b", "a b"),
        ],
    )  # fmt: skip
    def test_they_are_those_of_yaml(self, text: str, value: object) -> None:
        found = parse_scalar(text)
        assert (found, type(found)) == (value, type(value))

    @pytest.mark.parametrize("text", ["9" * 5_000, "-1e999", "9" * 400 + "."])
    def test_numbers_are_bounded(self, text: str) -> None:
        with pytest.raises(DocumentError, match="is too large a number"):
            parse_scalar(text)

    @given(st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False))
    def test_what_yaml_writes_is_read(self, value: float | None) -> None:
        assert parse_scalar(write_yaml(value).removesuffix("\n...\n").removesuffix("\n")) == value
