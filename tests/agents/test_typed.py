"""Planned agents whose methods and results type checkers know: `Planned[T]`, and `@planned_agent` without arguments."""

from __future__ import annotations

from typing import assert_type

import pytest
from pydantic import BaseModel

from tactician import Planned, PlannedAgent, Platform, RunResult, UserInput, achieves_goal, action, planned_agent
from tactician.errors import DeclarationError
from tactician.process import AgentProcess
from tactician.testing import ScriptedModel


class Report(BaseModel):
    text: str


class Draft(BaseModel):
    text: str


class Writer:
    """Has the one action of the agents below."""

    @achieves_goal("a report is written")
    @action
    def write(self, user_input: UserInput) -> Report:
        return Report(text=user_input.content)


@planned_agent
class Reporter(Writer, Planned[Report]):
    """Writes a report
    about anything.

    Not more than that.
    """


async def test_a_run_of_a_typed_agent_has_a_typed_output() -> None:
    result = await Reporter().run("frogs")
    assert_type(result, RunResult[Report])
    assert result.output.text == "frogs"


async def test_a_process_of_a_typed_agent_has_a_typed_result() -> None:
    process = await Platform(models=ScriptedModel()).start(Reporter(), "frogs")
    assert_type(process, AgentProcess[Report])
    assert_type(process.result, Report | None)
    assert process.result == Report(text="frogs")


async def test_a_wrapped_agent_may_say_its_type() -> None:
    result = await PlannedAgent[Report](Reporter()).run("frogs")
    assert_type(result, RunResult[Report])
    assert result.output == Report(text="frogs")


def test_the_first_paragraph_of_the_docstring_is_the_description() -> None:
    agent = Reporter()
    assert agent.name == "Reporter"
    assert agent.description == "Writes a report about anything."
    assert agent.as_tool().spec.description == agent.description


def test_an_agent_without_description_and_docstring_is_refused() -> None:
    with pytest.raises(DeclarationError, match="give it a docstring, or @planned_agent"):

        @planned_agent
        class Silent:
            pass


def test_a_goal_that_gives_another_type_is_refused() -> None:
    @planned_agent
    class Drafter(Planned[Report]):
        """Promises reports."""

        @achieves_goal("a draft is written")
        @action
        def draft(self, user_input: UserInput) -> Draft:
            return Draft(text="")

    for _ in range(2):
        with pytest.raises(
            DeclarationError, match=r"'draft' produces Draft, which is not the Report of Planned\[Report\]"
        ):
            PlannedAgent(Drafter())


def test_own_methods_of_the_user_stay() -> None:
    @planned_agent
    class Own(Writer, Planned[Report]):
        """Has a name of its own for a method."""

        def to_mermaid(self) -> str:
            return "mine"

    assert Own().to_mermaid() == "mine"
    assert "action_write" in PlannedAgent(Own()).to_mermaid()


async def check_mistakes(platform: Platform) -> None:
    """Mistakes that mypy finds: `make lint` reports a comment that ignores nothing."""
    print((await Reporter().run("x")).output.missing)  # type: ignore[attr-defined]
    process = await platform.start(Reporter(), "x")
    assert process.result is not None
    print(process.result.absent)  # type: ignore[attr-defined]
    Reporter().unknown()  # type: ignore[attr-defined]
