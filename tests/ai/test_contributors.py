"""Parts of the instructions that objects have to give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import ClassVar

from pydantic import BaseModel

from tactician import Ai
from tactician.llm.messages import SystemMessage
from tactician.prompts import CurrentDate, Persona, Place, PromptContributor, RoleGoalBackstory
from tactician.testing import ScriptedModel

ALEX = Persona(
    name="Alex the Analyst",
    persona="A detail-oriented data analyst",
    voice="Professional yet approachable",
    objective="Help users understand data!",
)


@dataclass
class Counter(PromptContributor):
    """Says how often it was asked."""

    times: int = 0

    def contribution(self) -> str:
        self.times += 1
        return f"Asked {self.times} times."


@dataclass
class Only(PromptContributor):
    """Has something to say only when a condition holds."""

    condition: Callable[[], bool]

    def contribution(self) -> str:
        return "It is so." if self.condition() else ""


class Customer(BaseModel, PromptContributor):
    """An object of a program's own domain."""

    name: str
    place: ClassVar[Place] = "end"

    def contribution(self) -> str:
        return f"The customer is {self.name}."


async def told(model: ScriptedModel, ai: Ai) -> str:
    """The system prompt of a call."""
    model.script("x")
    await ai.generate_text("hi")
    first = model.calls[-1].messages[0]
    return first.text if isinstance(first, SystemMessage) else ""


def test_a_persona() -> None:
    assert ALEX.contribution() == (
        "You are Alex the Analyst.\n"
        "Your persona: A detail-oriented data analyst.\n"
        "Your objective is Help users understand data!\n"
        "Your voice: Professional yet approachable."
    )
    assert Persona("Bo", "A cook").contribution() == "You are Bo.\nYour persona: A cook."


def test_a_role_a_goal_and_a_backstory() -> None:
    role = RoleGoalBackstory("Engineer", "Write clean code", "Ten years of it")

    assert role.contribution() == "Role: Engineer\nGoal: Write clean code\nBackstory: Ten years of it"


async def test_contributions_of_the_beginning_the_programs_own_words_and_those_of_the_end(
    scripted_model: ScriptedModel,
) -> None:
    today = CurrentDate(lambda: date(2026, 2, 28))
    ai = scripted_model.ai().with_prompt_contributors(today, ALEX).with_system_prompt("Be brief.")
    ai = ai.with_prompt_contributor(Customer(name="Ada")).with_prompt_contributor(Only(lambda: True))

    assert await told(scripted_model, ai.with_example("a word", "frog")) == "\n\n".join(
        (
            ALEX.contribution(),
            "It is so.",
            "Be brief.",
            'Example (a word):\n"frog"',
            "Today is Saturday, 2026-02-28.",
            "The customer is Ada.",
        )
    )


async def test_a_contributor_is_asked_at_each_call(scripted_model: ScriptedModel) -> None:
    ai = scripted_model.ai().with_prompt_contributor(Counter())

    assert [await told(scripted_model, ai) for _ in range(2)] == ["Asked 1 times.", "Asked 2 times."]


async def test_an_empty_contribution_adds_nothing(scripted_model: ScriptedModel) -> None:
    ai = scripted_model.ai().with_prompt_contributor(Only(lambda: False))

    assert await told(scripted_model, ai) == ""
    assert await told(scripted_model, ai.with_system_prompt("Be brief.")) == "Be brief."


async def test_the_date_is_that_of_today(scripted_model: ScriptedModel) -> None:
    before = date.today()
    text = await told(scripted_model, scripted_model.ai().with_prompt_contributor(CurrentDate()))

    assert text in {f"Today is {day:%A, %Y-%m-%d}." for day in (before, date.today())}


async def test_the_place_of_the_date_can_be_another(scripted_model: ScriptedModel) -> None:
    dated = CurrentDate(lambda: date(2026, 3, 1), place="beginning")
    ai = scripted_model.ai().with_system_prompt("Be brief.").with_prompt_contributor(dated)

    assert await told(scripted_model, ai) == "Today is Sunday, 2026-03-01.\n\nBe brief."
