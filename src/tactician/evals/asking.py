"""Agents that ask a person to judge: all programs that answer for a store have them, and none needs the extra."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import pydantic

from tactician.agents import PlannedAgent, achieves_goal, action, planned_agent
from tactician.platform import Platform
from tactician.process import UserInput, ask_human, formerly
from tactician.process.people.forms import HINTS

_PARTS: Final = pydantic.ConfigDict(json_schema_extra={HINTS: {"parts": True}})
"""Tells programs that show the request that its prompt ends with parts between tags."""


@formerly("tactician.evals.evaluators.person_judge.PersonVerdict")
class PersonVerdict(pydantic.BaseModel):
    """Opinion of a person about an answer."""

    model_config = _PARTS
    passed: Annotated[bool, pydantic.Field(description="Does the answer meet the rubric?")]
    reason: str = ""


class PersonChoice(pydantic.BaseModel):
    """Opinion of a person about two answers."""

    model_config = _PARTS
    better: Annotated[Literal["first", "second", "equal"], pydantic.Field(description="Which answer is better?")]
    reason: str = ""


@planned_agent(name="Evaluation judge", description="Asks a person for an opinion about an answer.")
class AskingJudge:
    """Agent whose only action asks a person."""

    def __init__(self, role: str | None = None) -> None:
        self._role = role

    @achieves_goal("The opinion of a person")
    @action
    async def ask(self, asked: UserInput) -> PersonVerdict:
        """Ask a person."""
        return await ask_human(PersonVerdict, asked.content, required_role=self._role)


@planned_agent(name="Evaluation judge of pairs", description="Asks a person which of two answers is better.")
class AskingPairJudge:
    """Agent whose only action asks a person about two answers."""

    def __init__(self, role: str | None = None) -> None:
        self._role = role

    @achieves_goal("The choice of a person")
    @action
    async def ask(self, asked: UserInput) -> PersonChoice:
        """Ask a person."""
        return await ask_human(PersonChoice, asked.content, required_role=self._role)


def register_judges(platform: Platform) -> None:
    """Let a platform continue evaluations that other programs of its store have begun, once a person has judged."""
    for judge in (AskingJudge(), AskingPairJudge()):
        platform.register_internal(PlannedAgent(judge))
