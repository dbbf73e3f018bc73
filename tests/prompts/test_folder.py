"""Prompts in a folder: what is found in it, and that nothing outside of it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tactician import Agent
from tactician.errors import ConfigurationError, MissingPromptVariable
from tactician.prompts import FolderPrompts, ProvidedInstructions, prompt_providers
from tactician.testing import ScriptedModel
from tests.support.told import told


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "prompts"
    (inside / "support").mkdir(parents=True)
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    (tmp_path / "prompts-of-others").mkdir()
    (tmp_path / "prompts-of-others" / "secret.md").write_text("secret", encoding="utf-8")
    return inside


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")


async def test_an_agent_is_told_what_a_file_says(folder: Path) -> None:
    write(folder, "support/greeting.md", "Greet {{ who }} with {{how}}.")
    prompt_providers.register("team", FolderPrompts(folder))
    model = ScriptedModel("Hello")
    filters = {"who": "{{how}}", "how": "joy", "label": "production"}

    await Agent("A", model=model, instructions=ProvidedInstructions("team", "support/greeting", filters)).run("hi")

    assert told(model) == ["Greet {{how}} with joy."]


@pytest.mark.parametrize("ending", ["", ".md", ".txt", ".prompt"])
async def test_the_ending_may_be_left_out(ending: str, folder: Path) -> None:
    write(folder, f"support/v1.2{ending}", "Be kind.")
    write(folder, "v1.2.py", "print()")

    prompts = FolderPrompts(str(folder))

    assert await prompts.get_prompt("support/v1.2", {}) == "Be kind."
    assert await prompts.get_prompt(f"support/v1.2{ending}", {}) == "Be kind."
    with pytest.raises(ConfigurationError, match=r"no file in it is called 'v1\.2'"):
        await prompts.get_prompt("v1.2", {})


async def test_the_whole_name_comes_first_and_a_folder_is_no_prompt(folder: Path) -> None:
    write(folder, "support.md", "of the team")
    write(folder, "support.txt", "another")
    write(folder, "support.md.txt", "of the file")

    prompts = FolderPrompts(folder)

    assert await prompts.get_prompt("support", {}) == "of the team"
    assert await prompts.get_prompt("support.md", {}) == "of the team"
    assert await prompts.get_prompt("support.txt", {}) == "another"


async def test_a_file_that_changes_is_read_again(folder: Path) -> None:
    prompts = FolderPrompts(folder)
    write(folder, "a.md", "one")
    assert await prompts.get_prompt("a", {}) == "one"
    write(folder, "a.md", "\N{BYTE ORDER MARK}two")
    assert await prompts.get_prompt("a", {}) == "two"


async def test_links_inside_the_folder_are_followed(folder: Path) -> None:
    write(folder, "a.md", "Be kind.")
    (folder / "support" / "b.md").symlink_to(folder / "a.md")
    (folder.parent / "link").symlink_to(folder)

    assert await FolderPrompts(folder).get_prompt("support/b", {}) == "Be kind."
    assert await FolderPrompts(folder.parent / "link").get_prompt("support/../a", {}) == "Be kind."


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "../secret.md",
        "../prompts-of-others/secret",
        "support/../../secret",
        "{absolute}",
        "link",
        "links/secret",
        "circle",
        "a\0",
        "\udcff",
        "a" * 5_000,
        "",
        ".",
        "..",
        "support",
        "support/missing",
    ],
)
async def test_nothing_else_is_a_prompt(name: str, folder: Path) -> None:
    (folder / "link.md").symlink_to(folder.parent / "secret.md")
    (folder / "links").symlink_to(folder.parent)
    (folder / "circle").symlink_to(folder / "circle")
    name = name.format(absolute=folder.parent / "secret.md")

    with pytest.raises(ConfigurationError) as caught:
        await FolderPrompts(folder).get_prompt(name, {})

    assert str(caught.value).startswith(f"There is no prompt {name!r} in {folder}: no file in it is called {name!r}")


async def test_what_is_wrong_with_a_file(folder: Path) -> None:
    (folder / "latin.md").write_bytes(b"caf\xe9")
    write(folder, "long.md", "a" * 1_000_001)
    prompts = FolderPrompts(folder)

    with pytest.raises(ConfigurationError, match=r"^The prompt 'latin' in .*: the file is not UTF-8\.$"):
        await prompts.get_prompt("latin", {})
    with pytest.raises(ConfigurationError, match=r"^The prompt 'long' in .* has more than 1,000,000 characters\.$"):
        await prompts.get_prompt("long", {})


async def test_a_variable_without_a_value(folder: Path) -> None:
    write(folder, "support/greeting.md", "Greet {{who}}.")
    with pytest.raises(MissingPromptVariable) as caught:
        await FolderPrompts(folder).get_prompt("support/greeting", {"how": "joy"})
    assert str(caught.value) == (
        "support/greeting: the instructions need a value for {{who}}; pass filters={'who': ...} (given: how)"
    )


async def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    prompts = FolderPrompts(tmp_path / "missing")
    assert repr(prompts) == f"FolderPrompts({str(tmp_path / 'missing')!r})"
    with pytest.raises(ConfigurationError, match=r"There is no prompt 'a': .*missing is not a folder\."):
        await prompts.get_prompt("a", {})
