"""Libraries, agent skills and servers as entries of files and of blueprints, there and back."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from tactician import Agent, Blueprint, RunContext
from tactician.conversation import ChatUser
from tactician.errors import BlueprintError, ConfigurationError
from tactician.mcp.references import McpReference
from tactician.prompts import LlmReference, Persona
from tactician.rag import (
    Chunking,
    Filter,
    FolderLibrary,
    Library,
    RagTools,
    VectorLibrary,
    WordLlamaEmbedder,
    parse_markdown,
)
from tactician.references import load_references
from tactician.skills import Skills
from tactician.testing import ScriptedModel

KEYS = {"ACME_API_KEY": "key"}
ALLOW = ("tests.references", "tactician.references")

PROGRAM_LIBRARY = Library()


def open_library() -> Library:
    """Return the library of the program."""
    return PROGRAM_LIBRARY


def go_nowhere() -> int:
    """Return no library."""
    return 1


def find_own(context: RunContext) -> dict[str, str] | None:
    """Return what the user may see."""
    user = context.find(ChatUser)
    return None if user is None else {"reader": user.id}


@pytest.fixture
async def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "skills" / "tax").mkdir(parents=True)
    (tmp_path / "skills" / "tax" / "SKILL.md").write_text("---\nname: tax\ndescription: Adds the tax.\n---\nAdd it.\n")
    (tmp_path / "texts").mkdir()
    async with Library("rules.db") as library:
        await library.add(parse_markdown("# Rules\n\nNo shoes.\n", "rules.md", metadata={"team": "all"}))
    (tmp_path / "tactician.toml").write_text(
        f"[mcp.wiki]\ncommand = {sys.executable!r}\nargs = ['-m', 'nothing']\ndescription = 'The wiki'\n"
    )
    return tmp_path


def load(folder: Path, text: str) -> Sequence[LlmReference]:
    (folder / "references.yml").write_text(text)
    return load_references(folder / "references.yml", allow=ALLOW)


def go_round(reference: LlmReference) -> tuple[dict[str, object], LlmReference]:
    """Return the entry of a reference, and the reference that is built of it, whose entry is the same."""
    blueprint = Agent("Clerk", model="acme/model", references=[reference]).to_blueprint()
    built = Blueprint.from_yaml(blueprint.to_yaml()).build(allow=ALLOW, environment=KEYS)
    assert isinstance(built, Agent)
    assert built.to_blueprint() == blueprint
    entry = cast("list[dict[str, object]]", blueprint.to_data()["references"])[0]
    return entry, built.spec.references[0]


class TestLibraries:
    def test_an_entry_has_all_of_it(self, folder: Path) -> None:
        library = Library("rules.db", embedder=WordLlamaEmbedder(), chunking=Chunking(max_chars=900), vector_weight=0.5)
        scope = Filter.of({"team": ["all", "sales"], "year": 2026})
        entry, built = go_round(RagTools("Rules", "What guests do", library, scope=scope, cites=False, max_chars=900))

        assert entry == {
            "kind": "library",
            "name": "Rules",
            "description": "What guests do",
            "path": "rules.db",
            "embedder": "wordllama",
            "chunking": {"max_chars": 900, "overlap": 200, "section_titles": True},
            "scope": {"team": ["all", "sales"], "year": 2026},
            "cites": False,
            "maxChars": 900,
            "vectorWeight": 0.5,
        }
        assert isinstance(built, RagTools)
        assert isinstance(built.library, VectorLibrary)
        assert built.library.vector_weight == 0.5
        assert (built.scope, built.cites, built.library.chunking.max_chars) == (scope, False, 900)

    def test_the_scope_is_a_function(self, folder: Path) -> None:
        entry, built = go_round(RagTools("Texts", "All texts", FolderLibrary("texts"), scope=find_own))

        assert (entry["folder"], entry["scope"]) == ("texts", "tests.references.test_late_kinds.find_own")
        assert isinstance(built, RagTools)
        assert built.scope is find_own

    def test_a_database_without_a_password(self) -> None:
        entry, built = go_round(RagTools("Rules", "x", Library("postgresql://db.example/rules", embedder="acme/embed")))

        assert (entry["url"], entry["embedder"]) == ("postgresql://db.example/rules", "acme/embed")
        assert isinstance(built, RagTools)

    async def test_a_file_of_references(self, folder: Path) -> None:
        rules, texts, own = load(
            folder,
            """\
- kind: library
  name: Rules
  description: What guests do
  path: rules.db
  scope: {team: all}
- {kind: library, name: Texts, description: x, folder: texts, maxChars: 500}
- {kind: library, name: Own, description: x, library: tests.references.test_late_kinds.open_library}
""",
        )
        assert isinstance(rules, RagTools)
        assert isinstance(texts, RagTools)
        assert isinstance(own, RagTools)
        assert own.library is PROGRAM_LIBRARY
        found = await rules.retrieve("shoes", context=RunContext.over(ScriptedModel()))
        assert "No shoes." in found.contribution()
        assert (texts.max_chars, [tool.name for tool in texts.named_tools]) == (
            500,
            ["texts_text_search", "texts_regex_search"],
        )

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ("", "say one of path, url, folder or library"),
            ("path: rules.db, folder: texts", "say one of path, url, folder or library"),
            ("path: nothing.db", "there is no library at"),
            ("path: ../rules.db", "outside of"),
            ("folder: nothing", "is not a folder"),
            ("path: rules.db, scope: acme.secret", "acme.secret"),
            ("path: rules.db, scope: [1]", "scope: it must be a filter on metadata"),
            ("path: rules.db, chunking: {max_chars: many}", "max_chars"),
            ("path: rules.db, colour: red", "colour"),
            ("library: tests.references.test_late_kinds.go_nowhere", "cannot be searched"),
        ],
    )
    def test_mistakes_have_their_lines(self, folder: Path, fields: str, problem: str) -> None:
        text = f"- {{name: a, description: b}}\n- {{kind: library, name: Rules, description: x, {fields}}}\n"
        with pytest.raises(ConfigurationError, match=problem) as raised:
            load(folder, text)
        assert "line 2" in str(raised.value)

    @pytest.mark.parametrize(
        ("reference", "problem"),
        [
            (RagTools("Rules", "x", Library()), "in no file and no database"),
            (RagTools("Rules", "x", Library("postgresql://u:secret@db.example/x")), "has a password"),
            (RagTools("Rules", "x", Library("a.db"), listeners=[print]), "its listeners"),
            (RagTools("Rules", "x", Library("a.db"), hints=[Persona("Alex", "A clerk")]), "hints"),
            (RagTools("Rules", "x", Library("a.db"), scope=lambda context: None), "no import finds"),
        ],
    )
    def test_what_no_entry_can_have_is_said(self, reference: RagTools, problem: str) -> None:
        with pytest.raises(BlueprintError, match=problem) as raised:
            Agent("Clerk", model="acme/model", references=[reference]).to_blueprint(strict=True)
        assert "secret" not in str(raised.value)


class TestSkills:
    def test_a_file_of_references(self, folder: Path) -> None:
        (skills,) = load(
            folder, "- {kind: skills, name: Office, description: x, sources: [{folder: skills}], scripts: never}"
        )
        assert isinstance(skills, Skills)
        assert ([skill.name for skill in skills.skills], skills.scripts.mode) == (["tax"], "never")
        assert go_round(skills)[1] == skills


class TestServers:
    def test_a_server_of_the_settings(self, folder: Path) -> None:
        (reference,) = load(folder, "- {kind: mcp, server: wiki, name: Wiki, patterns: ['wiki://public/*']}")
        entry, built = go_round(reference)

        assert entry == {
            "kind": "mcp",
            "server": "wiki",
            "name": "Wiki",
            "description": "The wiki",
            "patterns": ["wiki://public/*"],
        }
        assert isinstance(built, McpReference)
        assert built.patterns == ("wiki://public/*",)

    async def test_a_server_that_cannot_be_reached_leaves_the_tool(self, folder: Path) -> None:
        (reference,) = load(folder, "- {kind: mcp, server: wiki}")

        assert "wiki_read_resource" in await reference.contribute(RunContext.over(ScriptedModel()))

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ("server: wikki", "no server 'wikki'.*Did you mean 'wiki'"),
            ("server: wiki, patterns: []", "patterns"),
        ],
    )
    def test_mistakes(self, folder: Path, fields: str, problem: str) -> None:
        with pytest.raises(ConfigurationError, match=problem):
            load(folder, f"- {{kind: mcp, {fields}}}")


@pytest.mark.parametrize("kind", ["library", "skills", "mcp"])
def test_a_text_of_others_needs_permission(kind: str) -> None:
    data = Agent("Clerk", model="acme/model").to_blueprint().to_data()
    entry = {"kind": kind, "name": "x", "description": "y", "path": "rules.db"}
    with pytest.raises(BlueprintError, match=f"the reference '{kind}' is not allowed"):
        Blueprint.from_data({**data, "references": [entry]}).build(environment=KEYS)
