"""Rules of skills: the same verdicts as the reference validator."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import skills_ref
from hypothesis import given
from hypothesis import strategies as st

from tactician.skills.front_matter import FrontMatterError, read_front_matter, split_front_matter
from tactician.skills.rules import check_skill

VALID = "---\nname: my-skill\ndescription: Does a thing\n---\n# Steps\n"


def front(*lines: str) -> str:
    return "\n".join(("---", *lines, "---", "body"))


CORPUS = {
    "plain": VALID,
    "all fields": front(
        "name: my-skill", "description: x", "license: MIT", "compatibility: Requires Python", "metadata:",
        "  author: a", "  version: 1.0", "allowed-tools: Bash(git:*) Read",
    ),
    "quoted": front('name: "my-skill"', "description: 'it''s: fine'"),
    "folded": front("name: my-skill", "description: >", "  long", "  text"),
    "comment": front("# a comment", "name: my-skill", "description: x # y"),
    "number as description": front("name: my-skill", "description: 12"),
    "truth as description": front("name: my-skill", "description: true"),
    "null as license": front("name: my-skill", "description: x", "license:"),
    "metadata as text": front("name: my-skill", "description: x", "metadata: text"),
    "list of tools": front("name: my-skill", "description: x", "allowed-tools:", "  - a", "  - b"),
    "no front matter": "# My skill\n",
    "empty": "",
    "never closed": "---\nname: my-skill\ndescription: x\n",
    "blank front matter": "---\n---\nbody",
    "only a text": "---\njust text\n---\n",
    "a list": "---\n- name\n---\n",
    "dashes in the description": front("name: my-skill", "description: a --- b"),
    "no name": front("description: x"),
    "no description": front("name: my-skill"),
    "blank name": front("name: ''", "description: x"),
    "blank description": front("name: my-skill", "description: '  '"),
    "nothing as name": front("name:", "description: x"),
    "a list as name": front("name:", "  - my-skill", "description: x"),
    "a mapping as description": front("name: my-skill", "description:", "  a: b"),
    "upper case": front("name: My-Skill", "description: x"),
    "underscore": front("name: my_skill", "description: x"),
    "space": front("name: my skill", "description: x"),
    "another name": front("name: another", "description: x"),
    "begins with a dash": front("name: -my-skill", "description: x"),
    "ends with a dash": front("name: my-skill-", "description: x"),
    "two dashes": front("name: my--skill", "description: x"),
    "long name": front(f"name: {'a' * 65}", "description: x"),
    "longest description": front("name: my-skill", f"description: {'a' * 1024}"),
    "long description": front("name: my-skill", f"description: {'a' * 1025}"),
    "longest compatibility": front("name: my-skill", "description: x", f"compatibility: {'a' * 500}"),
    "long compatibility": front("name: my-skill", "description: x", f"compatibility: {'a' * 501}"),
    "compatibility as a list": front("name: my-skill", "description: x", "compatibility:", "  - a"),
    "unknown field": front("name: my-skill", "description: x", "model: opus"),
    "braces": front("name: my-skill", "description: x", "metadata: {a: b}"),
    "brackets": front("name: my-skill", "description: x", "allowed-tools: [a, b]"),
    "anchor": front("name: &a my-skill", "description: x"),
    "alias": front("name: &a my-skill", "description: *a"),
    "tag": front("name: !!str my-skill", "description: x"),
    "twice": front("name: my-skill", "name: my-skill", "description: x"),
    "colon": front("name: my-skill", "description: a: b"),
    "tab": front("name: my-skill", "description:\tx"),
    "open quote": front("name: my-skill", 'description: "x'),
    "byte order mark": f"\ufeff{VALID}",
    "blank line first": f"\n{VALID}",
    "windows": VALID.replace("\n", "\r\n"),
    "full width": front("name: \uff4dy-skill", "description: x"),
    "merge key": front("name: my-skill", "description: x", "metadata:", "  <<: a"),
}  # fmt: skip


def judge(content: str, folder: str = "my-skill") -> tuple[bool, bool, tuple[str, ...]]:
    """Return whether a skill is valid for the reference and for Tactician, and what is wrong with it."""
    with TemporaryDirectory() as root:
        place = Path(root) / folder
        place.mkdir()
        (place / "SKILL.md").write_bytes(content.encode())
        try:
            reference = not skills_ref.validate(place)
        except Exception:  # the reference fails on some texts
            reference = False
        problems = check_skill(place)
        return reference, not problems, problems


@pytest.mark.parametrize("name", CORPUS)
def test_the_verdict_is_that_of_the_reference_validator(name: str) -> None:
    reference, own, problems = judge(CORPUS[name])
    assert own == reference, problems


@pytest.mark.parametrize("name", ["\u00e9t\u00e9", "\u65e5\u672c", "a1", "1a", "\u0130a", "\ufb01x"])
def test_names_of_other_languages(name: str) -> None:
    reference, own, problems = judge(front(f"name: {name}", "description: x"), name)
    assert own == reference, problems


LINES = st.sampled_from(
    ["name: my-skill", "name: my-Skill", "name:", "description: x", "description: 'a: b'", "license: MIT", "metadata:",
     "  a: b", "  a: 1", "    c: d", "allowed-tools: a b", "compatibility: y", "model: z", "- a", "", "# c", "? a",
     "{}",
     "---", "...", "description: |", "  text", "name: *x", "%YAML 1.2"]
)  # fmt: skip


@given(st.lists(LINES, max_size=7))
def test_any_lines_have_the_verdict_of_the_reference_validator(lines: list[str]) -> None:
    content = front(*lines)
    reference, own, problems = judge(content)
    assert own == reference, (content, problems)


def test_other_file_names_and_places(tmp_path: Path) -> None:
    (lower := tmp_path / "my-skill").mkdir()
    (lower / "skill.md").write_text(VALID)
    assert check_skill(lower) == ()
    assert skills_ref.validate(lower) == []
    (blank := tmp_path / "blank").mkdir()
    assert check_skill(blank) == ("there is no SKILL.md in it",)
    assert check_skill(tmp_path / "missing") == ("it is not a folder",)


def test_problems_say_the_field_and_the_rule() -> None:
    assert judge(front("name: My_Skill", "descriptino: x"))[2] == (
        "unknown fields: descriptino; "
        "the fields are name, description, license, compatibility, metadata, allowed-tools",
        "description: it is missing",
        "name: 'My_Skill' must be in lower case",
        "name: 'My_Skill' may have letters, digits and '-' only",
        "name: 'My_Skill' must be the name of its folder, 'my-skill'",
    )


def test_bounded_input(tmp_path: Path) -> None:
    (place := tmp_path / "my-skill").mkdir()
    (place / "SKILL.md").write_text(VALID + "x" * 300_000)
    assert "300" in check_skill(place)[0]
    assert "longer than 64000" in judge(front("name: my-skill", f"description: {'a' * 70_000}"))[2][0]
    deep = "".join(f"{' ' * n}a:\n" for n in range(30))
    assert "nested deeper" in judge(f"---\n{deep}---\n")[2][0]


@pytest.mark.parametrize("unit", ["[", "{", "- ", "? ", "a: [", "[a, ", "\n- [", "&a [*a, ", "x: " + " " * 20_000])
def test_hostile_nesting_takes_no_time(tmp_path: Path, unit: str) -> None:
    text = f"---\nname: a\ndescription: x\nhint: {unit * (60_000 // len(unit))}\n---\n"
    started = time.process_time()
    for read in (split_front_matter, read_front_matter):
        with suppress(FrontMatterError):  # a line with a colon may be text
            read(text)
    assert time.process_time() - started < 3
