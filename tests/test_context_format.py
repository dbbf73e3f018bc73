"""Formats in which data is written for models."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import toon_format
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue

from tactician import ContextFormat, ContextFormatter
from tactician.context_format import JsonFormatter, ToonFormatter, load_formatter
from tactician.errors import ConfigurationError, MissingExtraError

ITEMS = '{"items":[{"sku":"A1","qty":2,"price":9.99},{"sku":"B2","qty":1,"price":14.5}]}'
TABLE = "items[2]{sku,qty,price}:\n  A1,2,9.99\n  B2,1,14.5"


class Order(BaseModel):
    sku: str
    day: date


@dataclass
class Note:
    text: str


def test_toon_is_the_example_of_the_post() -> None:
    assert load_formatter(ContextFormat.TOON).format_json(ITEMS) == TABLE
    assert load_formatter(ContextFormat.TOON).format(json.loads(ITEMS)) == TABLE


_NAMES: Mapping[str, str] = {"indentSize": "indent", "delimiter": "delimiter"}


def list_fixtures() -> Iterator[object]:
    """Yield the conformance fixtures of the specification, with the options of the encoder that they need."""
    for path in sorted((Path(__file__).parent / "toon").glob("*.json")):
        for fixture in json.loads(path.read_text("utf-8"))["tests"]:
            options = {_NAMES[name]: value for name, value in fixture.get("options", {}).items()}
            yield pytest.param(fixture["input"], fixture["expected"], options, id=f"{path.stem}: {fixture['name']}")


@pytest.mark.parametrize(("value", "expected", "options"), list(list_fixtures()))
def test_toon_conforms_to_the_specification(value: JsonValue, expected: str, options: Mapping[str, Any]) -> None:
    toon = ToonFormatter(**options)
    if isinstance(value, str):  # which alone stays as it is
        assert toon.format({"value": value}) == f"value: {expected}"
    else:
        assert toon.format(value) == expected
    if isinstance(value, dict | list):
        assert toon.format_json(json.dumps(value)) == expected


def test_all_fixtures_of_the_specification_are_there() -> None:
    assert len(list(list_fixtures())) == 173


def test_the_encoder_has_the_options_of_the_library() -> None:
    assert ToonFormatter(delimiter="|").format_json(ITEMS) == TABLE.replace(",", "|").replace("[2]", "[2|]")
    assert ToonFormatter(indent=4).format_json(ITEMS) == TABLE.replace("  ", "    ")
    assert repr(ToonFormatter(delimiter="\t")) == r"ToonFormatter(indent=2, delimiter='\t')"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"indent": 0}, "The indentation of TOON is 1 to 16 spaces, not 0"),
        ({"indent": True}, "The indentation of TOON is 1 to 16 spaces, not True"),
        ({"delimiter": ";"}, r"The delimiter of TOON is one of ',', '\t', '|', not ';'"),
        ({"delimiter": ["|"]}, r"The delimiter of TOON is one of ',', '\t', '|', not ['|']"),
    ],
)
def test_other_options_are_mistakes(options: Mapping[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{re.escape(why)}$"):
        ToonFormatter(**options)


def test_a_table_takes_at_least_30_percent_less_in_toon() -> None:
    rows = json.dumps([{"name": f"n{n}", "price": n, "stock": n % 7} for n in range(50)], separators=(",", ":"))
    assert len(load_formatter(ContextFormat.TOON).format_json(rows)) < 0.7 * len(rows)


def test_json_leaves_json_text_as_it_is() -> None:
    formatter = load_formatter(ContextFormat.JSON)
    assert formatter.format_json(ITEMS) == ITEMS
    assert formatter.format_json('{"a":  1}') == '{"a":  1}'
    assert formatter.format(json.loads(ITEMS)) == ITEMS


@pytest.mark.parametrize(
    ("value", "as_json", "as_toon"),
    [
        (Order(sku="A1", day=date(2026, 1, 2)), '{"sku":"A1","day":"2026-01-02"}', "sku: A1\nday: 2026-01-02"),
        (Note("hello"), '{"text":"hello"}', "text: hello"),
        ([Note("a"), Note("b")], '[{"text":"a"},{"text":"b"}]', "[2]{text}:\n  a\n  b"),
        ({"n": None, "t": True}, '{"n":null,"t":true}', "n: null\nt: true"),
        ({"x": object}, '{"x":"<class \'object\'>"}', "x: <class 'object'>"),
        ("plain: text", "plain: text", "plain: text"),
        (7, "7", "7"),
    ],
)
def test_a_value_is_written_in_both_formats(value: object, as_json: str, as_toon: str) -> None:
    assert load_formatter(ContextFormat.JSON).format(value) == as_json
    assert load_formatter(ContextFormat.TOON).format(value) == as_toon


@pytest.mark.parametrize(
    ("value", "as_json", "as_toon"),
    [
        ({"a": "\ud800"}, r'{"a": "\ud800"}', r'{"a": "\ud800"}'),
        ([10**4_400], f"[1{'0' * 4_400}]", f"[1{'0' * 4_400}]"),
        (b"\xff\xfe", '"__4="', "__4="),
        ([{"a": b"\xff\xfe"}], '[{"a": "__4="}]', "[1]{a}:\n  __4="),
    ],
)
def test_what_has_no_form_of_its_own_is_still_written(value: object, as_json: str, as_toon: str) -> None:
    assert load_formatter(ContextFormat.JSON).format(value) == as_json
    assert load_formatter(ContextFormat.TOON).format(value) == as_toon


@pytest.mark.parametrize(
    "text",
    [
        *("", "plain text", "{not json}", "[1, 2", "42", '"text"', "null", "NaN", "[NaN]", "[" * 100_000),
        *("{'a': 1}", "{{name}}", "[link](http://x)", "\ud800"),
        '["' + "x" * 1_000_000 + '"]',
    ],
)
def test_what_is_not_an_object_or_a_list_stays_as_it_is(text: str) -> None:
    assert ToonFormatter().format_json(text) == text


_VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=6), inner, max_size=4),
        st.lists(st.fixed_dictionaries({"a": inner, "b": inner}), max_size=3),
    ),
    max_leaves=15,
)


@given(_VALUES)
def test_nothing_is_lost_in_toon(value: JsonValue) -> None:
    if not isinstance(value, str):
        assert toon_format.decode(ToonFormatter().format(value)) == value
    if isinstance(value, list | dict):
        assert toon_format.decode(ToonFormatter().format_json(json.dumps(value))) == value


def test_without_the_extra_toon_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "toon_format", None)
    with pytest.raises(MissingExtraError, match=r'TOON needs toon-format.*run: pip install ".\[toon\]"'):
        load_formatter(ContextFormat.TOON)
    assert isinstance(load_formatter(ContextFormat.JSON), JsonFormatter)


def test_toon_is_loaded_only_when_it_is_chosen() -> None:
    code = (
        "import sys; from tactician.context_format import ContextFormat, load_formatter\n"
        "load_formatter(ContextFormat.JSON).format({}); assert 'toon_format' not in sys.modules\n"
        "load_formatter(ContextFormat.TOON); assert 'toon_format' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_object_with_both_methods_is_a_formatter() -> None:
    class Shouting:
        def format(self, value: object) -> str:
            return str(value).upper()

        def format_json(self, text: str) -> str:
            return text.upper()

    shouting: ContextFormatter = Shouting()
    assert load_formatter(shouting) is shouting


@pytest.mark.parametrize("format", [None, 1, "xml", object(), {}, ToonFormatter, JsonFormatter])
def test_anything_else_is_not_a_format(format: object) -> None:
    with pytest.raises(ConfigurationError, match=r"is not (a ContextFormat|one of 'json', 'toon')"):
        load_formatter(format)  # type: ignore[arg-type]


def test_the_name_of_a_format_is_the_format() -> None:
    assert isinstance(load_formatter(ContextFormat("toon")), ToonFormatter)
