"""What all tests share."""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tactician.llm.embedded import LOCAL_INSTALL_HINT, is_available
from tests.support.effort import EFFORT

# How long an example takes says nothing on a machine that does other things too. `make test` runs the same examples
# each time; `make soak` looks for new ones, and keeps those that fail in `.hypothesis`.
settings.register_profile(
    "tactician",
    max_examples=50 if EFFORT == 1 else 100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=EFFORT == 1,
)
settings.load_profile("tactician")


# Nothing of the thousands of tests becomes garbage before the last of them has run, so that nothing looks for it there.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from now on, but seldom: tests that measure memory say when."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.fixture(autouse=True, scope="module")
def earlier_modules_apart() -> Iterator[None]:
    """Look for garbage no more among what the tests of earlier modules have left: that takes a second each time."""
    yield
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the embedded model are skipped where it is not installed, except in CI, where it must be."""
    if is_available() or os.environ.get("CI"):
        return
    skip = pytest.mark.skip(reason=f"the embedded model is not installed: {LOCAL_INSTALL_HINT}")
    for item in items:
        if "embedded" in item.keywords:
            item.add_marker(skip)
