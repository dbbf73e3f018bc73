"""Templates of tasks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.ensemble.values.template import fill_template, find_names

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
TEXT = st.text(st.characters(exclude_characters="{}", exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("template", "names", "filled"),
    [
        ("", (), ""),
        ("Research {topic}", ("topic",), "Research <topic>"),
        ("{a}{b}{a}", ("a", "b"), "<a><b><a>"),
        ("{{literal}}", (), "{literal}"),
        ("{{literal}} {name}", ("name",), "{literal} <name>"),
        ('{"json": 1} {} { x } {1}', (), '{"json": 1} {} { x } {1}'),
        ("{open", (), "{open"),
        ("{ünder_score}", (), "{ünder_score}"),
    ],
)
def test_names_are_replaced_and_doubled_braces_are_literal(template: str, names: tuple[str, ...], filled: str) -> None:
    assert find_names(template) == names
    assert fill_template(template, {name: f"<{name}>" for name in names}) == filled


@given(st.lists(st.tuples(TEXT, NAMES, st.text())), TEXT)
def test_each_value_stands_unchanged_in_its_place(parts: list[tuple[str, str, str]], end: str) -> None:
    values = {name: value for _, name, value in parts}
    template = "".join(f"{text}{{{name}}}" for text, name, _ in parts) + end
    assert set(find_names(template)) == values.keys()
    assert fill_template(template, values) == "".join(f"{text}{values[name]}" for text, name, _ in parts) + end


@given(st.text())
def test_a_text_without_names_changes_only_in_literals(text: str) -> None:
    if not find_names(text) and "{{" not in text:
        assert fill_template(text, {}) == text
