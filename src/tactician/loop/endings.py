"""Endings of a run: a reply, or a tool call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from tactician.llm.model import OutputSpec
from tactician.loop.autonomy import TASK_OVER, Autonomous, TaskOver
from tactician.loop.output import InvalidOutput, OutputType
from tactician.tools.toolbox import Toolbox

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(slots=True)
class Answer(Generic[T_co]):
    """Answer of a run."""

    value: T_co


class Ending(Protocol[T_co]):
    """Rule that decides which message of the model is the answer."""

    @property
    def instructions(self) -> str:
        """The instructions about the end of the run, beside the agent's own."""
        ...

    @property
    def spec(self) -> OutputSpec | None:
        """The schema of a reply."""
        ...

    @property
    def nudge(self) -> str:
        """The message to the model after a reply that is not an answer."""
        ...

    def tools(self, agent_tools: Toolbox) -> Toolbox:
        """Return the visible tools, from the agent's tools and others."""
        ...

    def answer(self, text: str) -> Answer[T_co] | None:
        """Return the answer in a reply; `None` when the model has to continue.

        Raises:
            InvalidOutput: when it is not valid.
        """
        ...


class ReplyEnding(Generic[T]):
    """Ending in which the first reply without tool calls is the answer."""

    instructions = ""
    nudge = ""

    def __init__(self, output: OutputType[T]) -> None:
        self._output = output
        self.spec: OutputSpec | None = output.spec

    def tools(self, agent_tools: Toolbox) -> Toolbox:
        """Return the tools of the model."""
        return agent_tools

    def answer(self, text: str) -> Answer[T]:
        """Return the answer in a reply.

        Raises:
            InvalidOutput: when it is not valid.
        """
        return Answer(self._output.parse(text))


class AutonomousEnding(Generic[T]):
    """Ending in which a tool that ends the turn has the answer, or a reply if the policy says so."""

    spec: OutputSpec | None = None

    def __init__(self, output: OutputType[T], autonomy: Autonomous) -> None:
        self._output = output
        self._autonomy = autonomy
        self._cached: tuple[Toolbox, Toolbox] | None = None
        self.instructions = ""

    def tools(self, agent_tools: Toolbox) -> Toolbox:
        """Return the visible tools of the agent, with `task_over` when no other tool ends the turn."""
        if self._cached is None or self._cached[0] is not agent_tools:
            self._cached = agent_tools, self._select_visible(agent_tools)
        return self._cached[1]

    def _select_visible(self, agent_tools: Toolbox) -> Toolbox:
        is_shown = self._autonomy.is_visible
        ends = any(tool.traits.ends_run and is_shown(tool) for tool in agent_tools)
        if ends or self._autonomy.infinite:
            self.instructions = ""
            return agent_tools.with_visible(is_shown)
        self.instructions = f"When the task is done, call the tool `{TASK_OVER}` with the final result."
        return agent_tools.with_visible(is_shown, TaskOver(self._output))

    def answer(self, text: str) -> Answer[T] | None:
        """Return the answer in a reply; `None` when the model only thinks aloud.

        Raises:
            InvalidOutput: when the reply ends the turn and is not valid.
        """
        is_final = self._autonomy.end_turn_on_plain_reply
        if self._output.spec is None:
            return Answer(self._output.parse(text)) if is_final else None
        try:
            return Answer(self._output.parse(text))
        except InvalidOutput:
            if is_final:
                raise
            return None

    @property
    def nudge(self) -> str:
        """The message to the model after it only thought aloud."""
        if self.instructions:
            return f"Continue with the task. When you are done, call the '{TASK_OVER}' function with the final result."
        return "Continue with the task."
