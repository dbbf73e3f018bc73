"""Agents with scripts of their own, and what can be said of results."""

from __future__ import annotations

from collections.abc import Sequence

from tactician import Agent, RunContext, RunResult, tool
from tactician.events import Event
from tactician.events.bus import EventListener
from tactician.llm.messages import SystemMessage
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tactician.testing.scripted import Step
from tactician.tools.toolbox import ToolLike


def surroundings(sink: EventListener | None = None) -> RunContext:
    """A context with no model of its own and a store of its own."""
    return RunContext.over(ScriptedModel(), sink, store=MemoryStore())


def says(name: str, *steps: Step, tools: Sequence[ToolLike] = (), instructions: str = "") -> Agent:
    """An agent with a script."""
    return Agent(name, model=ScriptedModel(*steps), tools=tools, instructions=instructions)


def script_of(agent: Agent[object]) -> ScriptedModel:
    """The agent's script."""
    assert isinstance(agent.model, ScriptedModel)
    return agent.model


def prompts_of(agent: Agent[object]) -> list[str]:
    """What the agent's model was asked."""
    return [call.prompt for call in script_of(agent).calls]


def payer(name: str = "Payer", *, asks: bool = True, at_once: int = 1, then: Sequence[Step] | None = None) -> Agent:
    """An agent that pays, which needs an approval if it `asks`. It may be asked several times `at_once`."""

    @tool(needs_approval=asks)
    def pay(amount: int) -> str:
        """Pays."""
        return f"paid {amount}"

    said = then or [f"{name} is done"] * at_once
    return says(name, *[ToolCall("pay", amount=7)] * at_once, *said, tools=[pay])


def facts_of(result: RunResult[object]) -> list[object]:
    """Everything about a result but its ids."""
    facts = [result.output, result.status, result.messages, result.delegation_path]
    return [*facts, *map(facts_of, result.related)]


def told(events: list[Event], kind: type[Event]) -> list[tuple[str, ...]]:
    """The paths of all events of a kind."""
    return [event.path for event in events if isinstance(event, kind)]


def system_of(agent: Agent[object], call: int = 0) -> str:
    """The instructions with which the agent's model was called."""
    return "\n".join(m.text for m in script_of(agent).calls[call].messages if isinstance(m, SystemMessage))
