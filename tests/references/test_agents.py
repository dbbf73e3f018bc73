"""References and contributors of agents, planned agents and blueprints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tactician import Agent, Ai, Blueprint, Platform, UserInput, achieves_goal, action, planned_agent
from tactician.blueprint import BlueprintWarning
from tactician.blueprint.agents import AgentBlueprint
from tactician.errors import BlueprintError, ConfigurationError, DeclarationError
from tactician.llm.messages import SystemMessage
from tactician.prompts import (
    CurrentDate,
    KnowledgeCutoff,
    LlmReference,
    Persona,
    PromptContributor,
    Reference,
    RoleGoalBackstory,
)
from tactician.prompts.contributor_adapters import ContributorLike
from tactician.references import LocalDirectory, PythonApi, TextFile, WebPage, load_references
from tactician.runs import RunContext
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.references.acme import HouseRule, Shelf, greet, not_for_files

ALEX = Persona("Alex", "A clerk")
ALLOW = ("tests.references.acme",)


def search(text: str) -> str:
    """Search."""
    return f"about {text}"


NOTES = Reference("Notes", "What is known", tools=[search])


class Weather:
    """Has the method of a contributor, and no base class."""

    place = "end"

    def contribution(self) -> str:
        return "It rains."


def system(model: ScriptedModel, call: int = -1) -> list[str]:
    first = model.calls[call].messages[0]
    return first.text.split("\n\n") if isinstance(first, SystemMessage) else []


async def test_an_agent_has_references_and_contributors(scripted_model: ScriptedModel) -> None:
    scripted_model.script(ToolCall("notes_search", text="frogs"), "green")
    agent = Agent(
        "Clerk", model=scripted_model, instructions="Be brief.", references=[NOTES], contributors=[ALEX, Weather()]
    )

    assert (await agent.run("What colour?")).output == "green"
    assert system(scripted_model) == [ALEX.contribution(), NOTES.contribution(), "Be brief.", "It rains."]
    assert [tool.name for tool in agent.tools] == ["notes_search"]


async def test_a_reference_among_the_tools_is_a_reference(scripted_model: ScriptedModel) -> None:
    scripted_model.script("a", "b")
    agent = Agent("Clerk", model=scripted_model, tools=[search, NOTES])
    await agent.run("x")
    assert agent.spec.references == (NOTES,)
    assert [tool.name for tool in agent.tools] == ["search", "notes_search"]
    agent.replace_tools([])
    assert [tool.name for tool in agent.tools] == ["notes_search"]
    await scripted_model.ai().with_tools(search, NOTES).generate_text("x")
    assert system(scripted_model, 0) == system(scripted_model, 1) == [NOTES.contribution()]
    assert [tool.name for tool in scripted_model.calls[1].tools] == ["search", "notes_search"]


async def test_functions_contribute_with_what_belongs_to_the_run(scripted_model: ScriptedModel) -> None:
    async def wait(context: RunContext) -> str:
        return f"It is {context.clock.time():.0f}."

    def nothing() -> None:
        return None

    scripted_model.script("x")
    context = RunContext.over(scripted_model, clock=FakeClock())
    agent = Agent("Clerk", contributors=[greet, wait, nothing, lambda: "Always."])
    await agent.run("x", context=context)
    assert system(scripted_model) == ["Run in Clerk.", "It is 1700001000.", "Always."]


async def test_the_date_is_that_of_the_clock_of_the_run(scripted_model: ScriptedModel) -> None:
    scripted_model.script("x", "y")
    clock = FakeClock()
    agent = Agent("Clerk", contributors=[CurrentDate()])
    for day in (date.fromtimestamp(clock.time()), date.fromtimestamp(clock.time() + 172_800)):
        await agent.run("x", context=RunContext.over(scripted_model, clock=clock))
        assert system(scripted_model) == [f"Today is {day:%A, %Y-%m-%d}."]
        clock.advance(172_800)


async def test_what_is_not_a_text_is_refused(scripted_model: ScriptedModel) -> None:
    agent = Agent("Clerk", model=scripted_model, contributors=[not_for_files])
    with pytest.raises(ConfigurationError, match="not_for_files returned an int; it must return a text"):
        await agent.run("x")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"contributors": ["Be brief"]}, "a text goes into the instructions"),
        ({"contributors": [lambda name: name]}, "the run does not fill its parameter 'name'"),
        ({"references": [ALEX]}, "a reference is an object of a subclass of LlmReference"),
        ({"tools": [ALEX]}, "a tool is a function"),
    ],
)
def test_wrong_parts_of_an_agent(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Agent("Clerk", **cast("Any", settings))
    assert problem in str(caught.value)


class Thought(BaseModel):
    text: str


class Answer(BaseModel):
    text: str


@planned_agent(description="Answers", references=[NOTES], contributors=[ALEX])
class Answerer:
    @action(contributors=[greet])
    async def think(self, question: UserInput, ai: Ai) -> Thought:
        return Thought(text=await ai.generate_text(question.content))

    @achieves_goal("An answer")
    @action(references=[Reference("Rules", "What is right", "Be kind.")])
    async def answer(self, thought: Thought, ai: Ai) -> Answer:
        return Answer(text=await ai.with_system_prompt("Short.").generate_text(thought.text))


async def test_actions_of_a_planned_agent_have_those_of_the_agent_and_their_own(scripted_model: ScriptedModel) -> None:
    scripted_model.script(ToolCall("notes_search", text="frogs"), "green", "Green!")
    result = await Platform(scripted_model).start(Answerer(), UserInput("colour?"))
    assert result.last(Answer) == Answer(text="Green!")
    assert system(scripted_model, 0) == [ALEX.contribution(), NOTES.contribution(), "Run in think."]
    rules = "Reference: Rules\nWhat it is: What is right\nBe kind."
    assert system(scripted_model, 2) == [ALEX.contribution(), NOTES.contribution(), rules, "Short."]


def build(blueprint: Blueprint, *allow: str) -> Agent[object]:
    agent = blueprint.build(allow=[*ALLOW, *allow], environment={})
    assert isinstance(agent, Agent)
    return agent


def test_blueprints_keep_references_and_contributors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "a.md").write_text("A text")
    references = [
        Reference("Rules", "What is right", "Be kind."),
        TextFile("A", "A file", "a.md"),
        WebPage("https://example.com/frogs", "Frogs", max_age=60),
        LocalDirectory("docs", "Documents", usage_notes="Search."),
        PythonApi("API", "The framework", ["tactician.prompts"]),
        Shelf("Shelf", "Books", max_books=7),
    ]
    contributors: list[ContributorLike] = [
        ALEX,
        RoleGoalBackstory("Engineer", "Write", "Ten years"),
        CurrentDate(),
        KnowledgeCutoff(date(2026, 1, 31)),
        HouseRule("No shoes."),
        greet,
    ]
    agent = Agent("Clerk", model="gpt-5.4", references=references, contributors=contributors)

    blueprint = agent.to_blueprint(strict=True)
    again = build(
        Blueprint.from_json(blueprint.to_json()),
        "tactician.references",
    )

    data = json.loads(blueprint.to_json())
    assert data["references"][3] == {
        "kind": "directory",
        "path": "docs",
        "description": "Documents",
        "name": "docs",
        "usageNotes": "Search.",
    }
    assert data["contributors"][2:] == [
        {"kind": "current_date"},
        {"kind": "knowledge_cutoff", "day": "2026-01-31"},
        {"kind": "tests.references.acme.HouseRule", "text": "No shoes."},
        {"kind": "tests.references.acme.greet"},
    ]
    assert again.spec.contributors == agent.spec.contributors
    assert [type(one) for one in again.spec.references] == [type(one) for one in references]
    assert [one.contribution() for one in again.spec.references] == [one.contribution() for one in references]


def test_what_no_file_can_say_is_left_out_or_refused() -> None:
    agent = Agent("Clerk", model="gpt-5.4", references=[NOTES], contributors=[lambda: "x", CurrentDate(date.today)])
    with pytest.raises(BlueprintError) as caught:
        agent.to_blueprint(strict=True)
    assert "references[0]: 'Notes': Reference: 'tools' has no JSON form" in str(caught.value)
    with pytest.warns(BlueprintWarning, match="leaves out"):
        blueprint = agent.to_blueprint()
    assert isinstance(blueprint, AgentBlueprint)
    assert blueprint.references is None


def text(**fields: object) -> str:
    return json.dumps({"type": "agent", "name": "x", "model": "m", "instructions": "", "maxTurns": 3, **fields})


@pytest.mark.parametrize(
    ("references", "problem"),
    [
        ([{"kind": "web", "url": "https://x.org", "description": "d"}], "not allowed in a text"),
        ([{"kind": "repository", "url": "https://x.org/a", "description": "d"}], "not allowed in a text"),
        ([{"kind": "directory", "path": ".", "description": "d"}], "not allowed in a text"),
        ([{"kind": "python", "name": "x", "description": "d", "acceptedPackages": ["os"]}], "not allowed in a text"),
        ([{"kind": "file", "name": "x", "description": "d", "path": "../x"}], "is outside of"),
        ([{"kind": "file", "name": "x", "description": "d", "path": ".env"}], "begin with a dot"),
        ([{"kind": "os.system"}], "there is nothing with the name 'os.system'"),
        ([{"kind": "tests.references.acme.not_for_files"}], "must return an LlmReference, not an int"),
        ([{"kind": "tests.references.acme.Shelf", "name": "x", "description": "d", "maxBooks": "many"}], "maxBooks"),
        ([{"name": "x", "description": "d", "tools": []}], "only the code of a program can set 'tools'"),
        ([{"name": "x", "description": "d", "notes": "sk-abcdefghijk"}], "may hold a secret"),
        ([{"name": "x"}], "missing a required argument: 'description'"),
    ],
)
def test_texts_of_others_reach_nothing(references: Sequence[dict[str, object]], problem: str) -> None:
    with pytest.raises(BlueprintError) as caught:
        build(Blueprint.from_json(text(references=references)))
    assert problem in str(caught.value)


def test_what_is_allowed_in_a_text() -> None:
    page = {"kind": "web", "url": "https://x.org", "description": "d"}
    blueprint = Blueprint.from_json(text(references=[page]))
    agent = blueprint.build(allow=["tactician.references"], environment={})
    assert isinstance(agent, Agent)
    (reference,) = agent.spec.references
    assert isinstance(reference, WebPage)
    for field in ("fetcher", "_fetched"):
        with pytest.raises(BlueprintError):
            Blueprint.from_json(text(references=[{**page, field: {}}])).build(allow=["tactician.references"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(
    ["text", "file", "web", "directory", "repository", "python", "persona", "os.system", "__main__.x"]
)
FIELDS = st.sampled_from(
    ["name", "description", "notes", "path", "url", "acceptedPackages", "patterns", "fetcher", "persona"]
)
ENTRIES = st.builds(lambda fields, kind: {**fields, "kind": kind}, st.dictionaries(FIELDS, JSON, max_size=4), KINDS)


@given(
    st.lists(
        st.dictionaries(FIELDS, JSON, max_size=4).flatmap(lambda d: KINDS.map(lambda k: {**d, "kind": k})), max_size=3
    )
)
def test_whatever_a_text_says_ends_in_an_agent_or_an_error(entries: list[dict[str, object]]) -> None:
    for field in ("references", "contributors"):
        try:
            agent = build(Blueprint.from_json(text(**{field: entries})))
        except BlueprintError:
            continue
        kinds = (Reference, TextFile, Persona, RoleGoalBackstory, CurrentDate, KnowledgeCutoff)
        parts: Sequence[PromptContributor | LlmReference] = (*agent.spec.references, *agent.spec.contributors)
        assert all(isinstance(part, kinds) for part in parts)


def test_own_kinds_of_a_file_by_allowed_names(tmp_path: Path) -> None:
    file = tmp_path / "references.yml"
    file.write_text("- kind: tests.references.acme.Shelf\n  name: Shelf\n  description: Books\n  maxBooks: 2\n")
    assert load_references(file, allow=["tests.references"]) == (Shelf("Shelf", "Books", 2),)
    with pytest.raises(ConfigurationError, match=r"there is nothing with the name 'tests.references.acme.Shelf'"):
        load_references(file)


def test_folders_of_a_file_stay_in_its_root(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    file = tmp_path / "config" / "references.yml"
    file.parent.mkdir()
    file.write_text("- kind: directory\n  path: ../docs\n  description: Documents\n  usage_notes: Search.\n")
    with pytest.raises(ConfigurationError, match="is outside of"):
        load_references(file)
    (reference,) = load_references(file, root=tmp_path)
    assert isinstance(reference, LocalDirectory)
    assert (reference.path, reference.notes) == (tmp_path / "docs", "Search.")
