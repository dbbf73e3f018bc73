"""Skills, by the sentences of the guide."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tactician.errors import ConfigurationError, DeclarationError
from tactician.llm import ToolResult
from tactician.prompts import LlmReference, Reference
from tactician.runs import RunContext
from tactician.skills import Skills
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools.toolbox import Toolbox

Write: TypeAlias = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, *lines: str, body: str = "# Steps\n\nDo it.", folder: str = "", **files: str) -> Path:
        place = tmp_path / folder / name
        place.mkdir(parents=True)
        front = lines or (f"name: {name}", f"description: Does {name}")
        (place / "SKILL.md").write_text("\n".join(("---", *front, "---", body)))
        for path, content in files.items():
            (file := place / path.replace("__", "/")).parent.mkdir(exist_ok=True)
            file.write_text(content)
        return place

    return write


async def call(skills: Skills, name: str, /, **arguments: object) -> ToolResult:
    return await Toolbox(skills.tools).answer(
        ToolCall(name, **arguments).to_call("1"), RunContext.over(ScriptedModel())
    )


async def test_a_model_sees_available_skills_activates_one_and_reads_its_resources(
    write: Write, tmp_path: Path
) -> None:
    write("bills", body="Read references/tax.txt first.", references__tax="19 %")
    (tmp_path / "bills/references/tax").rename(tmp_path / "bills/references/tax.txt")
    write("letters")
    skills = Skills("Office", "What the office does").local(tmp_path)
    model = ScriptedModel(
        ToolCall("office_activate", name="bills"),
        ToolCall("office_list_resources", skill="bills", kind="references"),
        ToolCall("office_read_resource", skill="bills", path="references/tax.txt"),
        "19 %",
    )
    answer = await model.ai().with_reference(skills).generate_text("Which tax is on a bill?")

    assert answer == "19 %"
    prompt = model.calls[0].messages[0].text
    assert "- bills: Does bills\n- letters: Does letters" in prompt
    assert "Read references/tax.txt" not in prompt
    results = [message.content for message in model.calls[3].messages if isinstance(message, ToolResult)]
    assert "Read references/tax.txt first." in results[0]
    assert results[1:] == ['["references/tax.txt"]', "19 %"]


def test_only_minimal_metadata_is_in_the_system_prompt(write: Write, tmp_path: Path) -> None:
    for number in range(10):
        write(f"skill-{number}", body="word " * 5_000)
    with_ten = Skills("Office", "x").local(tmp_path).contribution()
    assert len(with_ten) - len(Skills("Office", "x").contribution()) < 10 * 100 * 4


def test_skills_is_a_reference_and_can_be_combined_with_others(write: Write) -> None:
    skills = Skills("Office", "What the office does").local(write("bills"))
    model = ScriptedModel("ok")
    other: LlmReference = Reference("Data", "Files", "Search first.")
    model.ai().with_references(other, skills).generate_text_sync("go")
    assert "Reference: Data" in model.calls[0].messages[0].text
    assert [spec.name for spec in model.calls[0].tools] == [
        "office_activate", "office_list_resources", "office_read_resource"
    ]  # fmt: skip


def test_load_a_single_skill_from_a_directory(write: Write) -> None:
    assert [skill.name for skill in Skills("x", "x").local(write("bills")).skills] == ["bills"]


def test_local_skills_scans_immediate_subdirectories_only(write: Write, tmp_path: Path) -> None:
    write("bills")
    write("letters", folder="deep")
    assert [skill.name for skill in Skills("x", "x").local(tmp_path).skills] == ["bills"]
    assert [skill.name for skill in Skills("x", "x").local(tmp_path, nested=True).skills] == ["bills", "letters"]


def test_a_folder_without_skills_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no skill in"):
        Skills("x", "x").local(tmp_path)
    with pytest.raises(ConfigurationError, match="is not a folder with skills"):
        Skills("x", "x").local(tmp_path / "missing")


def test_two_skills_of_a_name_are_an_error_and_the_same_one_counts_once(write: Write, tmp_path: Path) -> None:
    write("bills", folder="a")
    write("bills", folder="b")
    once = Skills("x", "x").local(tmp_path / "a").local(tmp_path / "a")
    assert len(once.skills) == 1
    with pytest.raises(DeclarationError, match=r"the skill 'bills' is in .*a/bills and in .*b/bills"):
        once.local(tmp_path / "b")


class TestLenience:
    def test_unknown_fields_warn(self, write: Write, caplog: pytest.LogCaptureFixture) -> None:
        place = write("bills", "name: bills", "description: x", "model: opus")
        assert Skills("x", "x").local(place).skills[0].description == "x"
        assert "unknown fields: model" in caplog.text

    def test_broken_rules_warn(self, write: Write, caplog: pytest.LogCaptureFixture) -> None:
        place = write("bills", "name: Big Bills")
        (skill,) = Skills("x", "x").local(place).skills
        assert (skill.name, skill.description) == ("Big Bills", "Steps")
        assert "description: it is missing" in caplog.text
        assert "must be the name of its folder" in caplog.text

    def test_what_cannot_be_read_is_left_out(
        self, write: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        write("bills")
        write("letters", "name: [a")
        assert [skill.name for skill in Skills("x", "x").local(tmp_path).skills] == ["bills"]
        assert "letters is left out" in caplog.text

    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            ("argument-hint: [apk-file-or-directory]", "braces and brackets are not allowed"),
            ("metadata: {a: [1, 2]}", "braces and brackets are not allowed"),
            ("hint: !tag x", "tags are not allowed"),
            ("hint: &a x", "anchors"),
            ("license: MIT\nlicense: BSD", "is there twice"),
            ("compatibility: Needs: Node.js", "not valid YAML"),
        ],
    )
    async def test_a_field_that_nobody_needs_drops_no_skill(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture, line: str, problem: str
    ) -> None:
        (tmp_path / "scan").mkdir()
        (tmp_path / "scan/SKILL.md").write_text(f"---\nname: scan\ndescription: Scans\n{line}\n---\nScan it.\n")
        skills = Skills("Office", "x").local(tmp_path)
        assert "- scan: Scans" in skills.contribution()
        assert problem in caplog.text
        assert "Scan it." in (await call(skills, "activate", name="scan")).content

    @pytest.mark.parametrize("text", ["Use this: always", "It's for a: b, c: d", "Ends with a colon:"])
    def test_a_description_with_a_colon_is_read(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "scan").mkdir()
        (tmp_path / "scan/SKILL.md").write_text(f"---\nname: scan\ndescription: {text}\n---\nScan it.\n")
        assert f"- scan: {text}" in Skills("Office", "x").local(tmp_path).contribution()

    def test_files_that_instructions_name_must_exist(self, write: Write, caplog: pytest.LogCaptureFixture) -> None:
        place = write("bills", body="Run scripts/build.sh, then see references/a/b.md.", scripts__x="")
        Skills("x", "x").local(place)
        assert "name scripts/build.sh, which does not exist" in caplog.text
        assert "name references/a/b.md, which" in caplog.text
        caplog.clear()
        Skills("x", "x", checks_files=False).local(place)
        assert caplog.records == []

    def test_a_valid_skill_warns_of_nothing(self, write: Write, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO):
            Skills("x", "x").local(write("bills"))
        assert caplog.records == []


class TestPaths:
    @pytest.mark.parametrize(
        "path", ["../secret.txt", "/etc/passwd", "references/../../secret.txt", "link.txt", "up/secret.txt"]
    )
    async def test_a_path_cannot_leave_the_folder(self, write: Write, tmp_path: Path, path: str) -> None:
        (tmp_path / "secret.txt").write_text("secret")
        place = write("bills")
        (place / "link.txt").symlink_to(tmp_path / "secret.txt")
        (place / "up").symlink_to(tmp_path)
        result = await call(Skills("x", "x").local(place), "read_resource", skill="bills", path=path)
        assert result.is_error
        assert "secret" not in result.content.replace("secret.txt", "")

    async def test_links_are_not_listed(self, write: Write, tmp_path: Path) -> None:
        place = write("bills", references__a="x")
        (place / "references/b").symlink_to(tmp_path)
        (place / ".hidden").write_text("x")
        assert (
            await call(Skills("x", "x").local(place), "list_resources", skill="bills")
        ).content == '["references/a"]'

    def test_instructions_that_are_a_link_are_not_read(self, write: Write, tmp_path: Path) -> None:
        place = write("bills")
        (place / "SKILL.md").rename(tmp_path / "real.md")
        (place / "SKILL.md").symlink_to(tmp_path / "real.md")
        with pytest.raises(ConfigurationError, match="no skill"):
            Skills("x", "x").local(place)

    async def test_a_long_file_is_read_in_parts(self, write: Write) -> None:
        skills = Skills("x", "x").local(write("bills", assets__a="a" * 50_000 + "b"))
        first = await call(skills, "read_resource", skill="bills", path="assets/a")
        assert first.content.endswith("[1 more byte; read on at offset 50000]")
        second = await call(skills, "read_resource", skill="bills", path="assets/a", offset=50_000)
        assert second.content == "b"

    async def test_what_is_not_text_is_refused(self, write: Write) -> None:
        place = write("bills", assets__a="")
        (place / "assets/a").write_bytes(b"\0\1")
        result = await call(Skills("x", "x").local(place), "read_resource", skill="bills", path="assets/a")
        assert "not a text file" in result.content

    async def test_a_pipe_does_not_wait(self, write: Write) -> None:
        place = write("bills")
        os.mkfifo(place / "pipe")
        skills = Skills("x", "x").local(place)
        assert (await call(skills, "read_resource", skill="bills", path="pipe")).is_error
        assert (await call(skills, "list_resources", skill="bills")).content == "[]"


async def test_unknown_skills_are_told_with_those_that_are_known(write: Write) -> None:
    result = await call(Skills("x", "x").local(write("bills")), "activate", name="bils")
    assert result.content == "There is no skill 'bils'. Did you mean 'bills'? Skills: bills."
