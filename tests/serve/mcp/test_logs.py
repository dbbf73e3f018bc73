"""Log messages of the protocol: the events of runs, for clients that want them."""

from __future__ import annotations

from typing import Literal, cast

import mcp_types as types
import pytest
from mcp import Client
from mcp_types import LOG_LEVEL_META_KEY
from pydantic import BaseModel

from tactician import Platform, achieves_goal, action, planned_agent
from tactician.serve import McpPublisher
from tactician.testing import ScriptedModel
from tests.serve.mcp.kitchen import ERAS, Era, create_platform

Level = Literal["debug", "info", "warning", "error"]
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
Heard = list[types.LoggingMessageNotificationParams]


async def call(
    publisher: McpPublisher, era: Era, tool: str, arguments: dict[str, object], level: Level | None
) -> Heard:
    """Call a tool, and return the log messages, as many as come before the result."""
    heard: Heard = []

    async def hear(params: types.LoggingMessageNotificationParams) -> None:
        heard.append(params)

    meta: types.RequestParamsMeta = {}
    async with Client(publisher.server, mode=era, logging_callback=hear) as client:
        if level is not None and era == "legacy":
            await client.session.set_logging_level(level)
        elif level is not None:
            meta = cast("types.RequestParamsMeta", {LOG_LEVEL_META_KEY: level})
        await client.call_tool(tool, arguments, meta=meta)
    return heard


@pytest.mark.parametrize("era", ERAS)
class TestLogs:
    async def test_who_asks_for_none_gets_none(self, era: Era) -> None:
        assert await call(McpPublisher(create_platform()), era, "cook_meal", {"dish": "pie"}, None) == []

    async def test_the_events_of_a_run_come_from_the_level_on(self, era: Era) -> None:
        everything = await call(McpPublisher(create_platform()), era, "cook_meal", {"dish": "pie"}, "debug")
        important = await call(McpPublisher(create_platform()), era, "cook_meal", {"dish": "pie"}, "info")
        assert {message.level for message in everything} == {"debug", "info"}
        assert {message.level for message in important} == {"info"}
        assert important[0].logger == "Kitchen"
        assert important[0].data["message"] == "starts towards cook"
        assert {message.data["run_id"] for message in important} == {important[0].data["run_id"]}
        assert await call(McpPublisher(create_platform()), era, "cook_meal", {"dish": "pie"}, "error") == []

    async def test_keys_and_passwords_are_masked(self, era: Era) -> None:
        class Order(BaseModel):
            dish: str

        @planned_agent(description="Fails with a key")
        class Leaky:
            @achieves_goal("done")
            @action
            async def leak(self, order: Order) -> str:
                raise ValueError("refused: password=hunter2")

        publisher = McpPublisher(Platform(ScriptedModel()), Leaky())
        heard = await call(publisher, era, "leak", {"dish": "pie"}, "debug")
        said = " ".join(str(message.data) for message in heard)
        assert "refused" in said
        assert "hunter2" not in said


async def test_the_level_is_that_of_the_client_that_set_it() -> None:
    publisher = McpPublisher(create_platform())
    heard: Heard = []

    async def hear(params: types.LoggingMessageNotificationParams) -> None:
        heard.append(params)

    async with (
        Client(publisher.server, mode="legacy") as loud,
        Client(publisher.server, mode="legacy", logging_callback=hear) as silent,
    ):
        await loud.session.set_logging_level("debug")
        await silent.call_tool("cook_meal", {"dish": "pie"})
    assert heard == []
