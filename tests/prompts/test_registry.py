"""Providers of prompts by name: those that a program registers, and those of `tactician.toml`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tactician.blueprint import Blueprint
from tactician.errors import BlueprintError, ConfigurationError
from tactician.prompts import FolderPrompts, LangfusePrompts, prompt_providers
from tactician.prompts.providers import PromptProviders
from tactician.runs import RunContext
from tactician.testing import ScriptedModel
from tests.support.langfuse_server import PUBLIC_KEY, SECRET_KEY, LangfuseServer, Version
from tests.support.told import told

BLUEPRINT = """
type: agent
name: Support
model: default
maxTurns: 3
instructions:
  source: provider
  providerId: {provider}
  promptId: support
  filters: {{who: Ada}}
"""


class Nobody:
    async def get_prompt(self, name: str, filters: Mapping[str, str]) -> str:
        return ""


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("TACTICIAN_CONFIG", "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY", "LANGFUSE_HOST"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def says(tmp_path: Path) -> Callable[[str], None]:
    """What `tactician.toml` says."""

    def write(text: str) -> None:
        (tmp_path / "tactician.toml").write_text(text, encoding="utf-8")

    return write


def test_registered_ones() -> None:
    providers, one, other = PromptProviders(), Nobody(), Nobody()
    providers.register("b", one)
    providers.register("a", one)
    providers.register("b", other)

    assert (providers.names, "a" in providers, "c" in providers) == (("a", "b"), True, False)
    assert providers.find("b") is other
    providers.unregister("b")
    providers.unregister("missing")
    assert providers.names == ("a",)
    providers.clear()
    assert list(providers.names) == []
    with pytest.raises(ConfigurationError, match="Registered: none"):
        providers.find("a")


def test_those_of_the_file(says: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    says('[prompts.team]\nfolder = "prompts"\n[prompts.langfuse]\nkind = "langfuse"\n')
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", PUBLIC_KEY)
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", SECRET_KEY)
    providers = PromptProviders()

    team, langfuse = providers.find("team"), providers.find("langfuse")

    assert isinstance(team, FolderPrompts)
    assert isinstance(langfuse, LangfusePrompts)
    assert (team.folder, langfuse.host) == (Path("prompts"), "https://cloud.langfuse.com")
    assert (providers.find("team"), providers.find("langfuse")) == (team, langfuse)
    assert (providers.names, "team" in providers) == (("langfuse", "team"), True)
    with pytest.raises(ConfigurationError, match="Did you mean 'team'"):
        providers.find("teem")


def test_what_the_program_registers_comes_first(says: Callable[[str], None]) -> None:
    says('[prompts.team]\nfolder = "prompts"\n')
    providers, own = PromptProviders(), Nobody()
    providers.register("team", own)

    assert (providers.find("team"), providers.names) == (own, ("team",))
    providers.unregister("team")
    assert isinstance(providers.find("team"), FolderPrompts)


def test_the_file_is_read_when_a_name_is_not_registered(says: Callable[[str], None]) -> None:
    says("[prompts]\nteam = 1\n")
    providers = PromptProviders()
    providers.register("own", Nobody())
    providers.find("own")
    with pytest.raises(ConfigurationError, match=r"tactician\.toml is wrong:\n  - line 2: prompts\.team: "):
        providers.find("team")

    says('[prompts.team]\nfolder = "a"\n')
    assert isinstance(providers.find("team"), FolderPrompts)
    says('[prompts.other]\nfolder = "a"\n')
    assert "other" not in providers
    providers.clear()
    assert "other" in providers


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[prompts.a]\n", r'prompts\.a: .*set `folder = "\.\.\."`, or `kind = "langfuse"` without a folder'),
        ('[prompts.a]\nkind = "folder"\n', r"prompts\.a: .*set `folder"),
        ('[prompts.a]\nkind = "langfuse"\nfolder = "b"\n', r"prompts\.a: .*without a folder"),
        ('[prompts.a]\nkind = "git"\n', r"prompts\.a\.kind: Input should be 'folder' or 'langfuse'"),
        ('[prompts.a]\nfolder = ""\n', r"prompts\.a\.folder"),
        ('[prompts.a]\nkind = "langfuse"\nsecret_key = "x"\n', r"prompts\.a\.secret_key: there is no such field"),
    ],
)
def test_mistakes_in_the_file(text: str, why: str, says: Callable[[str], None]) -> None:
    says(text)
    with pytest.raises(ConfigurationError, match=rf"tactician\.toml is wrong:\n  - line \d: {why}"):
        PromptProviders().find("a")


def test_keys_that_are_missing(says: Callable[[str], None]) -> None:
    says('[prompts.ours]\nkind = "langfuse"\n')
    why = r"tactician\.toml: prompts\.ours: Langfuse needs LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY"
    with pytest.raises(ConfigurationError, match=why):
        prompt_providers.find("ours")
    assert "ours" in prompt_providers
    with pytest.raises(BlueprintError, match=why):
        Blueprint.from_yaml(BLUEPRINT.format(provider="ours")).build()


async def told_by(provider: str) -> list[str]:
    """What the agent of a blueprint tells its model, in a program that registers nothing."""
    model = ScriptedModel("Hello")
    agent = Blueprint.from_yaml(BLUEPRINT.format(provider=provider)).build()
    await agent.run("hi", context=RunContext.over(model))
    return told(model)


async def test_a_blueprint_with_a_folder(says: Callable[[str], None], tmp_path: Path) -> None:
    says('[prompts.team]\nfolder = "prompts"\n')
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "support.md").write_text("Help {{who}}.", encoding="utf-8")
    assert await told_by("team") == ["Help Ada."]


async def test_a_blueprint_with_langfuse(says: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    says('[prompts.langfuse]\nkind = "langfuse"\n')
    async with LangfuseServer({"support": [Version("Help {{who}}.")]}) as server:
        monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", PUBLIC_KEY)
        monkeypatch.setenv("LANGFUSE_SECRET_KEY", SECRET_KEY)
        monkeypatch.setenv("LANGFUSE_HOST", server.url)
        assert await told_by("langfuse") == ["Help Ada."]
