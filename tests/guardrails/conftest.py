"""Guardrails that a test names are known to that test only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tactician.guardrails.registration import registry


@pytest.fixture(autouse=True)
def own_names() -> Iterator[None]:
    with registry.isolate():
        yield
