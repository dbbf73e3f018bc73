"""Base class of all Runnables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, cast

from typing_extensions import TypeForm, TypeVar, override

from tactician.agents.blueprint_port import BlueprintExporter, BlueprintLike
from tactician.agents.conversations import check_conversation, run_in_conversation
from tactician.conversation import Conversation
from tactician.events import Event
from tactician.late_imports import Port
from tactician.llm import TraceMetadata
from tactician.loop import output_type
from tactician.loop.output import InvalidOutput
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.saving.saved_state import renew_processes
from tactician.runs import (
    Budget,
    Input,
    OutputError,
    PendingRequest,
    RunContext,
    Runnable,
    RunResult,
    RunStatus,
    resume_run,
)
from tactician.runs.context.context import RunPlace
from tactician.runs.context.threads import run_blocking
from tactician.runs.life.execution import continue_run, load_pending, start_run
from tactician.runs.life.forking import Fork
from tactician.runs.life.inputs import NO_TYPES, InputTypes
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.record import RunRecord
from tactician.runs.runnable import stream_events
from tactician.stores.document import Lease
from tactician.suggestions import suggest_options
from tactician.tools import RunnableTool, Tool
from tactician.tools.runnable import ToolRequest, TypedInput
from tactician.tools.tool import as_text

if TYPE_CHECKING:
    from tactician.agents.composition import Member
    from tactician.diagrams.diagram import Diagram

A = TypeVar("A", default=ToolRequest)
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True, default=str)


class BaseRunnable(ABC, Generic[T_co]):
    """Base class that adds the methods of a Runnable to a class with `name`, `description` and `_work`.

    `_work` runs again from the beginning after a suspension. It may only run other Runnables, in an order
    that depends on their results only: those that had ended return their saved results.
    """

    name: str
    description: str
    own_description: str = ""
    """The description that the program gave; empty for one that was made of instructions or of other parts."""
    output_type: TypeForm[T_co] | None = None
    """Type of the output, where it is known beforehand."""
    trace: TraceMetadata | None = None
    """Trace to which its requests belong, and the requests of all that it runs, unless these say otherwise."""
    budget: Budget | None = None
    """Budget of each run that names no other budget, however the run begins."""

    @abstractmethod
    async def _work(self, input: Input, context: RunContext) -> RunResult[T_co]:
        """Do the work in the context of this run."""

    async def _work_in(self, conversation: Conversation, input: Input, context: RunContext) -> RunResult[T_co]:
        """Do the work in a conversation, which gets the messages."""
        return await run_in_conversation(self._work, conversation, input, context)

    @suggest_options
    async def run(
        self,
        input: Input,
        *,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
    ) -> RunResult[T_co]:
        """Do the work.

        Args:
            input: a string, a message, a conversation or any object that has a JSON form.
            context: the context; by default the context of the running code, and outside of runs the default services.
            budget: the budget of the run and of all nested runs; the budget of the Runnable by default.
            conversation: the conversation so far. It gets the input and the answer; from an agent, all messages between
                them too. It can always be continued. It is not stored with the run: for that, see `AgentService`.

        Returns:
            The result. Its status is `WAITING` when the run needs an approval or the caller first: see `resume`.

        Raises:
            RunError: when it fails; the error has the messages so far.
            ModelError: when a model cannot be called.
            StoredStateError: when the run is saved, and its input would not be read back equal: see `input_types`.
        """
        return await self._start(input, context, budget, conversation)

    def _start(
        self,
        input: Input,
        context: RunContext | None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
        work: Callable[[Input, RunContext], Awaitable[RunResult[T_co]]] | None = None,
    ) -> Awaitable[RunResult[T_co]]:
        """Begin a run; without a conversation, with the work in the place of `_work` that already has the input."""
        if conversation is not None:
            check_conversation(conversation)
            work = partial(self._work_in, conversation)
        limits = self.budget if budget is None else budget
        prepared, work = self.prepare_context(context), work or self._work
        return start_run(self.name, input, prepared, limits, work, input_types=self.input_types, runnable=self)

    def start_in_place(self, input: Input, context: RunContext, place: RunPlace) -> Awaitable[RunResult[T_co]]:
        """Return a run at a place in the run of the context. There is no coroutine around it."""
        return start_run(
            self.name,
            input,
            self.prepare_context(context),
            self.budget,
            self._work,
            input_types=self.input_types,
            place=place,
            runnable=self,
        )

    async def resume(
        self,
        run_id: str,
        responses: Mapping[str, Response],
        *,
        context: RunContext | None = None,
        conversation: Conversation | None = None,
    ) -> RunResult[T_co]:
        """Continue a waiting run, in this process or in another.

        Args:
            run_id: the `run_id` of the result of the waiting run.
            responses: the responses, by the ids of pending requests: `approve()`, `reject("why")`, or what a tool
                returned. Other requests stay pending.
            context: the context; it needs the store of the waiting run.
            conversation: the conversation of the run, if any, as the run left it.

        Raises:
            RunNotFoundError: when no waiting run of this name has the id, or a request is not pending.
            RunConflictError: when another caller continues it.
            RunError: when it fails. The run then still waits, and keeps its progress.
        """
        work, prepared = self._choose_work(conversation), self.prepare_context(context)
        return await resume_run(
            self.name, run_id, responses, prepared, work, input_types=self.input_types, runnable=self
        )

    async def continue_claimed(
        self, record: RunRecord, lease: Lease, *, context: RunContext, seconds: float | None = None
    ) -> RunResult[T_co]:
        """Continue a claimed run as far as possible: a run that was enqueued, or whose worker died.

        Args:
            record: record of the run.
            lease: its lease, which is released at the end.
            context: the context.
            seconds: duration of the lease; it is renewed meanwhile.

        Raises:
            StoredStateError: when its state cannot be read.
            LeaseLostError: when another worker has claimed it meanwhile.
            RunError: when it fails.
        """
        prepared = self.prepare_context(context) or context
        return await continue_run(
            record, lease, prepared, self._work, seconds, input_types=self.input_types, runnable=self
        )

    async def prepare_fork(self, fork: Fork, input: Input, context: RunContext) -> None:
        """Prepare a fork of a run of this Runnable, before it is saved.

        Args:
            fork: the fork.
            input: another input, for a fork from the start; the same input, when `None`.
            context: the context.

        Raises:
            ConfigurationError: for another input after the start.
        """
        renew_processes(fork.state.tree, fork.run_id)
        if input is not None:
            fork.replace_input(input, context, self.input_types)

    async def list_pending(self, run_id: str, *, context: RunContext | None = None) -> tuple[PendingRequest, ...]:
        """Return the requests that a run of this Runnable waits for.

        Raises:
            RunNotFoundError: when no run of this name waits with the id.
        """
        return await load_pending(self.name, run_id, context)

    def prepare_context(self, context: RunContext | None) -> RunContext | None:
        """Return the context with the settings of this Runnable for all its runs, such as its trace.

        Every way to begin or to continue a run of this Runnable calls it; what belongs to a single run does not belong
        here.

        Args:
            context: context of the run; `None` for the context of the running code.
        """
        return context if self.trace is None else (context or RunContext.current()).with_trace(self.trace)

    def _choose_work(
        self, conversation: Conversation | None
    ) -> Callable[[Input, RunContext], Awaitable[RunResult[T_co]]]:
        return self._work if conversation is None else partial(self._work_in, conversation)

    @suggest_options
    def run_sync(
        self,
        input: Input,
        *,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
    ) -> RunResult[T_co]:
        """Run from a program without an event loop; see `run`.

        Raises:
            RuntimeError: when called inside a running event loop; use `await ... .run(...)` there.
        """
        return run_blocking(self.run(input, context=context, budget=budget, conversation=conversation))

    @suggest_options
    def stream(
        self,
        input: Input,
        *,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
        timeout: float | None = None,
    ) -> AsyncGenerator[Event]:
        """Stream the events of a run, with the answer in pieces; the last event is `RunCompleted`.

        Pieces of what others say on the way to the answer are there too: these are `is_internal`. See `run`.
        A run that takes longer than `timeout` seconds in all is cancelled, with a `StreamTimeoutError`.
        """

        async def run(heard: RunContext) -> RunResult[object]:
            return await self.run(input, context=heard, budget=budget, conversation=conversation)

        return stream_events(run, context or RunContext.current(), limit=timeout)

    @suggest_options
    def stream_text(
        self,
        input: Input,
        *,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
        timeout: float | None = None,
    ) -> AsyncGenerator[str]:
        """Stream the text of the answer; see `stream` and `read_answer_text`."""
        from tactician.loop import read_answer_text

        outer = context or RunContext.current()
        events = self.stream(input, context=outer, budget=budget, conversation=conversation, timeout=timeout)
        return read_answer_text(events, len(outer.path))

    def as_tool(
        self,
        name: str | None = None,
        description: str | None = None,
        *,
        arguments: type[A] | None = None,
        prompt: Callable[[A], Input] | None = None,
    ) -> Tool:
        """Return a tool that runs this Runnable.

        Args:
            name: the name for the model; by default the name of the Runnable.
            description: the purpose; by default the purpose of the Runnable.
            arguments: type of its arguments, such as a pydantic model; by default the values for the templates of an
                ensemble, and else a text, `request`.
            prompt: function from the arguments to the input of the Runnable; by default they are the input themselves,
                which agents read as JSON.
        """
        return RunnableTool(self, name, description, arguments=arguments, prompt=prompt)

    @property
    def composition(self) -> tuple[Member, ...]:
        """Runnables inside, with their roles."""
        return ()

    @property
    def label(self) -> tuple[str, ...]:
        """Lines that name the Runnable in a drawing: its name, and its kind."""
        return self.name, type(self).__name__

    def diagram(self) -> Diagram:
        """Return a drawing of the Runnable and of all inside it."""
        from tactician.agents.composition import draw_composition

        return draw_composition(self)

    def to_mermaid(self) -> str:
        """Return the drawing as a Mermaid flowchart."""
        from tactician.diagrams.mermaid import to_mermaid

        return to_mermaid(self.diagram())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return what a notebook shows."""
        from tactician.diagrams.html import render_mimebundle

        return render_mimebundle(repr(self), self.name, {"": self.description}, self.diagram())

    @property
    def input_types(self) -> InputTypes:
        """The types of input objects; a store keeps objects of these types besides text, messages and JSON."""
        return NO_TYPES

    @property
    def planned_spec(self) -> PlannedAgentSpec | None:
        """The actions and goals of this Runnable, when a planner decides what runs; `None` otherwise."""
        return None

    def to_blueprint(self, *, strict: bool = False) -> BlueprintLike[BaseRunnable[object]]:
        """Return the blueprint of this Runnable and of all Runnables inside it.

        The object is a `tactician.Blueprint`; `tactician.blueprint.export_blueprint` is the same with that static type.

        Args:
            strict: refuse to leave out tools that no import would find again; else a `BlueprintWarning` names them.

        Raises:
            BlueprintError: with everything that a blueprint cannot express.
        """
        return BLUEPRINTS.load()(self, strict=strict)

    def with_output_type(self, kind: TypeForm[T]) -> TypedRunnable[T]:
        """Return this Runnable with its output validated as `kind`; see `TypedRunnable`."""
        return TypedRunnable(self, kind)


class TypedRunnable(BaseRunnable[T], Generic[T]):
    """Runnable whose output is validated as a type, also after a handoff.

    An answer of the type stays unchanged, any other is parsed as JSON. The type is not sent to a model.

    Args:
        inner: the wrapped Runnable.
        kind: the type.
    """

    def __init__(self, inner: Runnable, kind: TypeForm[T]) -> None:
        self.name = inner.name
        self.description = inner.description
        self.inner = inner
        self.output_type = kind
        self._output = output_type(kind)

    @property
    @override
    def input_types(self) -> InputTypes:
        return find_input_types(self.inner)

    @property
    def tool_arguments(self) -> type[object] | None:
        """The type of its arguments as a tool; `None` for one text."""
        return self.inner.tool_arguments if isinstance(self.inner, TypedInput) else None

    async def _work(self, input: Input, context: RunContext) -> RunResult[T]:
        return self._validate(await self.inner.run(input, context=self._enclose(context)), context)

    @override
    async def _work_in(self, conversation: Conversation, input: Input, context: RunContext) -> RunResult[T]:
        if not isinstance(self.inner, BaseRunnable):
            return await super()._work_in(conversation, input, context)
        inner: BaseRunnable[object] = self.inner
        inside = self._enclose(context)
        return self._validate(await inner.run(input, context=inside, conversation=conversation), context)

    def _enclose(self, context: RunContext) -> RunContext:
        """Return the context of the inner run, whose text is the answer only where no object is made of it."""
        return context if self.output_type is str else context.as_internal()

    def _validate(self, result: RunResult[object], context: RunContext) -> RunResult[T]:
        try:
            output = self._output.accept(result.output)
            return cast("RunResult[T]", replace(result, output=output))  # mypy takes replace to keep the type
        except InvalidOutput as error:
            text = as_text(result.output)
            failed = RunResult(None, RunStatus.FAILED, result.messages, context.tally, run_id=context.run_id)
            message = f"{self.name}: its answer is not a valid {self._output.name}: {error}"
            raise OutputError(message, failed, text) from error


def find_start(runnable: Runnable) -> Callable[[Input, RunContext, RunPlace], Awaitable[RunResult[object]]]:
    """Return the function that runs a Runnable at a place in a run; most have no coroutine around the run."""
    if isinstance(runnable, BaseRunnable) and type(runnable).run is BaseRunnable.run:
        return runnable.start_in_place
    return lambda value, context, place: runnable.run(value, context=context.inside_place(place))


def find_input_types(*takers: Runnable | None) -> InputTypes:
    """Return the input types of a Runnable that passes its input on to these Runnables."""
    return InputTypes.combine(getattr(taker, "input_types", InputTypes()) for taker in takers if taker is not None)


BLUEPRINTS: Final[Port[BlueprintExporter[BaseRunnable[object]]]] = Port("blueprints")
"""The exporter that `tactician.blueprint` binds. It is loaded when the first Runnable is asked for its blueprint."""
