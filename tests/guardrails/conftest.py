"""Guardrails that a test names are known to that test only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tactician import guardrails


@pytest.fixture(autouse=True)
def own_names() -> Iterator[None]:
    with guardrails.registry.isolate():
        yield
