"""`Agent`: instructions, a model and tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Self, cast

from typing_extensions import TypeVar

from tactician.agents.base import BaseRunnable
from tactician.agents.toolboxes import Changed, ToolboxSource, with_groups
from tactician.conversation import ContextStrategy, Conversation
from tactician.errors import DeclarationError
from tactician.guardrails import GuardrailLike
from tactician.llm import NO_OPTIONS, LanguageModel, LlmOptions
from tactician.loop import (
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_MAX_TURNS,
    NO_TOOLS,
    Autonomous,
    Guards,
    Handoff,
    OutputType,
    TurnLoop,
    TurnPolicy,
    handoff,
    output_type,
)
from tactician.prompts import InstructionSource
from tactician.runs import Budget, Input, Response, RunContext, Runnable, RunResult, begin, go_on, messages_of
from tactician.tools import Tool, Toolbox, ToolGroup, ToolLike, snake_case

T_co = TypeVar("T_co", covariant=True, default=str)


class Agent(BaseRunnable[T_co]):
    """An agent that works with tools until it can answer.

    An agent holds no state of a run: the same object may run many times at once.

    Args:
        name: how others call it; its role when there is none.
        model: a name, options, or a model; the default model of the run's context when `None`.
        instructions: what it has to know and do: a text, or where it is, as `InstructionFile("support.md")`.
        tools: what it may use: functions, `@tool` functions, tools, `other_agent.as_tool()`.
        tool_groups: what else: groups of tools, by the names that they have where it runs, or themselves.
        handoffs: to whom it may hand the conversation on: `handoff(...)`, or simply Runnables.
        output_type: what its answer has to be; text by default.
        description: what it is for, for those who choose between agents; its goal or instructions by default.
        id: how a service finds it; its name as `snake_case` by default.
        role, goal, background: instructions in three parts, instead of or before `instructions`.
        input_guardrails, output_guardrails: what is checked of the input, and of the answer; see `guardrails`.
        tool_input_guardrails, tool_output_guardrails: what is checked of tool calls, and of what tools return.
        context: what of a long conversation the model is shown, such as `SlidingWindow(max_tokens=4000)`; all by
            default.
        autonomy: `Autonomous(...)`, for an agent that works on until it says that it is done.
        max_turns: requests to the model in which it may use tools. After them it is told to answer.
        max_attempts: how often an answer may fail to be a valid `output_type`.
        max_tool_calls: how many tool calls may be run in all; no limit by default.
        max_tool_output_tokens: what a tool returns is cut off there; no limit by default.
        parallel_tools: whether tool calls of one turn run concurrently.
        tool_timeout: seconds for a tool call; no limit by default.

    Raises:
        DeclarationError: when it has neither name nor role, or a tool or a guardrail is not declared correctly.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        model: str | LlmOptions | LanguageModel | None = None,
        instructions: str | InstructionSource = "",
        tools: Sequence[ToolLike] = (),
        tool_groups: Sequence[str | ToolGroup] = (),
        handoffs: Sequence[Handoff[object] | Runnable] = (),
        output_type: type[T_co] | None = None,
        description: str | None = None,
        id: str | None = None,
        role: str | None = None,
        goal: str | None = None,
        background: str | None = None,
        input_guardrails: Sequence[GuardrailLike] = (),
        output_guardrails: Sequence[GuardrailLike] = (),
        tool_input_guardrails: Sequence[GuardrailLike] = (),
        tool_output_guardrails: Sequence[GuardrailLike] = (),
        context: ContextStrategy | None = None,
        autonomy: Autonomous | None = None,
        max_turns: int = DEFAULT_MAX_TURNS,
        max_attempts: int = DEFAULT_MAX_ATTEMPTS,
        max_tool_calls: int | None = None,
        max_tool_output_tokens: int | None = None,
        parallel_tools: bool = True,
        tool_timeout: float | None = None,
    ) -> None:
        if not (label := name or role):
            raise DeclarationError("Agent", ["it needs a name or a role"])
        self.name = label
        self._id = id
        self.instruction_source = instructions if isinstance(instructions, InstructionSource) else None
        text = instructions if isinstance(instructions, str) else instructions.text or ""
        self.instructions = text
        if role or goal or background:
            if self.instruction_source is not None:
                raise DeclarationError(label, ["instructions from a source stand alone, without a role"])
            self.instructions = _instructions(role, goal, background, text)
        self.description = description or goal or text or label
        self.model = model
        self.handoffs = tuple(map(_as_handoff, handoffs)) if handoffs else ()
        self._tools = Toolbox((*tools, *self.handoffs)) if tools or handoffs else NO_TOOLS
        self.tool_groups = (tool_groups,) if isinstance(tool_groups, str) else tuple(tool_groups)
        self.output_type: type[T_co] | None = output_type
        self.guards = Guards.of(input_guardrails, output_guardrails, tool_input_guardrails, tool_output_guardrails)
        self.context = context
        self.autonomy = autonomy
        self.policy = TurnPolicy(
            max_turns=max_turns,
            max_attempts=max_attempts,
            max_tool_calls=max_tool_calls,
            parallel_tools=parallel_tools,
            tool_timeout=tool_timeout,
            max_tool_output_tokens=max_tool_output_tokens,
            window=context,
            guards=self.guards,
            autonomy=autonomy,
        )

    _view: ToolboxSource | None = None
    _framed: Callable[[str], str] | None = None
    """Adds to the instructions what follows from what the agent is made of, such as its workers."""

    @property
    def id(self) -> str:
        """How a service finds it."""
        return self._id or snake_case(self.name)

    @property
    def tools(self) -> Toolbox:
        """What it may use, its handoffs included; not what its tool groups stand for."""
        return self._current_tools()

    def replace_tools(self, tools: Sequence[ToolLike]) -> None:
        """Gives the agent other tools, beside its handoffs. Runs that are going on have them from their next turn on.

        Raises:
            DeclarationError: when one is not declared correctly; then nothing changes.
        """
        self._tools = Toolbox((*tools, *self.handoffs))

    def variant(
        self,
        *,
        instructions: str | None = None,
        options: LlmOptions = NO_OPTIONS,
        tools: Callable[[Tool], Tool] | None = None,
    ) -> Self:
        """A copy with other instructions, more options, or its tools made into others. `replace_tools` of the agent
        itself reaches the copy too. Options do not change a model that was given as an object."""
        changed = copy(self)
        if instructions is not None:
            changed.instructions, changed.instruction_source = instructions, None
        if self.model is None or isinstance(self.model, str | LlmOptions):
            changed.model = options.over(_as_options(self.model))
        changed._view = self._current_tools
        if tools is not None:
            changed._view = Changed(self._current_tools, lambda own: Toolbox(map(tools, own)))
        return changed

    def __repr__(self) -> str:
        return f"Agent({self.name!r})"

    async def run(
        self,
        input: Input,
        *,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
    ) -> RunResult[T_co]:
        """Works on the input until it can answer.

        Args:
            input: a string, a message, a conversation or any object that has a JSON form.
            context: the surroundings; the models of the environment by default.
            budget: how much it and all runs inside it may use; no limit by default.
            conversation: what was said before. It grows with all that is said, and can always be gone on with.

        Returns:
            The result. Its status is `WAITING` when the run needs an approval or the caller first: see `resume`.

        Raises:
            RunError: when it finds no answer; the error holds what was done so far.
            ModelError: when the model cannot be called.
        """

        async def work(given: Input, child: RunContext) -> RunResult[T_co]:
            return await self._run(given, child, conversation)

        return await begin(self.name, input, self._traced(context), budget, work)

    async def resume(
        self,
        run_id: str,
        responses: Mapping[str, Response],
        *,
        context: RunContext | None = None,
        conversation: Conversation | None = None,
    ) -> RunResult[T_co]:
        """Goes on with a run that waits, in this process or another one.

        Args:
            run_id: `run_id` of the result that the waiting run gave.
            responses: what it is told, by the ids of its pending requests: `approve()`, `reject("why")`, or what a tool
                gave. Those left out stay pending.
            context: the surroundings; they need the store of the run that waits.
            conversation: that of the run, if it had one, as the run left it.

        Raises:
            RunNotFoundError: when no run of this name waits with the id, or not for one of these requests.
            RunConflictError: when somebody else has taken it up.
            RunError: when it fails. It still waits then, with what it has done since.
        """

        async def work(given: Input, child: RunContext) -> RunResult[T_co]:
            return await self._run(given, child, conversation)

        return await go_on(self.name, run_id, responses, self._traced(context), work)

    async def _work(self, input: Input, context: RunContext) -> RunResult[T_co]:
        return await self._run(input, context, None)

    async def _run(self, input: Input, context: RunContext, conversation: Conversation | None) -> RunResult[T_co]:
        tools: ToolboxSource = self._current_tools
        if self.tool_groups:
            tools = await with_groups(tools, self.tool_groups, context)
        source, instructions = self.instruction_source, self.instructions
        if source is not None and source.text is None:
            instructions = await source.resolve()
        if self._framed is not None:
            instructions = self._framed(instructions)
        return await self._loop(context, tools, instructions).run(messages_of(input), conversation)

    def _loop(self, context: RunContext, tools: ToolboxSource, instructions: str) -> TurnLoop[T_co]:
        model, options = self._resolve(context)
        # Without an output type T_co is str, its default.
        wanted = cast("OutputType[T_co]", output_type(self.output_type or str))
        return TurnLoop(
            model,
            wanted,
            context,
            instructions=instructions,
            tools=tools,
            options=options,
            policy=self.policy,
        )

    def _current_tools(self) -> Toolbox:
        return self._tools if self._view is None else self._view()

    def _resolve(self, context: RunContext) -> tuple[LanguageModel, LlmOptions]:
        model = self.model
        if model is not None and not isinstance(model, str | LlmOptions):
            return model, NO_OPTIONS
        options = _as_options(model)
        return context.models.resolve(options), options


def _as_options(model: str | LlmOptions | None) -> LlmOptions:
    return LlmOptions(model=model) if isinstance(model, str) else model or NO_OPTIONS


def _as_handoff(value: Handoff[object] | Runnable) -> Handoff[object]:
    return value if isinstance(value, Handoff) else handoff(value)


def _instructions(role: str | None, goal: str | None, background: str | None, instructions: str) -> str:
    lines = (
        role and f"You are: {role}.",
        goal and f"Your goal: {goal}",
        background and f"Your background: {background}",
    )
    return "\n".join(line for line in (*lines, instructions) if line)
