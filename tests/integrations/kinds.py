"""Runnables of all kinds, each of which waits for somebody in the middle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tactician import (
    Agent,
    ProcessOptions,
    SupervisorAgent,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    tool,
)
from tactician.agents.flows import scatter_gather
from tactician.llm import AssistantMessage, Text, UserMessage
from tactician.process import ask_human
from tactician.runs.outcomes.suspension import Response
from tactician.testing import ToolCall


@dataclass(frozen=True)
class Note:
    text: str


class Desk:
    """Work that notes what was done."""

    def __init__(self) -> None:
        self.done: list[str] = []

    @tool
    def look_up(self, what: str) -> str:
        """Look something up."""
        self.done.append(f"look up {what}")
        return f"{what} are green"

    @tool(needs_approval=True)
    def pay(self, amount: int) -> str:
        """Pay an amount."""
        self.done.append(f"pay {amount}")
        return f"paid {amount}"

    def note(self, topic: str) -> Note:
        self.done.append("note")
        return Note(f"about {topic}")

    async def ask(self, topic: str) -> Note:
        return Note(await ask_human(str, f"What of {topic}?"))

    def join(self, notes: list[Note]) -> Note:
        self.done.append("join")
        return Note(", ".join(note.text for note in notes))


@dataclass(frozen=True)
class Draft:
    text: str


@dataclass(frozen=True)
class Picture:
    text: str


@dataclass(frozen=True)
class Page:
    text: str


@planned_agent(description="writes and draws at once, and prints both")
class Publisher:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    @action
    async def write(self, topic: UserInput) -> Draft:
        text = await ask_human(str, f"What of {topic.content}?")
        self._desk.done.append("write")
        return Draft(text)

    @action
    async def draw(self, topic: UserInput) -> Picture:
        self._desk.done.append("draw")
        return Picture(f"drawn {topic.content}")

    @achieves_goal("a page")
    @action
    def print(self, draft: Draft, picture: Picture) -> Page:
        self._desk.done.append("print")
        return Page(f"{draft.text}, {picture.text}")


@dataclass(frozen=True)
class Kind:
    """Runnable of a kind, and what a run of it is to do.

    Attributes:
        agent: makes the Runnable, of which each program has its own.
        script: what the model says.
        input: input of the run.
        response: answer to what it asks.
        output: what it gives.
        done: what is done once each, in any order.
        options: settings, of a process.
    """

    agent: Callable[[Desk], object]
    script: Sequence[object]
    input: object
    response: Response
    output: object
    done: frozenset[str]
    options: ProcessOptions | None = None


def clerk(desk: Desk) -> Agent[str]:
    return Agent("Clerk", tools=[desk.look_up, desk.pay])


def boss(desk: Desk) -> Agent[str]:
    return SupervisorAgent("Boss", workers={"pays": clerk(desk)})


def flow(desk: Desk) -> object:
    return scatter_gather(Note, [desk.note, desk.ask], desk.join, name="Notes")


ASKED = [
    UserMessage("What colour are frogs?"),
    AssistantMessage((Text("I have to look that up."),)),
    UserMessage("Pay for it."),
]
KINDS = {
    "agent": Kind(
        clerk,
        [ToolCall("look_up", what="frogs"), ToolCall("pay", amount=5), "Green frogs for 5."],
        "frogs",
        True,
        "Green frogs for 5.",
        frozenset({"look up frogs", "pay 5"}),
    ),
    "supervisor": Kind(
        boss,
        [
            ToolCall("invoke_clerk", request="buy frogs"),
            ToolCall("look_up", what="frogs"),
            ToolCall("pay", amount=5),
            "It is paid.",
            "Green frogs for 5.",
        ],
        "frogs",
        True,
        "Green frogs for 5.",
        frozenset({"look up frogs", "pay 5"}),
    ),
    "flow": Kind(flow, [], "frogs", "they are green", Note("about frogs, they are green"), frozenset({"note", "join"})),
    "process": Kind(
        Publisher,
        [],
        "frogs",
        "they are green",
        Page("they are green, drawn frogs"),
        frozenset({"write", "draw", "print"}),
        ProcessOptions(max_parallel=2),
    ),
    "conversation": Kind(
        clerk,
        [ToolCall("pay", amount=5), "Green frogs for 5."],
        ASKED,
        True,
        "Green frogs for 5.",
        frozenset({"pay 5"}),
    ),
}
