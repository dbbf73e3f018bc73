"""`Agent`: instructions, a model and tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from typing_extensions import TypeVar

from tactician.agents.base import BaseRunnable, snake_case
from tactician.errors import DeclarationError
from tactician.llm import NO_OPTIONS, LanguageModel, LlmOptions
from tactician.loop import (
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_MAX_TURNS,
    NO_TOOLS,
    OutputType,
    TurnLoop,
    TurnPolicy,
    output_type,
)
from tactician.runs import Input, RunContext, RunResult, messages_of
from tactician.tools import Toolbox, ToolLike

T = TypeVar("T", default=str)


class Agent(BaseRunnable[T]):
    """An agent that works with tools until it can answer.

    An agent holds no state of a run: the same object may run many times at once.

    Args:
        name: how others call it; its role when there is none.
        model: a name, options, or a model; the default model of the run's context when `None`.
        instructions: what it has to know and do.
        tools: what it may use: functions, `@tool` functions, tools, `other_agent.as_tool()`.
        output_type: what its answer has to be; text by default.
        description: what it is for, for those who choose between agents; its goal or instructions by default.
        id: how a service finds it; its name as `snake_case` by default.
        role, goal, background: instructions in three parts, instead of or before `instructions`.
        max_turns: requests to the model in one run, at the most.
        max_attempts: how often an answer may fail to be a valid `output_type`.
        parallel_tools: whether tool calls of one turn run concurrently.

    Raises:
        DeclarationError: when it has neither name nor role, or a tool is not declared correctly.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        model: str | LlmOptions | LanguageModel | None = None,
        instructions: str = "",
        tools: Sequence[ToolLike] = (),
        output_type: type[T] | None = None,
        description: str | None = None,
        id: str | None = None,
        role: str | None = None,
        goal: str | None = None,
        background: str | None = None,
        max_turns: int = DEFAULT_MAX_TURNS,
        max_attempts: int = DEFAULT_MAX_ATTEMPTS,
        parallel_tools: bool = True,
    ) -> None:
        if not (label := name or role):
            raise DeclarationError("Agent", ["it needs a name or a role"])
        self.name = label
        self._id = id
        self.instructions = instructions
        if role or goal or background:
            self.instructions = _instructions(role, goal, background, instructions)
        self.description = description or goal or instructions or label
        self.model = model
        self.tools = Toolbox(tools) if tools else NO_TOOLS
        self.output_type: type[T] | None = output_type
        self.policy = TurnPolicy(max_turns=max_turns, max_attempts=max_attempts, parallel_tools=parallel_tools)

    @property
    def id(self) -> str:
        """How a service finds it."""
        return self._id or snake_case(self.name)

    def __repr__(self) -> str:
        return f"Agent({self.name!r})"

    async def run(self, input: Input, *, context: RunContext | None = None) -> RunResult[T]:
        """Works on the input until it can answer.

        Raises:
            RunError: when it finds no answer; the error holds what was done so far.
            ModelError: when the model cannot be called.
        """
        child = (context or RunContext.default()).child(self.name)
        model, options = self._resolve(child)
        # Without an output type T is str, its default.
        wanted = cast("OutputType[T]", output_type(self.output_type or str))
        loop = TurnLoop(
            model, wanted, child, instructions=self.instructions, tools=self.tools, options=options, policy=self.policy
        )
        return await loop.run(messages_of(input))

    def _resolve(self, context: RunContext) -> tuple[LanguageModel, LlmOptions]:
        model = self.model
        if model is None or isinstance(model, LlmOptions):
            options = model or NO_OPTIONS
        elif isinstance(model, str):
            options = LlmOptions(model=model)
        else:
            return model, NO_OPTIONS
        return context.models.resolve(options), options


def _instructions(role: str | None, goal: str | None, background: str | None, instructions: str) -> str:
    lines = (
        role and f"You are: {role}.",
        goal and f"Your goal: {goal}",
        background and f"Your background: {background}",
    )
    return "\n".join(line for line in (*lines, instructions) if line)
