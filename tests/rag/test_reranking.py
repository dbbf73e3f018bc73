"""Hits in the order of a model."""

from __future__ import annotations

import json

import pytest

from tactician.rag import Library, ModelReranker, parse_markdown
from tactician.testing import ScriptedModel
from tests.rag.store_conformance import RETURNS, titles


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([2, 1, 3], (1, 0, 2)),
        ([3], (2, 0, 1)),
        ([9, 2, 2, 0, -1], (1, 0, 2)),
        ([], (0, 1, 2)),
    ],
)
async def test_a_model_orders_hits_and_cannot_add_or_drop_any(numbers: list[int], expected: tuple[int, ...]) -> None:
    async with Library() as plain:
        await plain.add(parse_markdown(RETURNS, "orders.md"))
        before = await plain.search("gift card refund buy")
        model = ScriptedModel(json.dumps({"numbers": numbers}))
        library = Library(plain.store, reranker=ModelReranker(model))
        after = await library.search("gift card refund buy")
        assert titles(after) == [titles(before)[place] for place in expected]
        assert [hit.score for hit in after] == [hit.score for hit in before]


async def test_the_best_of_more_candidates_are_returned() -> None:
    async with Library() as plain:
        await plain.add(parse_markdown(RETURNS, "orders.md"))
        before = await plain.search("gift card refund buy")
        library = Library(plain.store, reranker=ModelReranker(ScriptedModel('{"numbers": [3]}')))
        assert titles(await library.search("gift card refund buy", top_k=1)) == titles(before)[2:]


async def test_a_single_hit_needs_no_model() -> None:
    async with Library(reranker=ModelReranker(ScriptedModel())) as library:
        await library.add(parse_markdown(RETURNS, "orders.md"))
        assert titles(await library.search("parcel")) == ["Returns"]
