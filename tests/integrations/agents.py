"""Agents that the tests of the drivers run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from tactician import Agent, UserInput, achieves_goal, action, condition, planned_agent, tool
from tactician.llm import ModelRequest, ModelResponse, ToolResult
from tactician.process import ask_human, confirm
from tactician.testing import ScriptedModel, ToolCall


@dataclass
class Draft:
    text: str


@dataclass
class Checked:
    text: str


@dataclass
class Rating:
    stars: int


@dataclass
class Printed:
    text: str


@planned_agent(description="drafts, checks and prints")
class Printer:
    """Each action is written down; `gate` holds the second one back."""

    def __init__(self, *, gate: asyncio.Event | None = None) -> None:
        self.done: list[str] = []
        self.entered = asyncio.Event()
        self.interrupted = asyncio.Event()
        self._gate = gate

    @action
    def draft(self, topic: UserInput) -> Draft:
        self.done.append("draft")
        return Draft(f"about {topic.content}")

    @action
    async def check(self, draft: Draft) -> Checked:
        self.entered.set()
        try:
            if self._gate is not None:
                await self._gate.wait()
        except asyncio.CancelledError:
            self.interrupted.set()
            raise
        self.done.append("check")
        return Checked(draft.text)

    @achieves_goal("printed")
    @action
    def print(self, checked: Checked) -> Printed:
        self.done.append("print")
        return Printed(f"{checked.text}!")


@planned_agent(description="prints what somebody has rated")
class Rated:
    def __init__(self, deadline: timedelta | None = None, default: object = None) -> None:
        self.done: list[str] = []
        self._default = default or Rating(0)
        self._deadline = deadline

    @action
    def draft(self, topic: UserInput) -> Draft:
        self.done.append("draft")
        return Draft(f"about {topic.content}")

    @action
    async def rate(self, draft: Draft) -> Rating:
        if self._deadline is None:
            return await ask_human(Rating, f"How good is {draft.text}?")
        return await ask_human(Rating, "How good?", deadline=self._deadline, default=self._default)

    @achieves_goal("printed")
    @action
    def print(self, draft: Draft, rating: Rating) -> Printed:
        self.done.append("print")
        return Printed(f"{draft.text}: {rating.stars}")


@planned_agent(description="asks two people at once")
class Committee:
    """`gate` holds what comes after the first answer back."""

    def __init__(self, gate: asyncio.Event) -> None:
        self.entered = asyncio.Event()
        self._gate = gate

    @action
    async def rate(self, topic: UserInput) -> Rating:
        rating = await ask_human(Rating, "How good?")
        self.entered.set()
        await self._gate.wait()
        return rating

    @action
    async def check(self, topic: UserInput) -> Checked:
        return Checked("yes" if await confirm(topic, "Is it right?") else "no")

    @achieves_goal("printed")
    @action
    def print(self, rating: Rating, checked: Checked) -> Printed:
        return Printed(f"{rating.stars} {checked.text}")


@planned_agent(description="writes its actions down, and may die in the second one")
class Logging:
    def __init__(self, log: Path, die: Callable[[], None] | None = None) -> None:
        self._log = log
        self._die = die

    @action
    def first(self, topic: UserInput) -> Draft:
        self._note("first")
        return Draft(topic.content)

    @action
    def second(self, draft: Draft) -> Checked:
        self._note("second")
        if self._die is not None:
            self._die()
        return Checked(draft.text)

    @achieves_goal("printed")
    @action
    def third(self, checked: Checked) -> Printed:
        self._note("third")
        return Printed(f"{checked.text}, third")

    def _note(self, name: str) -> None:
        with self._log.open("a") as log:
            log.write(f"{name}\n")


@dataclass
class Round:
    number: int


@planned_agent(description="goes round and round")
class Rounds:
    @action
    def begin(self, topic: UserInput) -> Round:
        return Round(1)

    @condition
    def enough(self, last: Round) -> bool:
        return last.number >= 12

    @action(can_rerun=True, post=["enough"])
    def again(self, last: Round) -> Round:
        return Round(last.number + 1)

    @achieves_goal("printed")
    @action(pre=["enough"])
    def print(self, last: Round) -> Printed:
        return Printed(f"{last.number} rounds")


def counter(log: Path, die: Callable[[], None] | None = None) -> Agent[str]:
    """An agent that counts to 5 with a tool, which writes the numbers down, and may die at 3."""

    @tool
    def count(number: int) -> str:
        """Count."""
        with log.open("a") as file:
            file.write(f"{number}\n")
        if die is not None and number == 3:
            die()
        return str(number)

    return Agent("Counter", tools=[count])


class CountingModel(ScriptedModel):
    """Calls the tool with the number that comes next: it remembers nothing."""

    async def generate(self, request: ModelRequest) -> ModelResponse:
        counted = sum(isinstance(message, ToolResult) for message in request.messages)
        self.script("I have counted to 5." if counted == 5 else ToolCall("count", number=counted + 1))
        return await super().generate(request)
