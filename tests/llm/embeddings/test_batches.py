"""Texts are split without losing, doubling or moving one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tactician.llm.embeddings.batching import check_sizes, split_batches
from tactician.llm.embeddings.model import BatchLimits, EmbeddingOptions

TEXTS = st.lists(st.text(min_size=1, max_size=20).filter(lambda text: text.isprintable()), max_size=30)


@given(TEXTS, st.integers(1, 5), st.integers(1, 40))
def test_the_batches_are_the_texts_and_hold_what_the_limits_allow(texts: list[str], most: int, size: int) -> None:
    limits = BatchLimits(texts=most, bytes=size)
    found = [list(one) for one in split_batches(texts, check_sizes(texts, EmbeddingOptions(), "m"), limits)]

    assert [text for one in found for text in one] == texts
    assert all(1 <= len(one) <= most for one in found)
    assert all(len("".join(one).encode()) <= size for one in found if len(one) > 1)
