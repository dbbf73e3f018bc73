"""Remote agents, agents as tools with typed arguments, code mode and skills as data, there and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel

from tactician import Agent, AgenticTool, Blueprint, RouterAgent, RunContext, tool
from tactician.a2a import RemoteAgent
from tactician.agents import BaseRunnable
from tactician.code_mode import CodeLimits, CodeTool
from tactician.errors import BlueprintError
from tactician.llm import ToolResult
from tactician.mcp import McpServer
from tactician.skills import ScriptLimits, Skills
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import RunnableTool, Tool, calculator, read_file
from tests.blueprint import acme

HERE = "tests.blueprint.test_standards"
ALLOW = ("tests.blueprint", "tactician.tools", "tactician.references")
R = TypeVar("R", bound=BaseRunnable[Any])
KEYS = {"SHOP_KEY": "secret"}
HOSTS = ("shop.example",)


class Question(BaseModel):
    """Arguments of a tool."""

    topic: str
    depth: int = 1


def is_long(arguments: Mapping[str, object]) -> bool:
    """Return whether a script needs an approval."""
    return len(str(arguments)) > 99


def ask(question: Question) -> str:
    """Return the prompt for a question."""
    return f"{question.topic}, {question.depth} times"


def go_round(runnable: R) -> R:
    """Return what is built of the blueprint, which has the same blueprint, as JSON and as YAML."""
    blueprint = runnable.to_blueprint(strict=True)
    options: dict[str, Any] = {"allow": ALLOW, "environment": KEYS, "hosts": HOSTS, "variables": KEYS}
    built = runnable
    for again in (Blueprint.from_json(blueprint.to_json()), Blueprint.from_yaml(blueprint.to_yaml())):
        made = again.build(**options)
        assert isinstance(made, type(runnable))
        built = made
        assert built.to_blueprint(strict=True) == blueprint
    return built


def build_with_tool(known: Tool) -> Tool:
    """Return a tool of an agent after its way through a blueprint."""
    (built,) = go_round(Agent("Caller", tools=[known])).spec.tools
    assert isinstance(built, Tool)
    assert built.spec == known.spec
    return built


class TestRemoteAgents:
    def test_all_options_come_back(self) -> None:
        remote = RemoteAgent(
            "https://shop.example/a2a",
            name="Shop",
            description="Sells",
            skill="offer",
            api_key_env="SHOP_KEY",
            timeout=5.0,
            idle=2.0,
            max_bytes=1000,
            allow_private=True,
        )
        built = go_round(remote)
        assert (built.name, built.description, built.settings) == ("Shop", "Sells", remote.settings)
        assert built.settings.create_headers() == {"Authorization": "Bearer secret"}
        assert "secret" not in remote.to_blueprint().to_json()

    def test_they_stand_where_any_runnable_does(self) -> None:
        remote = RemoteAgent("https://shop.example/a2a", name="Shop", description="Sells")
        router = go_round(RouterAgent("Desk", model="acme/model", routes={"sales": remote}))
        assert isinstance(router.routes["sales"], RemoteAgent)

    def test_headers_are_kept_out(self) -> None:
        remote = RemoteAgent("https://shop.example", name="Shop", headers={"Authorization": "Bearer x"})
        with pytest.raises(BlueprintError, match=r"headers.*name the variable of the key with api_key_env"):
            remote.to_blueprint()

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({"url": "https://evil.example"}, "the host evil.example is not allowed"),
            ({"url": "ftp://shop.example"}, "begins with http"),
            ({"url": "https://[shop.example"}, "is not an address"),
            ({"apiKeyEnvVar": "HOME"}, "HOME"),
            ({"timeout": 0}, "timeout"),
            ({"colour": "red"}, "colour"),
        ],
    )
    def test_mistakes_are_named_with_their_line(self, fields: dict[str, object], problem: str) -> None:
        data = {"type": "remote", "name": "Shop", "url": "https://shop.example", **fields}
        with pytest.raises(BlueprintError, match=problem):
            Blueprint.from_data(data).build(environment=KEYS, hosts=HOSTS, variables=KEYS)


class TestCodeMode:
    def test_its_tools_and_limits_come_back(self) -> None:
        code = CodeTool(
            [acme.look_up, calculator, read_file.within("notes")],
            name="script",
            limits=CodeLimits(seconds=2.0, calls=3, state=0),
            needs_approval=is_long,
        )
        (built,) = go_round(Agent("Coder", model="acme/model", tools=[code, acme.look_up])).spec.tools.providers
        assert isinstance(built, CodeTool)
        assert (built.name, built.limits, built.needs_approval) == ("script", code.limits, is_long)
        assert [tool.name for tool in built.contents if isinstance(tool, Tool)] == [
            "look_up",
            "calculator",
            "read_file",
        ]

    async def test_it_runs(self) -> None:
        agent = go_round(Agent("Coder", tools=[CodeTool([calculator], needs_approval=False)]))
        model = ScriptedModel(ToolCall("run_code", code="calculator('6 * 7')"), "ok")
        result = await agent.run("go", context=RunContext.over(model))
        assert next(message.content for message in result.messages if isinstance(message, ToolResult)) == "42"

    def test_tools_of_a_server_and_those_that_no_import_finds_are_problems(self) -> None:
        @tool
        def local() -> None:
            """Stay here."""

        server = McpServer.stdio("server", name="files")
        with pytest.raises(BlueprintError, match=r"(?s)'local'.*McpServer\('files'\)"):
            Agent("Coder", tools=[CodeTool([local, server])]).to_blueprint()

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({"tools": []}, "tools"),
            ({"tools": ["calculater"]}, "calculater"),
            ({"tools": [{"tool": "run_code", "tools": ["calculator"]}]}, "a script cannot run scripts"),
            ({"limits": {"seconds": -1}}, "seconds"),
            ({"needsApproval": True, "needsApprovalWhen": f"{HERE}.is_long"}, "leave out one of them"),
        ],
    )
    def test_mistakes_are_named(self, fields: dict[str, object], problem: str) -> None:
        data = Agent("Coder", model="acme/model").to_blueprint().to_data()
        code = {"tool": "run_code", "tools": ["calculator"], **fields}
        with pytest.raises(BlueprintError, match=problem):
            Blueprint.from_data({**data, "builtInTools": [code]}).build(allow=ALLOW, environment=KEYS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, with a skill in it."""
    (tmp_path / "skills" / "tax").mkdir(parents=True)
    (tmp_path / "skills" / "tax" / "SKILL.md").write_text("---\nname: tax\ndescription: Adds the tax.\n---\nAdd it.\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestSkills:
    def test_their_sources_and_rules_come_back(self, folder: Path) -> None:
        skills = Skills("Office", "What an office does", notes="Use them.", checks_files=False).local("skills")
        limited = skills.with_scripts("ask", limits=ScriptLimits(timeout=5.0), folder=folder / "out")
        built = go_round(Agent("Clerk", model="acme/model", references=[limited]))
        assert built.spec.references == (limited,)

    def test_they_are_where_the_blueprint_is(self, folder: Path) -> None:
        agent = Agent("Clerk", model="acme/model", references=[Skills("Office", "x").local("skills", nested=True)])
        assert '"folder": "skills"' in agent.to_blueprint().to_json()

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({"sources": []}, "sources"),
            ({"sources": [{}]}, "say one of them"),
            ({"sources": [{"folder": "nothing"}]}, "nothing"),
            ({"sources": [{"folder": "../.."}]}, "outside of"),
            ({"sources": [{"url": "file:///etc"}]}, "file"),
            ({"sources": [{"folder": "skills", "colour": 1}]}, "colour"),
            ({"scripts": "always"}, "scripts"),
        ],
    )
    def test_mistakes_are_named(self, folder: Path, fields: dict[str, object], problem: str) -> None:
        entry = {"kind": "skills", "name": "Office", "description": "x", "sources": [{"folder": "skills"}], **fields}
        data = Agent("Clerk", model="acme/model").to_blueprint().to_data()
        with pytest.raises(BlueprintError, match=problem):
            Blueprint.from_data({**data, "references": [entry]}).build(allow=ALLOW, environment=KEYS)

    def test_a_text_may_use_them_when_it_is_allowed(self, folder: Path) -> None:
        agent = Agent("Clerk", model="acme/model", references=[Skills("Office", "x").local("skills")])
        with pytest.raises(BlueprintError, match="the reference 'skills' is not allowed"):
            Blueprint.from_json(agent.to_blueprint().to_json()).build(environment=KEYS)


class TestAgentsAsTools:
    async def test_an_agentic_tool_keeps_its_parameters(self) -> None:
        agentic = (
            AgenticTool("research", "Finds things out")
            .with_parameter("topic", str, "What to find")
            .with_parameter("depth", int, "How deep", required=False)
            .with_parameter("kind", acme.Order, "Which kind", required=False)
            .with_tools(acme.look_up)
            .with_system_prompt("Find it.")
        )
        built = build_with_tool(agentic)
        assert isinstance(built, RunnableTool)
        assert built.read('{"topic": "frogs"}') == agentic.read('{"topic": "frogs"}')

    async def test_arguments_of_a_type_and_a_prompt_come_back(self) -> None:
        helper = Agent("Helper", model="acme/model")
        built = build_with_tool(helper.as_tool("help", "Helps", arguments=Question, prompt=ask))
        assert isinstance(built, RunnableTool)
        assert built.read('{"topic": "frogs", "depth": 2}') == "frogs, 2 times"
        build_with_tool(helper.as_tool("help", "Helps", arguments=Question))

    def test_what_no_import_finds_is_a_problem(self) -> None:
        class Local(BaseModel):
            topic: str

        helper = Agent("Helper", model="acme/model")
        helping = helper.as_tool(arguments=Local, prompt=lambda local: local.topic)
        with pytest.raises(BlueprintError) as raised:
            Agent("Caller", tools=[helping]).to_blueprint()
        paths = [problem.path for problem in raised.value.problems]
        assert paths == ["agentTools[0].arguments", "agentTools[0].prompt"]

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({"parameters": [{"name": "a", "type": "nothing.Here"}]}, r"parameters\[0\]\.type"),
            ({"parameters": [{"name": "a"}, {"name": "a"}]}, "'a' is there twice"),
            ({"parameters": [{"name": "a"}], "arguments": f"{HERE}.Question"}, "leave out either"),
            ({"arguments": "int"}, "they must be a class with fields"),
            ({"prompt": f"{HERE}.Question"}, "is not a function"),
        ],
    )
    def test_mistakes_are_named(self, fields: dict[str, object], problem: str) -> None:
        helper = Agent("Helper", model="acme/model").to_blueprint().to_data()
        data = Agent("Caller", model="acme/model").to_blueprint().to_data()
        part = {"name": "help", "description": "Helps", "target": helper, **fields}
        with pytest.raises(BlueprintError, match=problem):
            Blueprint.from_data({**data, "agentTools": [part]}).build(allow=ALLOW, environment=KEYS)
