"""Prompt contributors: reusable parts of instructions, as objects; and directives, which are a part of all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final, Literal, TypeAlias

from tactician.frozen import frozen
from tactician.runs import RunContext
from tactician.suggestions import suggest_options

Place: TypeAlias = Literal["beginning", "end"]
_HEADING: Final = "## Active Directives"


class PromptContributor(ABC):
    """Part of the instructions, such as a persona or a domain object."""

    @property
    def place(self) -> Place:
        """The place in the instructions: before the program's own text, or after it."""
        return "beginning"

    @abstractmethod
    def contribution(self) -> str:
        """Return the text, for each call of a model; an empty text adds nothing."""

    async def contribute(self, context: RunContext) -> str:
        """Return the text for a run, with its services, such as the clock; by default the text of `contribution`."""
        return self.contribution()


@suggest_options
@dataclass(frozen=True)
class Persona(PromptContributor):
    """Persona of the model.

    Args:
        name: the name.
        persona: the character.
        voice: the style of speech.
        objective: the objective.
    """

    name: str
    persona: str
    voice: str = ""
    objective: str = ""

    def contribution(self) -> str:
        """Return the persona in sentences, each on a line."""
        lines = (
            f"You are {self.name}",
            f"Your persona: {self.persona}",
            self.objective and f"Your objective is {self.objective}",
            self.voice and f"Your voice: {self.voice}",
        )
        return "\n".join(_format_sentence(line) for line in lines if line)


@suggest_options
@dataclass(frozen=True)
class RoleGoalBackstory(PromptContributor):
    """Persona in three parts: role, goal and backstory, as in CrewAI."""

    role: str
    goal: str
    backstory: str

    def contribution(self) -> str:
        """Return the three parts, each on a line."""
        return f"Role: {self.role}\nGoal: {self.goal}\nBackstory: {self.backstory}"


@suggest_options
@dataclass(frozen=True)
class CurrentDate(PromptContributor):
    """Current date, at the end of the instructions, so that a provider can cache the text before it.

    Args:
        today: function that returns the day; the day of the run's clock by default.
        place: the place in the instructions.
    """

    today: Callable[[], date] | None = None
    place: Place = "end"

    def contribution(self) -> str:
        """Return the day of the week, and the date as year, month and day."""
        return _format_day(date.today() if self.today is None else self.today())

    async def contribute(self, context: RunContext) -> str:
        """Return the same, by the clock of the run unless there is a function."""
        return self.contribution() if self.today else _format_day(date.fromtimestamp(context.clock.time()))


@suggest_options
@dataclass(frozen=True)
class KnowledgeCutoff(PromptContributor):
    """Last day of the training data of a model. Models with a `knowledge_cutoff` among their features get theirs.

    Args:
        day: the day.
    """

    day: date
    place: Place = "end"

    def contribution(self) -> str:
        """Return the day as year, month and day, and what follows from it."""
        return (
            f"Your knowledge ends on {self.day:%Y-%m-%d}. You know of later events only from this conversation "
            "and from tools."
        )


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _format_day(day: date) -> str:
    return f"Today is {_DAYS[day.weekday()]}, {day:%Y-%m-%d}."


def _format_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


@frozen
class Directive:
    """Guidance for agents.

    Attributes:
        id: id of the directive.
        sender: the person or rule that directs.
        text: the guidance.
        created_at: time of the directive, in seconds since the epoch.
        expires_at: time from which it no longer holds; never, when `None`.
        target: what it is for.
    """

    id: str
    sender: str
    text: str
    created_at: float
    expires_at: float | None
    target: str

    def describe(self) -> str:
        """Return the directive in a single line, so that its text cannot pass for another section."""
        moment = datetime.fromtimestamp(self.created_at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return f"[{self.sender} | {moment}] {' '.join(self.text.split())}"


@frozen
class ActiveDirectives:
    """Source of the directives for a run and all runs inside it, in the surroundings of the run.

    Attributes:
        find: returns the directives that hold now.
    """

    find: Callable[[], Sequence[Directive]]

    def write_section(self) -> str:
        """Return the section of instructions; empty when no directive holds."""
        lines = [directive.describe() for directive in self.find()]
        return "\n".join((_HEADING, *lines)) if lines else ""
