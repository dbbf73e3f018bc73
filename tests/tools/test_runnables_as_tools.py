"""Any Runnable is a tool as it is, wherever tools are taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, cast

import pytest

from tactician import (
    Agent,
    AgenticTool,
    Ai,
    Blueprint,
    Ensemble,
    Planned,
    Platform,
    RouterAgent,
    RunContext,
    RunResult,
    SupervisorAgent,
    Task,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    simple_agent,
    tool,
)
from tactician.a2a import RemoteAgent
from tactician.agents import runnable
from tactician.code_mode import CodeTool
from tactician.errors import DeclarationError
from tactician.prompts import Reference
from tactician.runs import Input, Runnable, RunStatus, approve
from tactician.serve import McpPublisher
from tactician.stores import MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import Tool, as_tool, pipeline
from tactician.tools.toolbox import ToolLike
from tests.serve.a2a.serving import serve_a2a
from tests.serve.mcp.kitchen import connect, read

SAID = "42 in stock"


@planned_agent(description="Counts the stock")
class Counter(Planned[str]):
    @achieves_goal("The stock is counted")
    @action
    def count(self, text: UserInput) -> str:
        return SAID


@planned_agent(description="Counts the stock")
class Untyped:
    @achieves_goal("The stock is counted")
    @action
    def count(self, text: UserInput) -> str:
        return SAID


class Loud:
    """Runnable that only keeps the contract."""

    name = "Loud"
    description = "Counts the stock"

    async def run(self, input: Input, *, context: RunContext | None = None) -> RunResult[str]:
        return RunResult(SAID)


@runnable
async def count(text: str) -> str:
    """Count the stock."""
    return SAID


def create_clerk() -> Agent:
    return Agent("Clerk", model=ScriptedModel(SAID), description="Counts the stock")


KINDS: Sequence[Callable[[], Runnable]] = (
    create_clerk,
    Counter,
    cast("Callable[[], Runnable]", Untyped),  # without the base class, type checkers do not see what it is
    lambda: Ensemble("Newsroom", [Task("Count", handler=lambda task: SAID)]),
    lambda: RouterAgent("Desk", model=ScriptedModel("1"), routes={"all": create_clerk()}),
    lambda: simple_agent(str, lambda text: SAID, name="flow"),
    lambda: count,
    Loud,
)


def calls(agent: Runnable) -> ScriptedModel:
    """Return a model that calls the tool of a Runnable, and then repeats its result."""
    return ScriptedModel(ToolCall(as_tool(agent).name, request="count"), "Done.")


def heard(model: ScriptedModel) -> bool:
    return SAID in model.calls[-1].prompt


@pytest.mark.parametrize("create", KINDS)
class TestEveryKind:
    async def test_is_a_tool_of_an_agent(self, create: Callable[[], Runnable]) -> None:
        model = calls(agent := create())
        await Agent("Boss", model=model, tools=[agent]).run("Go")
        assert heard(model)

    async def test_is_a_tool_of_a_task_and_of_an_ensemble(self, create: Callable[[], Runnable]) -> None:
        first, second = calls(create()), calls(create())
        await Ensemble("Work", [Task("Do it", tools=[create()])], model=first).run()
        await Ensemble("Work", [Task("Do it")], model=second, tools=[create()]).run()
        assert heard(first)
        assert heard(second)

    async def test_is_a_tool_of_a_supervisor(self, create: Callable[[], Runnable]) -> None:
        model = calls(agent := create())
        await SupervisorAgent("Lead", model=model, workers={"helps": Agent("Helper")}, tools=[agent]).run("Go")
        assert heard(model)

    async def test_is_in_a_tool_group(self, create: Callable[[], Runnable]) -> None:
        for source in (create(), [create()], lambda: [create()]):
            model = calls(create())
            platform = Platform(model, tool_groups={"stock": source})
            await platform.run(Agent("Boss", tool_groups=["stock"]), "Go")
            assert heard(model)

    async def test_is_a_tool_of_a_single_call(self, create: Callable[[], Runnable]) -> None:
        model = calls(agent := create())
        assert await Ai.over(model).with_tools(agent).generate_text("Go") == "Done."
        assert heard(model)

    async def test_is_a_tool_of_an_agentic_tool_and_of_a_reference(self, create: Callable[[], Runnable]) -> None:
        model = calls(agent := create())
        await as_tool(AgenticTool("boss", "Leads").with_llm(model).with_tools(agent)).call(
            '{"request": "go"}', RunContext.over(model)
        )
        assert heard(model)
        assert [tool.name for tool in Reference("Acme", "a shop", tools=[agent]).named_tools] == [
            f"acme_{as_tool(agent).name}"
        ]

    async def test_is_called_by_scripts(self, create: Callable[[], Runnable]) -> None:
        agent = create()
        code = f"print({as_tool(agent).name}(request='count'))"
        model = ScriptedModel(ToolCall("run_code", code=code), "Done.")
        await Agent("Boss", model=model, tools=[CodeTool([agent])]).run("Go")
        assert heard(model)

    async def test_is_a_step_of_a_pipeline(self, create: Callable[[], Runnable]) -> None:
        step = pipeline(create(), name="steps")
        assert await step.call('{"request": "count"}', RunContext.over(ScriptedModel())) == SAID

    async def test_is_published_over_mcp(self, create: Callable[[], Runnable]) -> None:
        agent = create()
        if isinstance(agent, Loud):
            pytest.skip("programs that publish runs have to be able to continue them")
        async with connect(McpPublisher(Platform(ScriptedModel()), agent)) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            name = "count" if isinstance(agent, Counter | Untyped) else as_tool(agent).name
            arguments = dict.fromkeys(listed[name].input_schema["required"], "count")
            if isinstance(agent, Counter | Untyped):
                arguments = {"content": "count"}
            assert SAID in read(await client.call_tool(name, arguments))


async def test_a_remote_agent_is_a_tool() -> None:
    platform = Platform(ScriptedModel(SAID), store=MemoryStore())
    async with platform, serve_a2a(platform, Agent("Clerk", description="Counts")) as url:
        model = ScriptedModel(ToolCall("clerk", request="count"), "Done.")
        await Agent("Boss", model=model, tools=[await RemoteAgent.discover(url)]).run("Go")
    assert heard(model)


@tool(needs_approval=True)
def order(pieces: int) -> str:
    """Order."""
    return f"Ordered {pieces}."


async def test_a_run_that_waits_inside_the_tool_continues_after_a_restart(tmp_path: Path) -> None:
    def create_boss() -> Agent:
        return Agent("Boss", tools=[Agent("Buyer", tools=[order])])

    url = tmp_path / "runs.db"
    script = ScriptedModel(ToolCall("buyer", request="buy"), ToolCall("order", pieces=3))
    async with Platform(script, store=SqliteStore(url)) as first:
        result = await first.run(create_boss(), "Go")
        assert result.status is RunStatus.WAITING
    async with Platform(ScriptedModel("It is ordered.", "Done."), store=SqliteStore(url)) as second:
        second.register(create_boss())
        ended = await second.respond(result.run_id, result.pending[0].id, approve())
        assert isinstance(ended, RunResult)
        assert ended.output == "Done."


async def test_blueprints_have_it_and_back() -> None:
    clerk, newsroom = Agent("Clerk", model="test"), Ensemble("Newsroom", [Task("Write", agent=Agent("Writer"))])
    boss = Agent("Boss", model="test", tools=[clerk, newsroom])
    blueprint = boss.to_blueprint(strict=True)
    again = Blueprint.from_yaml(blueprint.to_yaml()).build()
    assert again.to_blueprint(strict=True) == blueprint
    assert [member.runnable.name for member in again.composition] == ["Clerk", "Newsroom"]
    ensemble = Ensemble("Work", [Task("Do it", tools=[clerk])], model="test").to_blueprint(strict=True)
    assert Blueprint.from_json(ensemble.to_json()).build().to_blueprint(strict=True) == ensemble


def test_the_settings_of_an_agent_have_it() -> None:
    tools: list[ToolLike] = [create_clerk()]
    assert [tool.name for tool in Agent("Boss", tools=tools).spec.tools] == ["clerk"]


def test_a_class_is_no_tool() -> None:
    class Tooled:
        tools: ClassVar[list[Tool]] = []

    with pytest.raises(DeclarationError, match="a tool is a function, or an object made with @tool, or a Runnable"):
        Agent("Boss", tools=[Tooled()])  # type: ignore[list-item]
