"""`Agent`: instructions, a model and tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from typing import Self, cast

from typing_extensions import TypeVar, Unpack, override

from tactician.agents.base import BaseRunnable
from tactician.agents.spec import AgentSettings, AgentSpec
from tactician.agents.toolboxes import DerivedTools, ToolboxSource, create_worker_tools, describe_workers, with_groups
from tactician.conversation import Conversation, WindowStrategy
from tactician.llm import NO_OPTIONS, LlmOptions, ModelLike
from tactician.loop import Handoff, OutputType, TurnLoop, output_type
from tactician.runs import (
    READS_MESSAGES,
    Budget,
    Input,
    InputTypes,
    Response,
    RunContext,
    Runnable,
    RunResult,
    messages_of,
    resume_run,
    start_run,
)
from tactician.tools import Tool, Toolbox, ToolLike, snake_case

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
        window: what of a long conversation the model is shown, such as `SlidingWindow(max_tokens=4000)`; all by
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

    spec: AgentSpec[T_co]
    """The settings of the agent, with their defaults."""
    _view: ToolboxSource | None = None
    _invocations: tuple[Tool, ...] = ()
    """The tools that stand for its workers. The instructions list them."""

    def __init__(
        self, name: str | None = None, *, output_type: type[T_co] | None = None, **settings: Unpack[AgentSettings]
    ) -> None:
        self._adopt(AgentSpec(name, output_type, **settings))

    def _adopt(self, spec: AgentSpec[T_co]) -> None:
        """Become the agent that a spec describes."""
        more = (*self._invocations, *spec.handoffs)
        self._tools = Toolbox((*spec.tools, *more)) if more else spec.tools
        self.spec = spec
        self.name = spec.name
        self.description = spec.description
        self.output_type = spec.output_type

    @property
    def id(self) -> str:
        """The id by which a service finds the agent."""
        return self.spec.id or snake_case(self.name)

    @property
    def model(self) -> ModelLike | None:
        """The model, its options or its name; the default model of the run's context, when `None`."""
        return self.spec.model

    @property
    def instructions(self) -> str:
        """The instructions as a text; empty, while their source has not been read."""
        return self.spec.prompt

    @property
    def window(self) -> WindowStrategy | None:
        """The part of a long conversation that the model is shown; all of it, when `None`."""
        return self.spec.window

    @property
    def handoffs(self) -> tuple[Handoff[object], ...]:
        """Those to whom the agent may hand the conversation over."""
        return self.spec.handoffs

    @property
    def tools(self) -> Toolbox:
        """The tools of the agent with its handoffs and workers; not those that its tool groups stand for."""
        return self._current_tools()

    def replace_tools(self, tools: Sequence[ToolLike]) -> None:
        """Give the agent other tools, beside its handoffs and workers. Runs that have begun get them from their next
        turn on.

        Raises:
            DeclarationError: when one is not declared correctly; then nothing changes.
        """
        self._adopt(self.spec.with_settings(tools=tools))

    def with_changes(
        self,
        *,
        instructions: str | None = None,
        options: LlmOptions = NO_OPTIONS,
        tools: Callable[[Tool], Tool] | None = None,
    ) -> Self:
        """Return a copy with other instructions, more options, or its tools made into others. `replace_tools` of the
        agent itself reaches the copy too. Options do not change a model that was given as an object."""
        settings: AgentSettings = {}
        if instructions is not None:
            settings |= {"instructions": instructions, "role": None, "goal": None, "background": None}
        if self.model is None or isinstance(self.model, str | LlmOptions):
            settings["model"] = options.over(LlmOptions.of(self.model))
        changed = copy(self)
        changed.spec = self.spec.with_settings(**settings)
        changed._view = self._current_tools
        if tools is not None:
            changed._view = DerivedTools(self._current_tools, lambda own: Toolbox(map(tools, own)))
        return changed

    def with_workers(self, workers: Iterable[tuple[str, Runnable]], *, name: str, max_turns: int) -> Self:
        """Return a copy under another name that has these workers beside its own, each with what it does."""
        leader = copy(self)
        leader._view = None
        leader._invocations = (*self._invocations, *create_worker_tools(workers))
        beside = (*self._invocations, *self.handoffs)
        own = [tool for tool in self.tools if tool not in beside]
        leader._adopt(self.spec.with_settings(name=name, max_turns=max_turns, tools=own))
        return leader

    def __repr__(self) -> str:
        return f"Agent({self.name!r})"

    @property
    @override
    def input_types(self) -> InputTypes:
        return READS_MESSAGES

    async def run(
        self,
        input: Input,
        *,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
    ) -> RunResult[T_co]:
        """Work on the input until it can answer.

        Args:
            input: a string, a message, a conversation or any object that has a JSON form.
            context: the surroundings; those of the code that runs by default, and outside of runs the default services.
            budget: how much it and all runs inside it may use; no limit by default.
            conversation: what was said before. It grows with all that is said, and can always be gone on with.

        Returns:
            The result. Its status is `WAITING` when the run needs an approval or the caller first: see `resume`.

        Raises:
            RunError: when it finds no answer; the error holds what was done so far.
            ModelError: when the model cannot be called.
        """
        work = partial(self._run, conversation=conversation)
        return await start_run(self.name, input, self._traced(context), budget, work, input_types=READS_MESSAGES)

    async def resume(
        self,
        run_id: str,
        responses: Mapping[str, Response],
        *,
        context: RunContext | None = None,
        conversation: Conversation | None = None,
    ) -> RunResult[T_co]:
        """Go on with a run that waits, in this process or another one.

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
        work, traced = partial(self._run, conversation=conversation), self._traced(context)
        return await resume_run(self.name, run_id, responses, traced, work, input_types=READS_MESSAGES)

    async def _work(self, input: Input, context: RunContext) -> RunResult[T_co]:
        return await self._run(input, context, None)

    async def _run(self, input: Input, context: RunContext, conversation: Conversation | None) -> RunResult[T_co]:
        tools: ToolboxSource = self._current_tools
        if self.spec.tool_groups:
            tools = await with_groups(tools, self.spec.tool_groups, context)
        source, instructions = self.spec.source, self.spec.prompt
        if source is not None and source.text is None:
            instructions = await source.resolve()
        if self._invocations:
            instructions = describe_workers(instructions, self._invocations)
        return await self._loop(context, tools, instructions).run(messages_of(input), conversation)

    def _loop(self, context: RunContext, tools: ToolboxSource, instructions: str) -> TurnLoop[T_co]:
        model, options = context.find_model(self.model)
        return TurnLoop(
            model,
            self._output,
            context,
            instructions=instructions,
            tools=tools,
            options=options,
            policy=self.spec,
        )

    @cached_property
    def _output(self) -> OutputType[T_co]:
        # Without an output type T_co is str, its default.
        return cast("OutputType[T_co]", output_type(self.output_type or str))

    def _current_tools(self) -> Toolbox:
        return self._tools if self._view is None else self._view()
