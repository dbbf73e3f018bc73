"""The store in memory."""

from collections.abc import Callable

import pytest

from tactician.runs import MemoryRuns, RunStore
from tests.stores.conformance import RunStoreConformance


class TestMemoryRuns(RunStoreConformance):
    @pytest.fixture
    async def opened(self) -> Callable[[], RunStore]:
        store = MemoryRuns()
        return lambda: store
