"""What contributes to what a model is told: reusable parts of instructions, as objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Literal, TypeAlias

Place: TypeAlias = Literal["beginning", "end"]


class PromptContributor(ABC):
    """Something that has a part of the instructions to give, such as a persona or an object of the domain."""

    @property
    def place(self) -> Place:
        """Where in the instructions it is: before what a program says itself, or after it."""
        return "beginning"

    @abstractmethod
    def contribution(self) -> str:
        """The text, asked for at each call of a model; nothing is added when it is empty."""


@dataclass(frozen=True)
class Persona(PromptContributor):
    """Who the model is to be.

    Args:
        name: what it is called.
        persona: who that is.
        voice: how it speaks.
        objective: what it is after.
    """

    name: str
    persona: str
    voice: str = ""
    objective: str = ""

    def contribution(self) -> str:
        """The persona in sentences, a line each."""
        lines = (
            f"You are {self.name}",
            f"Your persona: {self.persona}",
            self.objective and f"Your objective is {self.objective}",
            self.voice and f"Your voice: {self.voice}",
        )
        return "\n".join(_format_sentence(line) for line in lines if line)


@dataclass(frozen=True)
class RoleGoalBackstory(PromptContributor):
    """Who the model is to be, in the three parts that CrewAI has made common."""

    role: str
    goal: str
    backstory: str

    def contribution(self) -> str:
        """The three parts, a line each."""
        return f"Role: {self.role}\nGoal: {self.goal}\nBackstory: {self.backstory}"


@dataclass(frozen=True)
class CurrentDate(PromptContributor):
    """Which day it is. It comes last, so that a provider can cache what is before it.

    Args:
        today: tells the day; that of this machine by default.
    """

    today: Callable[[], date] = date.today
    place: Place = "end"

    def contribution(self) -> str:
        """The day of the week, and the date as year, month and day."""
        day = self.today()
        return f"Today is {_DAYS[day.weekday()]}, {day:%Y-%m-%d}."


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _format_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
