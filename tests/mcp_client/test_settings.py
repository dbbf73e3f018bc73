"""MCP servers in `tactician.toml`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tactician import Agent, Platform
from tactician.config.loading import load_settings
from tactician.errors import ConfigurationError
from tactician.llm import ToolResult
from tactician.llm.messages import join_text
from tactician.references import load_references
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import ToolGroup
from tactician.tools.group_registry import ToolGroups

Configure: TypeAlias = Callable[[str], object]
ROOT = Path(__file__).parents[2]
PATHS = json.dumps(os.pathsep.join([str(ROOT), str(ROOT / "src")]))
PROGRAM = f"""
command = {json.dumps(sys.executable)}
args = ["-m", "tests.mcp_client.${{DEMO_MODULE:-demo}}"]
env = {{ PYTHONPATH = {PATHS}, DEMO_KEY = "${{DEMO_KEY}}" }}
"""


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    monkeypatch.chdir(tmp_path)
    return Path("tactician.toml").write_text


async def test_a_server_is_a_tool_group(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_KEY", "sk-1")
    configure(
        f'[mcp.demo]{PROGRAM}tools = ["add", "w*"]\nexclude = ["wait"]\nprefix = "my_"\ndescription = "A demo"\n'
        '[tool_groups.sums]\ntools = ["demo:my_add"]'
    )
    model = ScriptedModel(ToolCall("my_add", a=1, b=2), "3")
    async with Platform(model) as platform:
        assert platform.tool_groups["demo"].description == "A demo"
        result = await Agent("A", tool_groups=["demo"]).run("1 + 2?", context=platform.context())
        assert [spec.name for spec in model.calls[0].tools] == ["my_add", "my_weather", "my_walk"]
        assert isinstance(result.messages[-2], ToolResult)
        assert result.messages[-2].content == "3"
        assert [one.name for one in await platform.tool_groups["sums"].load_tools()] == ["my_add"]


async def test_a_variable_that_is_not_set_is_named(configure: Configure) -> None:
    configure(f"[mcp.demo]{PROGRAM}")
    with pytest.raises(ConfigurationError, match=r"mcp\.demo\.env\.DEMO_KEY: DEMO_KEY is not set"):
        await ToolGroups()["demo"].load_tools()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[mcp.a]\ntools = ["x"]', "set `command = "),
        ('[mcp.a]\ncommand = "x"\nurl = "y"', "set `command = "),
        ('[mcp.a]\nurl = "x"\ntransport = "soap"', "transport"),
        ('[mcp.a]\ncommand = "x"\narguments = []', "there is no such field"),
    ],
)
def test_mistakes_are_refused(configure: Configure, text: str, problem: str) -> None:
    configure(text)
    with pytest.raises(ConfigurationError, match=problem):
        load_settings()


def test_secrets_are_not_shown(configure: Configure) -> None:
    configure('[mcp.a]\nurl = "https://h?key=sk-1"\nheaders = { Authorization = "sk-2" }\nargs = ["sk-3"]')
    assert "sk-" not in repr(load_settings())


def test_a_name_that_is_taken_is_refused(configure: Configure) -> None:
    configure('[mcp.web]\nurl = "https://host/mcp"')
    with pytest.raises(ConfigurationError, match="another tool group has the name web"):
        list(ToolGroups([ToolGroup("web", [])]))


def test_common_groups_exist_when_their_servers_are_configured(configure: Configure) -> None:
    configure('[mcp.brave-search-mcp]\ncommand = "x"\n[mcp.github-mcp]\nurl = "https://host/mcp"')
    assert {"web", "github"} <= set(ToolGroups())
    assert not {"maps", "browser_automation"} & set(ToolGroups())


async def test_the_gateway_of_docker_has_the_tools_of_all(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEMO_KEY", "sk-1")
    monkeypatch.setenv("DEMO_MODULE", "gateway")
    configure(f"[mcp.docker-mcp]{PROGRAM}")
    groups = ToolGroups()
    found = {name: [one.name for one in await groups[name].load_tools()] for name in ("web", "maps", "github")}
    await groups["docker-mcp"].aclose()
    assert found == {
        "web": ["brave_web_search", "fetch"],
        "maps": ["maps_geocode"],
        "github": ["create_issue", "add_issue_comment"],
    }


def test_an_own_group_takes_the_place_of_a_common_one(configure: Configure) -> None:
    configure('[mcp.fetch-mcp]\ncommand = "x"')
    own = ToolGroup("web", [])
    assert ToolGroups([own])["web"] is own


async def test_resources_of_a_server_are_an_entry_of_references(
    configure: Configure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DEMO_KEY", "k")
    configure(f"[mcp.demo]\n{PROGRAM}")
    file = tmp_path / "references.yml"
    file.write_text("- {kind: mcp, server: demo, name: Manuals, patterns: ['demo://page/*']}\n")
    model = ScriptedModel(
        ToolCall("manuals_read_resource", uri="demo://page/7"),
        ToolCall("manuals_read_resource", uri="demo://manual"),
        "page 7 it is",
    )
    await Agent("Reader", model=model, references=load_references(file)).run("What is on page 7?")

    prompt = join_text(model.calls[0].messages)
    assert "What it is: Be kind." in prompt
    assert "- demo://page/{number}: page: A page" in prompt
    assert "demo://manual" not in prompt.partition("What is on")[0]
    page, refused = [one for one in model.calls[2].messages if isinstance(one, ToolResult)]
    assert "page 7" in page.content
    assert "not among the resources" in refused.content
