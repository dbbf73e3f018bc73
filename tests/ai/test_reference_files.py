"""References that a YAML file lists."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from tactician import tool
from tactician.errors import ConfigurationError
from tactician.llm.messages import SystemMessage
from tactician.prompts import LlmReference, Reference
from tactician.references import load_references
from tactician.testing import ScriptedModel


@dataclass
class Repository(LlmReference):
    url: str
    description: str
    branch: str = "main"

    def __post_init__(self) -> None:
        if not self.url.startswith("https://"):
            raise ValueError(f"{self.url} is no address")
        self.name = self.url.rpartition("/")[2]

    @tool
    def read(self, path: str) -> str:
        """A file."""
        return f"{self.branch}/{path}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "references.yml"


def written(file: Path, text: str) -> Path:
    file.write_text(dedent(text), encoding="utf-8")
    return file


KNOWN = "known: text, file, web, directory, repository, python, resource, git, nothing, library, skills, mcp"
GOOD = """\
    - name: House rules
      description: What guests do
      notes: >
        No shoes.
        No phones.
    - kind: file
      name: Handbook
      description: What Acme promises
      path: texts/handbook.md
    - kind: git
      url: https://example.com/agents
      description: Examples
    """


async def test_texts_files_and_kinds_of_a_program(scripted_model: ScriptedModel, file: Path) -> None:
    written(file, GOOD)
    (file.parent / "texts").mkdir()
    (file.parent / "texts" / "handbook.md").write_text("30 days of holidays")
    scripted_model.script("x")

    await scripted_model.ai().with_references(*load_references(file, {"git": Repository})).generate_text("hi")

    system = scripted_model.calls[0].messages[0]
    assert isinstance(system, SystemMessage)
    assert system.text.split("\n\n") == [
        "Reference: House rules\nWhat it is: What guests do\nNo shoes. No phones.",
        "Reference: Handbook\nWhat it is: What Acme promises\n30 days of holidays",
        "Reference: agents\nWhat it is: Examples\nIts tools: agents_read",
    ]


def test_every_mistake_is_told_with_its_entry(file: Path) -> None:
    written(
        file,
        """\
        - name: Right
          description: Nothing is wrong
        - kind: wiki
          name: x
        - name: 7
          notes: no description
        - name: x
          description: y
          note: misspelt
        - kind: file
          name: x
          description: y
          path: ../secret
        - kind: git
          url: ftp://example.com
          description: x
        - kind: git
          description: x
        - kind: nothing
        - only a text
        - kind: [text]
        - 1: x
        """,
    )
    (file.parent.parent / "secret").write_text("secret")

    with pytest.raises(ConfigurationError) as raised:
        load_references(file, {"git": Repository, "nothing": lambda: None})  # type: ignore[dict-item,return-value]

    first, *problems = str(raised.value).splitlines()
    assert first == f"{file}:"
    assert problems == [
        f"  - line 3: [1]: there is no kind 'wiki'; {KNOWN}",
        "  - line 5: [2]: missing a required argument: 'description'",
        "  - line 7: [3]: got an unexpected keyword argument 'note'",
        f"  - line 13: [4].path: '../secret' is outside of {file.parent}: nothing is read there",
        "  - line 14: [5]: ftp://example.com is no address",
        "  - line 17: [6]: missing a required argument: 'url'",
        "  - line 19: [7]: the kind 'nothing' must return an LlmReference, not a NoneType",
        "  - line 20: [8]: it must be a mapping, such as `name: ...` with `description: ...` below it",
        f"  - line 21: [9]: there is no kind ['text']; {KNOWN}",
        "  - line 22: [10]: missing a required argument: 'name'",
    ]


def test_a_value_of_another_type(file: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"line 1: \[0\]\.name: Input should be a valid string"):
        load_references(written(file, "- name: 7\n  description: x"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: x", "it must be a list of references"),
        ("", "it must be a list of references"),
        ("- [", "line 2: it is not YAML: did not find"),
        ("- !!python/object/apply:os.getcwd []", r"line 1: \[0\]: the tag '.*os.getcwd' means nothing here"),
        ("[" * 100_000, "line 1: it is nested more than 128 deep"),
    ],
)
def test_what_is_no_list_of_references(file: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        load_references(written(file, text))


def test_a_file_that_is_not_there(file: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"The references in .*references\.yml cannot be read: No such file"):
        load_references(str(file))


def test_an_empty_list(file: Path) -> None:
    assert load_references(written(file, "[]")) == ()
    assert load_references(written(file, "- {name: a, description: b}")) == (Reference("a", "b"),)
