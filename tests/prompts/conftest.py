"""No test leaves a provider of prompts behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tactician.prompts import prompt_providers


@pytest.fixture(autouse=True)
def nobody_registered() -> Iterator[None]:
    prompt_providers.clear()
    yield
    prompt_providers.clear()
