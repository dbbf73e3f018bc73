"""Built-in tools as data: with their settings there and back, and refused where a text may not use them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tactician import Agent, Blueprint, Ensemble, RunContext, Task
from tactician.errors import BlueprintError, ToolError
from tactician.llm import ToolResult
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import (
    SearchHit,
    SearxngSearch,
    TavilySearch,
    Tool,
    adapt,
    calculator,
    date_time,
    fetch_page,
    http_request,
    pipeline,
    query_json,
    read_file,
    run_program,
    web_search,
    write_file,
)
from tests.blueprint import acme

ALLOW = ("tests.blueprint.acme", "tactician.tools")


def is_long(arguments: Mapping[str, object]) -> bool:
    """Return whether a call needs an approval."""
    return len(str(arguments)) > 99


def shout(text: str) -> str:
    """Turn the output of a step into the input of the next one."""
    return text.upper()


@dataclass
class Finding:
    """What a step is asked."""

    text: str


class Finder:
    """A provider that an import finds."""

    async def search(self, query: str, limit: int) -> list[SearchHit]:
        """Find nothing."""
        return []


HERE = "tests.blueprint.test_built_in_tools"
SUMMARIZER = {
    "type": "agent",
    "name": "",
    "model": "m",
    "instructions": "",
    "maxTurns": 3,
    "toolClassNames": [],
    "handoffs": [],
    "inputGuardrails": [],
    "outputGuardrails": [],
}
TOOLS: list[tuple[Tool, object]] = [
    (calculator, "calculator"),
    (date_time, "date_time"),
    (query_json, "query_json"),
    (web_search, "web_search"),
    (fetch_page, "fetch_page"),
    (http_request, "http_request"),
    (run_program, "run_program"),
    (read_file.within("notes"), {"tool": "read_file", "folder": "notes"}),
    (
        write_file.within("notes/new", max_bytes=9).with_approval(),
        {"tool": "write_file", "needsApproval": True, "folder": "notes/new", "maxBytes": 9},
    ),
    (
        web_search.with_provider(SearxngSearch("https://models.example/search", 5.0)),
        {"tool": "web_search", "provider": "searxng", "url": "https://models.example/search", "timeout": 5.0},
    ),
    (web_search.with_provider(TavilySearch()), {"tool": "web_search", "provider": "tavily"}),
    (web_search.with_provider(Finder()), {"tool": "web_search", "provider": f"{HERE}.Finder"}),
    (
        fetch_page.with_limits(timeout=3.0, max_redirects=0, max_chars=99).with_extractor(shout),
        {"tool": "fetch_page", "timeout": 3.0, "maxRedirects": 0, "maxChars": 99, "extractor": f"{HERE}.shout"},
    ),
    (http_request.allow_private(), {"tool": "http_request", "allowPrivate": True}),
    (
        run_program.within("notes").with_environment({"MODE": "x"}).with_limits(timeout=5.0).with_approval(is_long),
        {
            "tool": "run_program",
            "needsApprovalWhen": f"{HERE}.is_long",
            "folder": "notes",
            "environment": {"MODE": "x"},
            "timeout": 5.0,
        },
    ),
    (run_program.with_approval(False), {"tool": "run_program", "needsApproval": False}),
    (run_program.with_approval(required_role="editor"), {"tool": "run_program", "requiredRole": "editor"}),
    (
        write_file.within("notes").with_approval(is_long, required_role="editor"),
        {
            "tool": "write_file",
            "needsApprovalWhen": f"{HERE}.is_long",
            "requiredRole": "editor",
            "folder": "notes",
        },
    ),
    (pipeline(calculator, calculator), {"tool": "pipeline", "steps": ["calculator", "calculator"]}),
    (
        pipeline(
            read_file.within("notes"),
            adapt(shout, to="data"),
            query_json,
            adapt(to="text"),
            acme.plain,
            name="look_up",
            description="Look it up",
            on_error="continue",
        ),
        {
            "tool": "pipeline",
            "steps": [
                {"tool": "read_file", "folder": "notes"},
                {"tool": "adapter", "function": f"{HERE}.shout", "to": "data"},
                "query_json",
                {"tool": "adapter", "to": "text"},
                "tests.blueprint.acme.plain",
            ],
            "name": "look_up",
            "description": "Look it up",
            "onError": "continue",
        },
    ),
    (
        pipeline(
            fetch_page,
            Agent("Summarizer", model="m", instructions="Sum up.", max_turns=3),
            Agent("Critic", model="m", instructions="Check.", max_turns=3).as_tool("check", "Check it"),
        ),
        {
            "tool": "pipeline",
            "steps": [
                "fetch_page",
                {"tool": "run_agent", "target": {**SUMMARIZER, "name": "Summarizer", "instructions": "Sum up."}},
                {
                    "tool": "run_agent",
                    "target": {**SUMMARIZER, "name": "Critic", "instructions": "Check."},
                    "name": "check",
                    "description": "Check it",
                },
            ],
        },
    ),
]


def build(*tools: object, allow: tuple[str, ...] = (*ALLOW, HERE)) -> Agent[Any]:
    """Build an agent with built-in tools, of a text."""
    data = {"type": "agent", "name": "A", "model": "m", "instructions": "i", "maxTurns": 5, "builtInTools": list(tools)}
    agent = Blueprint.from_data(data).build(allow=allow, hosts=["models.example"])
    assert isinstance(agent, Agent)
    return agent


class TestRoundTrip:
    @pytest.mark.parametrize(("tool", "data"), TOOLS, ids=range(len(TOOLS)))
    def test_a_tool_is_the_same_after_its_way_there_and_back(self, tool: Tool, data: object) -> None:
        blueprint = Agent("A", tools=[tool]).to_blueprint(strict=True)
        assert blueprint.to_data()["builtInTools"] == [data]
        again = build(data)
        (made,) = again.spec.tools
        assert (made.spec, made.traits) == (tool.spec, tool.traits)
        assert again.to_blueprint(strict=True).to_data()["builtInTools"] == [data]

    def test_tasks_and_ensembles_have_them_too(self) -> None:
        made = Ensemble("E", [Task("a", tools=[calculator])], tools=[read_file.within("notes")])
        data = made.to_blueprint(strict=True).to_data()
        assert data["builtInTools"] == [{"tool": "read_file", "folder": "notes"}]
        again = Blueprint.from_data(data).build(allow=ALLOW)
        assert again.to_blueprint() == made.to_blueprint()

    async def test_they_work(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "a.json").write_text('{"a": [1, 2]}')
        agent = build({"tool": "pipeline", "name": "look_up", "steps": [TOOLS[7][1], "query_json"]}, "calculator")
        model = ScriptedModel(
            ToolCall("look_up", path="a.json", query_json_path="a[1]"), ToolCall("calculator", expression="2 + 3"), "5"
        )
        assert (await agent.run("?", context=RunContext.over(model))).output == "5"
        assert [one.content for one in model.calls[2].messages if isinstance(one, ToolResult)] == ["2", "5"]


class TestProblems:
    def test_what_cannot_be_exported_is_told(self) -> None:
        secret = {"API_KEY": "hunter2"}
        with pytest.raises(BlueprintError) as caught:
            Agent(
                "A",
                tools=[
                    read_file,
                    web_search.with_provider(TavilySearch(key="hunter2")),
                    fetch_page.with_extractor(lambda html: html),
                    run_program.with_environment(secret).with_approval(lambda arguments: True),
                    pipeline(calculator, adapt(lambda text: text), calculator),
                    pipeline(calculator, Agent("B", model="m").as_tool(arguments=Finding)),
                ],
            ).to_blueprint()
        assert [problem.path for problem in caught.value.problems] == [
            "builtInTools[0]", "builtInTools[1].provider", "builtInTools[2].extractor", "builtInTools[3].environment",
            "builtInTools[3].needsApprovalWhen", "builtInTools[4].steps[1].function", "builtInTools[5].steps[1]",
        ]  # fmt: skip
        assert "hunter2" not in str(caught.value)

    def test_a_provider_of_a_function_cannot_be_exported(self) -> None:
        class Local(Finder):
            """A provider of a function."""

        with pytest.raises(BlueprintError, match="the provider Local: no import finds it"):
            Agent("A", tools=[web_search.with_provider(Local())]).to_blueprint()

    @pytest.mark.parametrize(
        ("tool", "path", "why"),
        [
            ("calculater", "[0]", "there is no built-in tool 'calculater'. Did you mean 'calculator'?"),
            ("read_file", "[0]", "'read_file' needs settings"),
            ({"tool": "read_file", "folder": "../x"}, "[0].folder", "is outside of"),
            ({"tool": "read_file", "folder": ".ssh"}, "[0].folder", "begin with a dot"),
            ({"tool": "web_search", "provider": "searxng"}, "[0]", "searxng needs a 'url'"),
            ({"tool": "web_search", "url": "https://models.example"}, "[0].url", "only 'tavily' and 'searxng'"),
            ({"tool": "web_search", "provider": "tavily", "url": "https://evil.example"}, "[0].url", "is not allowed"),
            ({"tool": "web_search", "provider": "os.system"}, "[0].provider", "there is nothing with the name"),
            ({"tool": "http_request", "extractor": f"{HERE}.shout"}, "[0].extractor", "only 'fetch_page'"),
            ({"tool": "run_program", "environment": {"A": "sk-abcdef123456"}}, "[0].environment", "may hold a secret"),
            (
                {"tool": "run_program", "needsApproval": False, "needsApprovalWhen": f"{HERE}.is_long"},
                "[0].needsApprovalWhen",
                "leave out one of them",
            ),
            ({"tool": "http_request", "requiredRole": "x"}, "[0].requiredRole", "set needsApproval"),
            ({"tool": "pipeline", "steps": ["calculator", "os.system"]}, "[0].steps[1]", "there is nothing with"),
            ({"tool": "pipeline", "steps": ["calculator", {"tool": "adapter"}]}, "[0].steps", "between two tools"),
            (
                {"tool": "pipeline", "steps": [{"tool": "run_agent", "target": {"$ref": "no.yaml"}}]},
                "[0].steps[0].target.$ref",
                "no.yaml",
            ),
        ],
    )
    def test_mistakes_have_their_places(self, tool: object, path: str, why: str) -> None:
        with pytest.raises(BlueprintError) as caught:
            build(tool)
        assert [(problem.path, why in problem.message) for problem in caught.value.problems] == [
            (f"builtInTools{path}", True)
        ]

    def test_mistakes_of_form_are_told_at_once(self) -> None:
        text = "type: agent\nname: A\nmodel: m\ninstructions: i\nmaxTurns: 1\nbuiltInTools:\n"
        text += (
            "- tool: read_fil\n- tool: write_file\n  maxBytes: 0\n- tool: pipeline\n  steps:\n  - tool: run_program\n"
        )
        text += "    timeout: -1\n- 5\n"
        with pytest.raises(BlueprintError) as caught:
            Blueprint.from_yaml(text)
        assert [(problem.line, problem.path) for problem in caught.value.problems] == [
            (7, "builtInTools[0]"), (8, "builtInTools[1].folder"), (9, "builtInTools[1].maxBytes"),
            (13, "builtInTools[2].steps[0].timeout"), (14, "builtInTools[3]"),
        ]  # fmt: skip


class TestTrust:
    @pytest.mark.parametrize("number", [4, 5, 6, 7, 8, 13])
    def test_a_text_cannot_use_what_acts(self, number: int) -> None:
        with pytest.raises(BlueprintError, match=r"is not allowed in a text; allow it with build\(allow="):
            build(TOOLS[number][1], allow=())

    @pytest.mark.parametrize("number", [0, 1, 2, 3])
    def test_a_text_may_use_what_only_reads(self, number: int) -> None:
        assert [tool.name for tool in build(TOOLS[number][1], allow=()).spec.tools] == [TOOLS[number][0].name]

    async def test_a_file_of_this_machine_may_use_all_in_its_folder(self, tmp_path: Path) -> None:
        (tmp_path / "secret.txt").write_text("hunter2")
        (tmp_path / "team").mkdir()
        file = tmp_path / "team" / "a.yaml"
        text = "type: agent\nname: A\nmodel: m\ninstructions: i\nmaxTurns: 1\n"
        file.write_text(f"{text}builtInTools: [{{tool: read_file, folder: .}}]\n")
        agent = Blueprint.load(file)
        assert isinstance(agent, Agent)
        (tool,) = agent.spec.tools
        assert "maxTurns: 1" in str(await tool.call('{"path": "a.yaml"}', RunContext.over(ScriptedModel())))
        with pytest.raises(ToolError):
            await tool.call('{"path": "../secret.txt"}', RunContext.over(ScriptedModel()))
