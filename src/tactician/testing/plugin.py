"""Pytest plugin: fixtures for tests of agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tactician.platform import Platform
    from tactician.testing.scripted import ScriptedModel


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marker."""
    config.addinivalue_line("markers", "eval_cases(dataset): run a test for each case, as the fixture `eval_case`")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each case of a data set."""
    marker = metafunc.definition.get_closest_marker("eval_cases")
    if marker is None or "eval_case" not in metafunc.fixturenames:
        return
    from tactician.testing.eval_cases import list_eval_cases

    cases = list_eval_cases(marker.args[0], metafunc.definition.path.parent)
    metafunc.parametrize("eval_case", cases, ids=[case.name for case in cases])


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
