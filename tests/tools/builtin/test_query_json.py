"""Paths into JSON."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from tactician.errors import ToolError
from tactician.tools import query_json
from tests.tools.builtin.support import call

DATA = json.dumps(
    {
        "items": [{"name": "tea", "price": 3.5, "tags": ["hot"]}, {"name": "cake", "tags": []}, {"price": 2}],
        "shop": {"open": True, "owner": None, "opening hours": {"mon": "9-5"}, "a.b": 1, "0": "zero"},
        "grid": [[1, 2], [3, 4]],
    }
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("items[1].name", "cake"),
        ("items[0].price", "3.5"),
        ("items[-1]", '{"price":2}'),
        ("items[*].name", '["tea","cake"]'),
        ("items[0:2].name", '["tea","cake"]'),
        ("items[1:].price", "[2]"),
        ("items[:1]", '[{"name":"tea","price":3.5,"tags":["hot"]}]'),
        ("grid[*][0]", "[1,3]"),
        ("grid[*][*]", "[[1,2],[3,4]]"),
        ("grid[1][0]", "3"),
        ("shop.open", "true"),
        ("shop.owner", "null"),
        ('shop["opening hours"].mon', "9-5"),
        ("shop['a.b']", "1"),
        ("shop.0", "zero"),
        ("shop.*", '[true,null,{"mon":"9-5"},1,"zero"]'),
        ("$.shop.open", "true"),
        ("$", None),
        ("", None),
        (" items[0].name ", "tea"),
        ('["items"][0]["name"]', "tea"),
    ],
)
async def test_a_path_leads_to_a_part(path: str, value: str | None) -> None:
    found = await call(query_json, data=DATA, path=path)
    assert found == value if value is not None else json.loads(found) == json.loads(DATA)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("shop.opne", r"shop has no 'opne'. Did you mean 'open'\? Keys: open, owner"),
        ("prices", r"The whole has no 'prices'. .*Keys: items, shop, grid"),
        ("items[3]", r"items has 3 items, so there is no \[3\]"),
        ("items[-4]", "has 3 items"),
        ("items.name", "items is a list, not an object"),
        ("shop[0]", "shop is an object, not a list"),
        ("shop.open.now", "shop.open is true or false, not an object"),
        ("shop.owner[*]", "shop.owner is null, not a list"),
        ("items[0].name[1:2]", r"items\[0\].name is text, not a list"),
        ("shop[0:1]", "shop is an object, not a list"),
    ],
)
def test_a_path_that_leads_nowhere_says_where_it_ends(path: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        query_json(DATA, path)


@pytest.mark.parametrize(
    "path",
    [
        "items[",
        "items[x]",
        "items]",
        "a..b",
        "a b",
        "items[1]name",
        "items[?(@.a)]",
        "..",
        '["a',
        "x" * 1_001,
        "[1:2:3]",
    ],
)
def test_a_path_that_is_not_valid_is_an_error(path: str) -> None:
    with pytest.raises(ToolError, match=r"The path .*(is not valid|longer)"):
        query_json(DATA, path)


@pytest.mark.parametrize("data", ["", "{", "{'a': 1}", "[" * 100_000, "NaN", '{"a": Infinity}', "x" * 5_000_001])
def test_what_is_not_json_is_an_error(data: str) -> None:
    with pytest.raises(ToolError, match="The data is"):
        query_json(data, "a")


def test_an_error_lists_few_of_many_keys() -> None:
    with pytest.raises(ToolError, match="and 980 more") as caught:
        query_json(json.dumps({f"k{n}": n for n in range(1_000)}), "zzz")
    assert len(str(caught.value)) < 500


def test_an_error_shows_the_beginnings_of_long_keys() -> None:
    with pytest.raises(ToolError, match="Keys: kkk") as caught:
        query_json(json.dumps({"k" * 100_000: 1}), "zzz")
    assert len(str(caught.value)) < 500


def test_items_without_a_part_are_left_out_wherever_it_is_missing() -> None:
    items = [{"a": {"b": 1}}, {"a": {}}, {"a": 2}, {}, 3, {"a": [{"b": 4}]}]
    assert query_json(json.dumps(items), "[*].a.b") == "[1]"
    assert query_json(json.dumps(items), "[*].a[0].b") == "[4]"


def test_a_number_that_is_too_large_is_still_json() -> None:
    assert json.loads(query_json('{"a": [1e999]}', "a")) == ["Infinity"]


async def test_other_work_goes_on_while_much_data_is_read() -> None:
    begun: list[str] = []
    other = asyncio.create_task(append_later(begun))
    await call(query_json, data="[" + "0," * 200_000 + "0]", path="[*]")
    assert begun == ["other work"]
    await other


async def append_later(begun: list[str]) -> None:
    begun.append("other work")


_KEYS = st.text(min_size=1, max_size=8)
_VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_KEYS, inner, max_size=4)),
    max_leaves=12,
)


@given(_VALUES, st.data())
def test_every_part_is_found_by_its_path(value: JsonValue, data: st.DataObject) -> None:
    text, path, found = json.dumps(value), "$", value
    while isinstance(found, list | dict) and found and data.draw(st.booleans()):
        if isinstance(found, list):
            index = data.draw(st.integers(-len(found), len(found) - 1))
            path, found = f"{path}[{index}]", found[index]
        else:
            key = data.draw(st.sampled_from(sorted(found)))
            path, found = f"{path}[{json.dumps(key)}]", found[key]
    told = query_json(text, path)
    assert told == found if isinstance(found, str) else json.loads(told) == found


@given(st.text(alphabet="ab[]*.:'\"$-01 ", max_size=20))
def test_any_path_has_a_value_or_a_reason(path: str) -> None:
    with suppress(ToolError):
        assert query_json('{"a": [{"b": [0, 1]}, 2], "b": {"a": "x"}}', path)
