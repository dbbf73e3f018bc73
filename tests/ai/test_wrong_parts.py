"""What an `Ai` is given is refused when it is added, with the way to do it right."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tactician import Agent, Ai, Autonomous, Autonomy, Platform, planned_agent
from tactician.errors import ConfigurationError, DeclarationError
from tactician.prompts import Reference
from tactician.testing import ScriptedModel

WRONG = [lambda: "x"]


def ai() -> Ai:
    return ScriptedModel().ai()


@pytest.mark.parametrize(("value", "hint"), [(WRONG, "with_tools(*tools)"), ("web", "with_tool_group"), (3, "@tool")])
def test_tools(value: object, hint: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        ai().with_tools(cast("Any", value))
    assert "a tool is a function, or an object made with @tool" in str(caught.value)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("value", "hint"),
    [("Be brief", "with_system_prompt"), (42, "such as Persona(...)"), (dict, "a method contribution()")],
)
def test_prompt_contributors(value: object, hint: str) -> None:
    for add in (ai().with_prompt_contributor, ai().with_prompt_contributors):
        with pytest.raises(DeclarationError, match="a prompt contributor is an object") as caught:
            add(cast("Any", value))
        assert hint in str(caught.value)
    with pytest.raises(DeclarationError, match="a reference is an object of a subclass of LlmReference"):
        ai().with_reference(cast("Any", value))


def search(text: str) -> str:
    """Search."""
    return text


def read(text: str) -> str:
    """Read."""
    return text


def test_references_with_long_names_have_tools_with_names_that_differ() -> None:
    long = "The handbook of everything that anybody who works for Acme has to know about orders"
    references = [Reference(f"{long} in {year}", "d", tools=[search, read]) for year in (2024, 2025)]
    names = [one.name for reference in references for one in reference.named_tools]

    assert len(set(names)) == 4
    assert all(len(name) <= 64 and name.startswith("the_handbook_of_everything") for name in names)
    assert [name.rpartition("_")[2] for name in names] == ["search", "read"] * 2


def test_a_tool_with_the_longest_name_keeps_it_apart() -> None:
    def long(text: str) -> str:
        """Long."""
        return text

    long.__name__ = "x" * 64
    (named,) = Reference("Notes", "d", tools=[long]).named_tools
    assert len(named.name) == 64


def test_autonomy_takes_a_platform() -> None:
    with pytest.raises(ConfigurationError, match=r"Autonomy takes a Platform, not ScriptedModel: Autonomy\(Platform"):
        Autonomy(cast("Any", ScriptedModel()))


@pytest.mark.parametrize("value", [True, {"max_iterations": 3}, Autonomy(Platform(ScriptedModel()))])
def test_the_autonomy_of_an_agent_is_a_policy(value: object) -> None:
    with pytest.raises(DeclarationError, match=r"autonomy is \w+: it must be Autonomous\(\.\.\.\)"):
        Agent("Worker", autonomy=cast("Any", value))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"max_iterations": "3"}, "max_iterations must be at least 1, or None"),
        ({"max_iterations": True}, "max_iterations must be at least 1, or None"),
        ({"keep_last": None}, "keep_last must be at least 1"),
        ({"compact_after": -1}, "compact_after must be at least 0, or None"),
        ({"max_tool_output_tokens": 0}, "max_tool_output_tokens must be at least 1, or None"),
        ({"max_conversation_tokens": 1.5}, "max_conversation_tokens must be at least 1, or None"),
        ({"min_iteration_interval": "1s"}, "min_iteration_interval must be seconds from 0 up, or None"),
        ({"enabled_tool_groups": "fs"}, "enabled_tool_groups must be a set of names"),
    ],
)
def test_settings_of_autonomous_agents(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Autonomous(**cast("Any", settings))
    assert caught.value.problems == (problem,)


@pytest.mark.parametrize("value", ["finds news", Agent("Plain")])
def test_planned_agent_is_for_classes(value: object) -> None:
    with pytest.raises(DeclarationError, match=r"write @planned_agent, or @planned_agent\(description=\.\.\.\), above"):
        planned_agent(cast("Any", value))
