"""Tool groups beside a platform: those of a service, and those of the default platform."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tactician import Ai, Platform, ToolGroup
from tactician.llm.catalog import load_default_models
from tactician.platform import platform as module
from tactician.runs import RunContext
from tactician.service import AgentService
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools.group_registry import ToolGroups


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


MATH = ToolGroup("math", [add])


async def test_a_service_has_groups() -> None:
    model = ScriptedModel(ToolCall("add", a=3, b=4), "It is 7.")
    service = AgentService(Platform(model, tool_groups=[MATH]))
    assert await Ai(service.context()).with_tool_group("math").generate_text("3 + 4?") == "It is 7."
    assert model.calls[0].tools[0].name == "add"


@pytest.fixture
def fresh() -> Iterator[None]:
    """A default platform that nobody has used, before and afterwards."""
    for cached in (module._default, load_default_models):
        cached.cache_clear()
    yield
    for cached in (module._default, load_default_models):
        cached.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_runs_without_a_platform_have_the_groups_of_the_default_one() -> None:
    Platform.default().register(MATH)
    assert RunContext.current().services.find(ToolGroups)["math"] is MATH
