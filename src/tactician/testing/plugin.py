"""Pytest plugin: fixtures for tests of agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tactician.platform import Platform
    from tactician.testing.scripted import ScriptedModel


@pytest.fixture
def scripted_model() -> Iterator[ScriptedModel]:
    """Provide a `ScriptedModel` without steps; add some with `script` or `when`. The test fails if steps remain."""
    from tactician.testing.scripted import ScriptedModel

    model = ScriptedModel()
    yield model
    model.assert_exhausted()


@pytest.fixture
def scripted_platform(scripted_model: ScriptedModel) -> Platform:
    """Provide a `Platform` in which every model is the `scripted_model`."""
    from tactician.platform import Platform

    return Platform(models=scripted_model)
