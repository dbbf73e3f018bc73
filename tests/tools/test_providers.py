"""Providers of tools, whose tools are known in a run only, and pictures in the output of tools."""

from __future__ import annotations

import pytest

from tactician import Agent, Ai, Ensemble, Platform, Task, Tool, tool
from tactician.blueprint import export_blueprint
from tactician.errors import DeclarationError
from tactician.llm import Image, ToolResult
from tactician.llm.model import ToolSpec
from tactician.runs import RunContext
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import ToolGroup, ToolOutput
from tactician.tools.provider import ToolProvider
from tactician.tools.toolbox import Toolbox

PICTURE = Image(data=b"\x89PNG\r\n\x1a\n")


@tool
def search(query: str) -> str:
    """Searches."""
    return f"found {query}"


class Server(ToolProvider):
    def __init__(self) -> None:
        self.loaded = self.closed = 0

    async def load_tools(self) -> tuple[Tool, ...]:
        self.loaded += 1
        return (search,)

    async def aclose(self) -> None:
        self.closed += 1


class Camera(Tool):
    @property
    def spec(self) -> ToolSpec:
        return ToolSpec("look", "Looks.", {"type": "object", "properties": {}})

    async def call(self, arguments: str, context: RunContext) -> ToolOutput:
        return ToolOutput("a cat", (PICTURE,))


def using(server: Server) -> ScriptedModel:
    return ScriptedModel(ToolCall("search", query="frogs"), "done")


async def test_an_agent_has_the_tools_of_a_provider() -> None:
    server = Server()
    model = using(server)
    result = await Agent("Finder", tools=[server], model=model).run("frogs?")
    assert result.output == "done"
    assert [spec.name for spec in model.calls[0].tools] == ["search"]
    assert server.loaded == 1


async def test_a_copy_of_an_agent_keeps_its_providers() -> None:
    agent = Agent("Finder", tools=[Server()]).with_changes(instructions="find", tools=lambda one: one)
    assert (await agent.with_defaults(more_tools=[Camera()]).run("?", context=over("ok"))).output == "ok"
    assert agent.tools.providers


def over(*steps: str | ToolCall) -> RunContext:
    return RunContext.over(ScriptedModel(*steps))


async def test_a_call_of_a_model_has_the_tools_of_a_provider() -> None:
    model = using(Server())
    assert await Ai.over(model).with_tools(Server()).generate_text("frogs?") == "done"
    assert isinstance(model.calls[1].messages[-1], ToolResult)


async def test_tasks_and_ensembles_have_the_tools_of_providers() -> None:
    for task_tools, tools in ([Server()], ()), ((), [Server()]):
        model = using(Server())
        worker = Agent("Worker", model=model)
        ensemble = Ensemble("Team", [Task("find it", agent=worker, tools=task_tools)], tools=tools)
        assert (await ensemble.run({})).output == "done"
        assert model.calls[0].tools[0].name == "search"


async def test_a_platform_makes_groups_of_providers_and_closes_them() -> None:
    server = Server()
    async with Platform(using(server), tool_groups={"web": [server, Camera()]}) as platform:
        result = await Agent("Finder", tool_groups=["web"]).run("frogs?", context=platform.context())
        assert result.output == "done"
        assert server.closed == 0
    assert server.closed == 1


async def test_a_platform_closes_the_providers_of_its_agents() -> None:
    server = Server()
    async with Platform(using(server)) as platform:
        await Agent("Finder", tools=[server]).run("frogs?", context=platform.context())
    assert server.closed == 1


async def test_the_other_providers_are_closed_when_one_fails() -> None:
    class Broken(Server):
        async def aclose(self) -> None:
            raise OSError("gone")

    servers = [Server(), Broken(), Server()]
    platform = Platform(ScriptedModel("ok"), tool_groups={f"g{n}": server for n, server in enumerate(servers)})
    agent = Agent("Finder", tool_groups=["g0", "g1", "g2"])
    await agent.run("?", context=platform.context())
    with pytest.raises(ExceptionGroup, match="could not be closed"):
        await platform.aclose()
    assert [server.closed for server in servers] == [1, 0, 1]


def test_a_provider_is_not_a_tool_itself() -> None:
    from tactician.tools import as_tool

    with pytest.raises(DeclarationError, match="known in a run only"):
        as_tool(Server())


def test_a_blueprint_says_how_to_keep_a_provider() -> None:
    agent = Agent("Finder", model="test", tools=[Server()])
    with pytest.warns(UserWarning, match="make a tool group of it"):
        export_blueprint(agent)


async def test_a_group_names_itself_in_the_error_of_its_provider() -> None:
    class Broken(Server):
        async def load_tools(self) -> tuple[Tool, ...]:
            raise OSError("gone")

    with pytest.raises(OSError, match="gone") as caught:
        await ToolGroup("web", Broken()).load_tools()
    assert caught.value.__notes__ == ["in the tool group 'web'"]


def test_a_toolbox_keeps_each_provider_once() -> None:
    server = Server()
    assert Toolbox([server, search, server]).with_preferred(Toolbox([server])).contents == (search, server)


async def test_a_model_sees_the_pictures_of_a_tool() -> None:
    model = ScriptedModel(ToolCall("look"), "a cat")
    result = await Agent("Watcher", tools=[Camera()], model=model).run("what is there?")
    shown = model.calls[1].messages[-1]
    assert isinstance(shown, ToolResult)
    assert (shown.content, shown.images) == ("a cat", (PICTURE,))
    assert shown in result.messages
