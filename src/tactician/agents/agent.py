"""`Agent`: instructions, a model and tools."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from copy import copy
from functools import cached_property, partial
from typing import Self, cast, overload

from typing_extensions import TypeForm, TypeVar, Unpack, override

from tactician.agents.base import BaseRunnable
from tactician.agents.composition import Member
from tactician.agents.spec import AgentSettings, AgentSpec
from tactician.agents.toolboxes import (
    DerivedTools,
    ToolboxSource,
    create_worker_tools,
    describe_workers,
    with_caller_tools,
    with_groups,
)
from tactician.conversation import Conversation, WindowStrategy
from tactician.errors import DeclarationError
from tactician.llm import LlmOptions, ModelLike
from tactician.llm.options import NO_OPTIONS
from tactician.loop import Handoff, output_type
from tactician.loop.output import OutputType
from tactician.loop.turns import TurnLoop
from tactician.prompts import LlmReference
from tactician.prompts.contributor_adapters import build_instructions
from tactician.prompts.contributors import ActiveDirectives
from tactician.runs import Input, RunContext, Runnable, RunResult
from tactician.runs.life.inputs import READS_MESSAGES, InputTypes
from tactician.runs.runnable import messages_of
from tactician.suggestions import suggest_options
from tactician.text import snake_case
from tactician.tools import RunnableTool, Tool
from tactician.tools.toolbox import Toolbox, ToolLike

T = TypeVar("T", default=str)
T_co = TypeVar("T_co", covariant=True, default=str)


@suggest_options
class Agent(BaseRunnable[T_co]):
    """An agent that works with tools until it can answer.

    An agent holds no state of a run: the same object may run many times at once.

    Args:
        name: the name; the role by default.
        model: a name, options, or a model; by default the default model of the run's context.
        instructions: a text, or a source such as `InstructionFile("support.md")`.
        tools: functions, `@tool` functions, tools, agents and other Runnables, and references with their tools.
        tool_groups: tool groups, or their names on the platform.
        references: knowledge to look up, such as `RagTools(...)`: its description and its tools.
        contributors: further parts of the instructions, made for each run: objects such as `Persona(...)`, functions.
        handoffs: targets to which it may hand the conversation over: `handoff(...)`, or Runnables.
        output_type: the type of the answer; text by default.
        description: the purpose, for the choice between agents; the goal or the instructions by default.
        id: the id for services; the name as `snake_case` by default.
        role: the first part of the instructions, as in "You are ..."; also the default of `name`.
        goal: the agent's purpose, another part of the instructions; also the default of `description`.
        background: what the agent knows or has done, told between role and goal. All three come before `instructions`.
        input_guardrails: checks of the input of a run; see `guardrails`.
        output_guardrails: checks of the answer, before the caller gets it.
        tool_input_guardrails: checks of the arguments of a tool call, before the tool runs.
        tool_output_guardrails: checks of the result of a tool call, before the model sees it.
        window: the part of a long conversation that the model sees, such as `SlidingWindow(max_tokens=4000)`; all by
            default.
        rules: rules over its tool calls, of `tactician.planning.rules`: what must come first, may never happen, or has
            to be done before the answer counts.
        autonomy: `Autonomous(...)`, for an agent that works until it declares its task done.
        max_turns: number of requests in which the model may use tools. After them the model has to answer.
        max_attempts: number of attempts at a valid `output_type`.
        max_tool_calls: number of tool calls in all; no limit by default.
        max_tool_output_tokens: length at which a tool's result is cut off for the model; no limit by default.
        max_tool_output_chars: the same length in characters; the shorter one counts.
        parallel_tools: run the tool calls of a turn concurrently.
        tool_timeout: seconds for a tool call; no limit by default.
        allow_delegation: let the agent delegate to the other agents of an ensemble.

    Raises:
        DeclarationError: when it has neither name nor role, or a tool or a guardrail is not declared correctly.
    """

    spec: AgentSpec[T_co]
    """The settings of the agent, with their defaults."""
    _view: ToolboxSource | None = None
    _invocations: tuple[Tool, ...] = ()
    """The tools that stand for its workers. The instructions list them."""
    _looked_up: tuple[Tool, ...] = ()
    """The tools of its references."""

    @overload
    def __init__(
        self, name: str | None = None, *, output_type: None = None, **settings: Unpack[AgentSettings]
    ) -> None: ...

    @overload
    def __init__(
        self, name: str | None = None, *, output_type: TypeForm[T_co], **settings: Unpack[AgentSettings]
    ) -> None: ...

    def __init__(
        self, name: str | None = None, *, output_type: TypeForm[T_co] | None = None, **settings: Unpack[AgentSettings]
    ) -> None:
        self._adopt(AgentSpec(name, output_type, **settings))

    def _adopt(self, spec: AgentSpec[T_co]) -> None:
        """Become the agent that a spec describes."""
        if spec.references or self._looked_up:
            self._looked_up = tuple(tool for reference in spec.references for tool in reference.named_tools)
        more = (*self._invocations, *self._looked_up, *spec.handoffs)
        self._tools = Toolbox((*spec.tools.contents, *more)) if more else spec.tools
        if spec.rules:
            self._check_rules(spec)
        self.spec = spec
        self.name = spec.name
        self.description, self.own_description = spec.description, spec.own_description
        self.output_type = spec.output_type

    def _check_rules(self, spec: AgentSpec[T_co]) -> None:
        """Check the names in the rules, as far as the tools can be known before a run."""
        from tactician.loop.rule_guard import list_arguments
        from tactician.planning.ruling.calls import find_call_contradiction, find_call_mistakes

        arguments = list_arguments(self._tools)
        if mistakes := list(find_call_mistakes(spec.rules, self._tools.names, arguments, is_complete=False)):
            raise DeclarationError(spec.name, mistakes)
        if (contradiction := find_call_contradiction(tuple(spec.rules), self._tools.names)) is not None:
            raise DeclarationError(spec.name, [contradiction])

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
        """The Runnables to which the agent may hand the conversation over."""
        return self.spec.handoffs

    @property
    def tools(self) -> Toolbox:
        """The tools of the agent, with references, handoffs and workers, but without its tool groups' tools."""
        return self._current_tools()

    def replace_tools(self, tools: Sequence[ToolLike | LlmReference]) -> None:
        """Replace the tools of the agent, except its handoffs, its workers and the tools of its references.

        Runs that have begun use the new tools from their next turn on.

        Raises:
            DeclarationError: when a guardrail or tool is not declared correctly; then nothing changes.
        """
        self._adopt(self.spec.with_settings(tools=tools))

    def with_changes(
        self,
        *,
        instructions: str | None = None,
        options: LlmOptions = NO_OPTIONS,
        tools: Callable[[Tool], Tool] | None = None,
    ) -> Self:
        """Return a copy with other instructions, other options or changed tools.

        `replace_tools` of this agent changes the copy too. Options do not change a model that was passed as an object.
        """
        settings: AgentSettings = {}
        if instructions is not None:
            settings |= {"instructions": instructions, "role": None, "goal": None, "background": None}
        if self.model is None or isinstance(self.model, str | LlmOptions):
            settings["model"] = options.with_defaults(LlmOptions.of(self.model))
        changed = copy(self)
        changed.spec = self.spec.with_settings(**settings)
        changed._view = self._view or partial(getattr, self, "_tools")
        if tools is not None:
            changed._view = DerivedTools(self._current_tools, lambda own: Toolbox((*map(tools, own), *own.providers)))
        return changed

    def with_defaults(
        self,
        output_type: TypeForm[T] | None = None,
        *,
        more_tools: Sequence[ToolLike] = (),
        **settings: Unpack[AgentSettings],
    ) -> Agent[T]:
        """Return a copy with an output type and other settings where this agent leaves them open, and with more tools.

        A tool of the agent overrides another of the same name. `replace_tools` of this agent changes the copy too.
        """
        changed = copy(cast("Agent[T]", self))
        changed.__dict__.pop("_output", None)
        changed.spec = self.spec.with_defaults(output_type, **settings)
        changed.output_type = changed.spec.output_type
        changed._view = self._view or partial(getattr, self, "_tools")
        if more_tools:
            changed._view = DerivedTools(self._current_tools, Toolbox(more_tools).with_preferred)
        return changed

    def with_workers(self, workers: Iterable[tuple[str, Runnable]], *, name: str, max_turns: int) -> Self:
        """Return a copy under another name that has these workers as well, each with a description of its work."""
        leader = copy(self)
        leader._view = None
        leader._invocations = (*self._invocations, *create_worker_tools(workers))
        beside = (*self._invocations, *self._looked_up, *self.handoffs)
        tools_kept = [tool for tool in self.tools.contents if tool not in beside]
        leader._adopt(self.spec.with_settings(name=name, max_turns=max_turns, tools=tools_kept))
        return leader

    def __repr__(self) -> str:
        return f"Agent({self.name!r})"

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        runnable_tools = (tool for tool in self.tools if isinstance(tool, RunnableTool))
        inside = tuple(
            Member("worker" if tool in self._invocations else "tool", tool.runnable) for tool in runnable_tools
        )
        return *inside, *(Member("handoff", handoff.target) for handoff in self.handoffs)

    @property
    @override
    def label(self) -> tuple[str, ...]:
        names = [tool.name for tool in self.tools if not isinstance(tool, RunnableTool | Handoff)]
        return (*super().label, f"tools: {', '.join(names)}") if names else super().label

    @property
    @override
    def input_types(self) -> InputTypes:
        return READS_MESSAGES

    @override
    def _work(self, input: Input, context: RunContext) -> Coroutine[object, object, RunResult[T_co]]:
        return self._run(input, context, None)

    @override
    def _work_in(
        self, conversation: Conversation, input: Input, context: RunContext
    ) -> Coroutine[object, object, RunResult[T_co]]:
        return self._run(input, context, conversation)

    def _run(
        self, input: Input, context: RunContext, conversation: Conversation | None
    ) -> Coroutine[object, object, RunResult[T_co]]:
        spec, source = self.spec, self._view or self._current_tools
        has_parts = spec.tool_groups or spec.references or spec.contributors
        if (
            has_parts
            or context.find(ActiveDirectives) is not None
            or not isinstance(spec.instructions, str)
            or source().providers
        ):
            return self._load_and_run(input, context, conversation)
        tools = with_caller_tools(source, context)
        return self._start_loop(context, tools, spec.prompt).run(messages_of(input), conversation)

    async def _load_and_run(
        self, input: Input, context: RunContext, conversation: Conversation | None
    ) -> RunResult[T_co]:
        """Load the tools of groups, and the instructions from elsewhere, and work with them."""
        tools: ToolboxSource = self._current_tools
        instructions, source = self.spec.prompt, self.spec.source
        if groups := (*self.spec.tool_groups, *tools().providers):
            tools = await with_groups(tools, groups, context)
        tools = with_caller_tools(tools, context)
        if source is not None and source.text is None:
            instructions = await source.resolve()
        contributors = (*self.spec.contributors, *self.spec.references)
        instructions = await build_instructions((instructions,), contributors, context)
        return await self._start_loop(context, tools, instructions).run(messages_of(input), conversation)

    def _start_loop(self, context: RunContext, tools: Toolbox | ToolboxSource, instructions: str) -> TurnLoop[T_co]:
        spec = self.spec
        model, options = context.find_model(self.model)
        if self._invocations:
            instructions = describe_workers(instructions, self._invocations)
        return TurnLoop(
            model,
            self._output,
            context,
            instructions=instructions,
            tools=tools,
            options=options,
            policy=spec,
            shared_rules=context.services.rules,
        )

    @cached_property
    def _output(self) -> OutputType[T_co]:
        # Without an output type T_co is str, its default.
        return cast("OutputType[T_co]", output_type(self.output_type or str))

    def _current_tools(self) -> Toolbox:
        return self._tools if self._view is None else self._view()
