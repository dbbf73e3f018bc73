"""What the tests of processes share."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture
def old_garbage_apart() -> Iterator[None]:
    """Collect garbage as programs do, so that no collection is long: only what the test itself makes is looked at."""
    seldom = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(700, 10, 10)
    assert gc.isenabled()
    yield
    gc.set_threshold(*seldom)
