"""`AgentSpec`: the settings of an agent, described once."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from tactician import Agent, SupervisorAgent
from tactician.agents.spec import AgentSettings, AgentSpec
from tactician.blueprint.agents import AgentBlueprint
from tactician.conversation import SlidingWindow
from tactician.errors import DeclarationError

GUARDRAILS = {"input_guardrails", "output_guardrails", "tool_input_guardrails", "tool_output_guardrails"}


def test_every_setting_is_a_field_of_the_spec_and_every_field_is_a_setting() -> None:
    known = {field.name for field in fields(AgentSpec)} - {"name", "output_type", "guards", "max_repeats"}
    assert AgentSettings.__annotations__.keys() - GUARDRAILS == known


def test_blueprints_express_every_setting() -> None:
    other_names = {"window": "context_management", "tools": "tool_class_names"}
    parts_of_instructions = {"role", "goal", "background"}
    expressed = {other_names.get(name, name) for name in AgentSettings.__annotations__.keys() - parts_of_instructions}
    assert expressed <= AgentBlueprint.model_fields.keys()


def test_what_is_not_said_is_the_default() -> None:
    assert Agent("A").spec == AgentSpec("A")
    assert (Agent("A").spec.max_attempts, Agent("A", max_attempts=7).spec.max_attempts) == (None, 7)


def test_a_spec_does_not_change() -> None:
    spec = Agent("A", window=SlidingWindow(100)).spec
    with pytest.raises(FrozenInstanceError):
        spec.max_turns = 3  # type: ignore[misc]

    changed = spec.with_settings(name="B", max_turns=3)
    assert (changed.name, changed.max_turns, changed.window) == ("B", 3, SlidingWindow(100))
    assert (spec.name, spec.max_turns) == ("A", AgentSpec.max_turns)


def test_changed_instructions_make_a_new_prompt() -> None:
    spec = AgentSpec("A", role="Poet", instructions="Be brief.")
    assert spec.prompt == "You are Poet.\nBe brief."
    assert spec.with_settings(role=None, instructions="Sing.").prompt == "Sing."


@pytest.mark.parametrize("kind", [Agent, AgentSpec])
def test_an_unknown_setting_is_refused(kind: type[Agent[str]] | type[AgentSpec[str]]) -> None:
    with pytest.raises(TypeError, match=r"no setting 'max_turn'. Did you mean 'max_turns'"):
        kind("A", max_turn=3)  # type: ignore[call-arg, call-overload]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("system_prompt", "instructions"), ("llm", "model"), ("backstory", "background"), ("result_type", "output_type")],
)
def test_names_of_other_frameworks_are_translated(name: str, meant: str) -> None:
    with pytest.raises(TypeError, match=rf"no setting '{name}'. Did you mean '{meant}'"):
        Agent("A", **{name: "x"})  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["openai:gpt-5", "anthropic:claude-sonnet-5", "openai/gpt-5"])
@pytest.mark.parametrize("kind", [Agent, AgentSpec])
def test_a_model_in_the_place_of_the_name_is_refused(kind: type[Agent[str]] | type[AgentSpec[str]], name: str) -> None:
    with pytest.raises(DeclarationError, match=rf"'{name}' is a model, not a name. Write .*model='{name}'"):
        kind(name, instructions="Help.")


def test_a_name_may_have_a_colon_or_a_slash() -> None:
    assert [Agent(name).name for name in ("Sales: West", "team/sales")] == ["Sales: West", "team/sales"]


def test_a_supervisor_has_the_settings_of_an_agent() -> None:
    lead = SupervisorAgent("Lead", workers={"Writes": Agent("Writer")}, tool_timeout=2.0)
    assert lead.spec.tool_timeout == 2.0
    assert [tool.name for tool in lead.tools] == ["invoke_writer"]
    assert list(lead.spec.tools) == []
