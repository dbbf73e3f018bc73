"""The context that is passed down to everything that runs: shared services, and what belongs to this run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, ParamSpec, Protocol, TypeVar

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.errors import ConfigurationError
from tactician.events import Event
from tactician.events.bus import EventBus, EventEmitter, EventListener
from tactician.events.event import new_id
from tactician.events.spans import find_span_id
from tactician.llm import LanguageModel, LlmOptions, ModelLike, TraceMetadata
from tactician.llm.model_sources import ModelSource, as_model_source
from tactician.llm.options import NO_OPTIONS
from tactician.llm.usage import UsageTally
from tactician.runs.context.artifacts import ArtifactChannel
from tactician.runs.context.services import ModelFilter, Services
from tactician.runs.context.step_events import StepEvents
from tactician.runs.context.telemetry import load_capture_mode
from tactician.runs.outcomes.budget import UNLIMITED, Budget, BudgetMeter
from tactician.runs.outcomes.suspension import PendingRequest, Response
from tactician.runs.progress.checkpoint import Checkpoint
from tactician.runs.progress.spending import keep_spent
from tactician.runs.user import ChatUser
from tactician.stores import DocumentStore
from tactician.trace import Recorder
from tactician.trace.capture import CaptureMode

if TYPE_CHECKING:
    from tactician.resilience.pace import Pace

P = ParamSpec("P")
T = TypeVar("T")
MISSED_DEADLINE: Final = "the deadline of the run has passed"
_NO_RESPONSES: Final[Mapping[str, Response]] = MappingProxyType({})
_NO_OBJECTS: Final[Mapping[type, object]] = MappingProxyType({})


class RunPlace(Protocol):
    """Place in a run for runs inside it, such as a task."""

    @property
    def checkpoint(self) -> Checkpoint:
        """Its checkpoint."""
        ...

    @property
    def is_internal(self) -> bool:
        """True when its text is not part of the answer of the run."""
        ...

    @property
    def is_checked(self) -> bool:
        """True when a guardrail or a person may still refuse or change its text."""
        ...


@dataclass(frozen=True)
class RunContext:
    """Surroundings of a run. A run inside a run gets a `child`.

    Attributes:
        services: what the run shares with others.
        run_id: the id of this run; events carry it. Empty in the context that surrounds runs inside no other.
        parent_id: the id of the run that it is part of.
        path: the names of the runs that led here, outermost first.
        process_id: the id of the process that the run is part of, if any.
        streaming: true when answers are streamed to the listeners as they come.
        answer_level: index in the path of the outermost run whose answer the text of this run is part of: see
            `as_internal`.
        held_level: as `answer_level`, for text that is held until the whole answer is accepted: see `with_held_text`.
        is_checked: true when a guardrail or a person around the run may still refuse or change its text.
        tally: what this run and its children used.
        meter: what of the budget is used; `None` without a budget.
        deadline: when the run has to end, waiting included, in seconds since the epoch; see `with_deadline`.
        pace: how fast tools may be called; as fast as they are, when `None`.
        trace: what the requests of the run belong to, where nobody inside it says otherwise.
        root_id: the id of the outermost run.
        trace_parent: W3C trace context of the program that asked for the run; it is kept with the run. It is the
            `traceparent`, and after a space the `tracestate`, if any.
        checkpoint: what the run has done so far; `None` outside of runs.
        responses: the answers to the requests of a run that is resumed, by the ids of these.
        model: name of the model that takes the place of all others, for the run and all runs inside it.
        own_model: model of the agent or of the call to a model around the code that runs; what that causes uses it too.
        pins: instances, fallbacks and session of that model's calls.
        surroundings: what surrounds the code of the run, such as an action of a process, by class: see `find`.
        artifacts: channel of the objects that tools produce; `None` where nobody receives them.
    """

    services: Services
    run_id: str = field(default_factory=new_id)
    parent_id: str | None = None
    path: tuple[str, ...] = ()
    process_id: str | None = None
    streaming: bool = False
    answer_level: int = 0
    held_level: int = 0
    is_checked: bool = False
    tally: UsageTally = field(default_factory=UsageTally)
    meter: BudgetMeter | None = None
    deadline: float | None = None
    pace: Pace | None = None
    trace: TraceMetadata | None = None
    root_id: str = ""
    trace_parent: str | None = None
    checkpoint: Checkpoint | None = None
    responses: Mapping[str, Response] = field(default_factory=dict)
    model: str | None = None
    own_model: LanguageModel | None = field(default=None, repr=False)
    pins: LlmOptions = NO_OPTIONS
    surroundings: Mapping[type, object] = field(default_factory=dict, repr=False)
    artifacts: ArtifactChannel | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def current() -> RunContext:
        """Return the context of the code that runs, as an action, a tool or a condition.

        Outside of runs, return a context with the default services: see `Services.default`.
        """
        return _current.get() or RunContext.outermost(Services.default())

    @staticmethod
    def outermost(services: Services) -> RunContext:
        """Return a context with these services, for runs inside no other."""
        return _create(services, new_id())

    @staticmethod
    def around() -> RunContext:
        """Return the context for a run that the running code starts: its own, or outside of runs an empty context.

        Other than `current`, it has outside of runs no id and counts no usage, so that all runs can share it.
        """
        return _current.get() or _create_surroundings(Services.default())

    @staticmethod
    def find_current() -> RunContext | None:
        """Return the context of the code that runs; `None` outside of runs."""
        return _current.get()

    @classmethod
    def __from_run__(cls, run: RunContext) -> RunContext:
        """Return the context itself: see `RunParameter`."""
        return run

    @classmethod
    def over(
        cls,
        models: ModelSource | LanguageModel,
        *listeners: EventListener | None,
        store: DocumentStore | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> RunContext:
        """Return a context with a source of models, or a single model for everything.

        Args:
            models: the source, or the model.
            *listeners: who hears the events of the run.
            store: where the run is kept when it waits; in memory by default.
            clock: the time.
        """
        return cls.outermost(Services(as_model_source(models), store, clock, EventBus(*listeners)))

    @property
    def models(self) -> ModelSource:
        """Source of models."""
        return self.services.models

    @property
    def store(self) -> DocumentStore:
        """Store of runs that wait."""
        return self.services.store

    @property
    def clock(self) -> Clock:
        """The time."""
        return self.services.clock

    @property
    def bus(self) -> EventBus:
        """Bus of the events."""
        return self.services.bus

    @property
    def is_observed(self) -> bool:
        """True if there are listeners; otherwise no event needs to be built."""
        return self.services.bus.is_observed

    @property
    def emitter(self) -> EventEmitter:
        """Emitter of events of this run for code without a context, such as a request to a model."""
        return EventEmitter(self.services.bus, self.run_id, self.path, self.services.clock, self.parent_id)

    def emit(self, kind: Callable[P, Event], /, *args: P.args, **fields: P.kwargs) -> None:
        """Build an event of this run, and pass it on to all who listen. When nobody does, build nothing.

        Args:
            kind: the class of the event.
            *args: none: fields of events have names.
            **fields: the fields of the event, without those that the context gives.
        """
        services = self.services
        if listeners := services.bus.listeners:
            build: Callable[..., Event] = kind  # P cannot say that events have these fields
            event = build(
                run_id=self.run_id,
                parent_id=self.parent_id,
                path=self.path,
                span_id=find_span_id(),
                time=services.clock.time(),
                **fields,
            )
            EventBus.deliver(event, listeners)

    def enter(self) -> EnteredRun:
        """Make this the current context of all code inside a `with` block: what that runs is inside this run."""
        return EnteredRun(self)

    def find(self, kind: type[T]) -> T | None:
        """Return what surrounds the run, such as an `OperationContext`; `None` when there is nothing of the class."""
        match = self.surroundings.get(kind)
        return match if isinstance(match, kind) else None

    def get(self, kind: type[T]) -> T:
        """Return what surrounds the run, as `find` does.

        Raises:
            ConfigurationError: when there is nothing of the class.
        """
        if (service := self.find(kind)) is None:
            place = "/".join(self.path) or "outside of runs"
            raise ConfigurationError(f"{place}: no {kind.__name__} is here; only actions of planned agents have it")
        return service

    def inside(
        self, surroundings: Mapping[type, object], *, receive: Callable[[object], object] | None = None
    ) -> RunContext:
        """Return the same context inside what code in it, and in all runs inside it, can `find` by these classes.

        Args:
            surroundings: what it is inside, by class.
            receive: one more receiver of the objects that tools produce.
        """
        surroundings = {**self.surroundings, **surroundings}
        if receive is None:
            return self._copy(surroundings=surroundings)
        return self._copy(surroundings=surroundings, artifacts=ArtifactChannel(self.artifacts, receive))

    def child(
        self, name: str, budget: Budget | None = None, *, key: str | None = None, place: RunPlace | None = None
    ) -> RunContext:
        """Return the context of a run inside this run.

        Args:
            name: name of the run.
            budget: budget of its own.
            key: key of its checkpoint; by default, the name and the number of the runs of that name so far.
            place: the place in this run in which it is; see `inside_place`.
        """
        outer_id, run_id = self.run_id, new_id()
        checkpoint = self.checkpoint if place is None else place.checkpoint
        if checkpoint is None:
            checkpoint = Checkpoint(name)
        else:
            checkpoint = checkpoint.child(name) if key is None else checkpoint.at(key)
        tally = UsageTally(self.tally if outer_id else None)
        meter = self.meter
        if budget is not None:
            meter = BudgetMeter(budget, tally, self.clock, self.meter)
            if budget != UNLIMITED and self.checkpoint is not None:  # each step has what the outermost run has spent
                keep_spent(meter, checkpoint)
        outer = self if self.checkpoint is not None or not self.is_durable else self._with_step_events()
        fields = outer.__dict__.copy()  # as `_copy`, and by names that need not be passed to a function
        fields["run_id"] = run_id
        fields["root_id"] = self.root_id or run_id
        fields["parent_id"] = outer_id or None
        fields["path"] = (*self.path, name)
        fields["tally"] = tally
        fields["meter"] = meter
        fields["checkpoint"] = checkpoint
        fields["artifacts"] = ArtifactChannel() if self.artifacts is None else self.artifacts.create_inner()
        if place is not None:
            if place.is_internal:
                fields["answer_level"] = len(self.path)
            if place.is_checked:
                fields["held_level"], fields["is_checked"] = len(self.path), True
        return _of_fields(fields)

    def _with_step_events(self) -> RunContext:
        """Return the same context with a listener that keeps the events of a run for its steps."""
        events = StepEvents(find_capture_mode)
        services = self.services.with_bus(self.bus.create_child(events))
        return self._copy(services=services, surroundings={**self.surroundings, StepEvents: events})

    @property
    def is_durable(self) -> bool:
        """True when the run belongs to a durable store, which saves each of its steps."""
        return self.services.is_durable

    @property
    def is_saved(self) -> bool:
        """True when each step of the run is saved."""
        return self.checkpoint is not None and self.checkpoint.journal is not None

    async def save_step(self, kind: str, name: str = "", detail: str = "") -> None:
        """Save the progress of the run as a step, with a durable store.

        Args:
            kind: kind of step, such as `"answer"`.
            name: name of what was done.
            detail: the result, as text for people.

        Raises:
            LeaseLostError: when another worker has claimed the run.
            StoredStateError: when something has no JSON form.
            StoreError: when the store does not answer.
        """
        if self.checkpoint is not None and self.checkpoint.journal is not None:
            await self.checkpoint.journal.save(self.checkpoint, kind, name, detail)

    async def show_pending(self, asked: Iterable[PendingRequest], answered: Collection[str] = ()) -> None:
        """Show in the record of the run what a part of it waits for while others continue, with a durable store.

        Args:
            asked: requests without an answer.
            answered: ids of requests that were shown and have an answer, or are of no use any more.

        Raises:
            LeaseLostError: when another worker has claimed the run.
            StoreError: when the store does not answer.
        """
        if self.checkpoint is not None and self.checkpoint.journal is not None:
            await self.checkpoint.journal.show_pending(asked, answered)

    async def begin_step(self) -> None:
        """Make sure that the run is still this worker's, before a step begins.

        Raises:
            LeaseLostError: when another worker has claimed the run.
        """
        if self.checkpoint is not None and self.checkpoint.journal is not None:
            await self.checkpoint.journal.check_lease()

    @property
    def idempotency_key(self) -> str:
        """Idempotency key for external services: the same when this part of the run runs again, on any machine.

        No other part of the run has it, and no other tool call, even where a model repeats the ids of its calls.
        """
        keys = () if self.checkpoint is None else self.checkpoint.distinct_keys
        return "/".join((self.root_id, *keys))

    def step(self, name: str) -> RunContext:
        """Return the context of a part of the run that is not a run: it keeps its checkpoint over a pause."""
        return self if self.checkpoint is None else self._copy(checkpoint=self.checkpoint.child(name))

    def at(self, key: str, artifacts: ArtifactChannel | None = None, *, series: str = "") -> RunContext:
        """Return the context of what runs under this key, such as a tool call: it keeps its checkpoint over a pause.

        Args:
            key: the key.
            artifacts: another channel of the objects that tools produce there.
            series: what tells it from what ran under the same key before, in idempotency keys.
        """
        changes: dict[str, object] = {} if artifacts is None else {"artifacts": artifacts}
        if self.checkpoint is not None:
            changes["checkpoint"] = checkpoint = self.checkpoint.at(key)
            checkpoint.series = series or checkpoint.series
        return self._copy(**changes) if changes else self

    def inside_place(self, place: RunPlace) -> RunContext:
        """Return the context of a place in the run; see `step`, and `as_internal`."""
        level = len(self.path) if place.is_internal else self.answer_level
        inside = self.with_held_text(is_checked=True) if place.is_checked else self
        return inside._copy(checkpoint=place.checkpoint, answer_level=level)

    def with_deadline(self, deadline: float) -> RunContext:
        """Return the same context for a run that has to end before a moment, in seconds since the epoch.

        The earlier of several deadlines counts. Like a budget it is checked before each call of a model
        and each action: what has begun is finished. A run that waits then ends, too.
        """
        return self._copy(deadline=deadline if self.deadline is None else min(deadline, self.deadline))

    def find_limit(self, *, acting: bool = False) -> str | None:
        """Return the limit that the run has reached, in words; `None` when it may continue.

        Args:
            acting: true when an action is about to run; then the actions that have begun count too.
        """
        if self.deadline is None and self.meter is None:
            return None
        if (missed := self.find_missed_deadline()) is not None or self.meter is None:
            return missed
        return self.meter.find_limit(acting=acting)

    def find_missed_deadline(self) -> str | None:
        """Return that the deadline of the run has passed, in words; `None` while it has not."""
        has_passed = self.deadline is not None and self.clock.time() >= self.deadline
        return MISSED_DEADLINE if has_passed else None

    def find_model(
        self, requested: ModelLike | None = None, source: ModelSource | None = None
    ) -> tuple[LanguageModel, LlmOptions]:
        """Return the model that the run uses, and the options of its calls.

        Args:
            requested: the model; the model of the agent around the run by default, or else the default model. A model
                that is requested by its name is called at the same instances as the agent's model.
            source: source of a model that is requested by its name; the run's source by default.

        Raises:
            ConfigurationError: when there is no such model, or when its key is not set.
        """
        model, options = self._choose_model(requested, source)
        chosen = self.find(ModelFilter) if self.surroundings else None
        return (model, options) if chosen is None else (chosen.wrap(model), options.with_defaults(chosen.options))

    def _choose_model(
        self, requested: ModelLike | None, source: ModelSource | None
    ) -> tuple[LanguageModel, LlmOptions]:
        if requested is None or isinstance(requested, (str, LlmOptions)):  # a union of types takes thrice as long
            options = LlmOptions.of(requested)
        elif self.model is None:
            return requested, NO_OPTIONS
        else:
            options = NO_OPTIONS
        if self.model is not None:
            options = options.with_model(self.model)
            return self.models.resolve(options), options
        if source is not None:
            return source.resolve(options), options
        if options.requested_model is not None:
            if self.pins.instances and not options.instances:
                options = replace(options, instances=self.pins.instances)
            return self.models.resolve(options), options
        options = options.with_defaults(self.pins)
        return self.own_model or self.models.resolve(options), options

    def with_model(self, model: LanguageModel, options: LlmOptions, *, is_internal: bool = False) -> RunContext:
        """Return the same context for all that is done on behalf of a call to a model.

        A model that is a source of models itself, as a router, is the source of all models then, as it has the keys.

        Args:
            model: the model of the call.
            options: its options, of which only `pins` are inherited.
            is_internal: true for what is not part of the answer of this run; see `as_internal`.
        """
        services = self.services
        if hasattr(type(model), "resolve"):  # isinstance of a protocol takes as long as a turn
            services = services.with_models(as_model_source(model))
        level = len(self.path) if is_internal else self.answer_level
        return self._copy(own_model=model, pins=options.pins, services=services, answer_level=level)

    def with_services(self, services: Services) -> RunContext:
        """Return the same context on another platform, with its models, for the same listeners."""
        return self._copy(services=services.with_bus(self.bus), own_model=None, pins=NO_OPTIONS)

    def with_service(self, service: object) -> RunContext:
        """Return the same context with another service of its class; see `Services.find`."""
        return self._copy(services=self.services.with_service(service))

    def with_trace(self, trace: TraceMetadata) -> RunContext:
        """Return the same context with this trace; fields that the trace leaves open keep their values."""
        return self._copy(trace=trace if self.trace is None else trace.with_defaults(self.trace))

    def as_internal(self) -> RunContext:
        """Return the same context for nested runs whose text is not part of the answer of this run."""
        level = len(self.path)
        return self if self.answer_level == level else self._copy(answer_level=level)

    def with_held_text(self, *, is_checked: bool = False) -> RunContext:
        """Return the same context for nested runs whose answer may be repeated, so that readers get none of it early.

        Their text is no part of the answer as it comes; readers get the answer that counts as a whole.

        Args:
            is_checked: true when a guardrail or a person may also refuse or change it.
        """
        return self._copy(held_level=len(self.path), is_checked=is_checked or self.is_checked)

    @property
    def piece_level(self) -> int:
        """The `answer_level` of pieces of text of this run: the level of the outermost run that may give them out."""
        return max(self.answer_level, self.held_level)

    def with_listeners(self, *listeners: EventListener | None, streaming: bool | None = None) -> RunContext:
        """Return the same context with more listeners.

        Args:
            *listeners: called with each event.
            streaming: true when answers are streamed to the listeners as they come; as before by default.
        """
        services = self.services.with_bus(self.bus.create_child(*listeners))
        return self._copy(services=services, streaming=self.streaming if streaming is None else streaming)

    def with_capture(self, capture: CaptureMode | str = CaptureMode.STANDARD) -> RunContext:
        """Return the same context in which the results of runs, and of all runs inside them, have traces.

        Args:
            capture: how much the traces have, and what stores and servers have of the runs; with `"off"` no words of
                people, models and tools, and results have no more traces than before.
        """
        recorder = Recorder(capture, find_mode=_find_own_mode)
        if recorder.capture is CaptureMode.OFF:
            return self.inside({CaptureMode: recorder.capture})
        return self.with_listeners(recorder).inside({Recorder: recorder, CaptureMode: recorder.capture})

    def _copy(self, **changes: object) -> RunContext:
        # `dataclasses.replace` takes ten times as long, and this is done for every run and every tool call.
        changed = _allocate(RunContext)
        _set_fields(changed, self.__dict__ | changes)
        return changed


_allocate: Final = object.__new__
_set_fields: Final = RunContext.__dict__["__dict__"].__set__


def _of_fields(fields: Mapping[str, object]) -> RunContext:
    context = _allocate(RunContext)
    _set_fields(context, fields)
    return context


_current: ContextVar[RunContext | None] = ContextVar("the run whose code runs", default=None)
set_current: Final = _current.set
reset_current: Final = _current.reset


def find_capture_mode() -> CaptureMode:
    """Return how much stores and servers have of the code that runs."""
    return _find_own_mode() or load_capture_mode() or CaptureMode.STANDARD


def _find_own_mode() -> CaptureMode | None:
    """Return how much of the code that runs is captured, if that says so itself."""
    current = _current.get()
    return None if current is None else current.find(CaptureMode)


def find_current_user() -> str | None:
    """Return the id of the user that the code that runs works for, if any."""
    current = _current.get()
    user = None if current is None else current.find(ChatUser)
    return None if user is None else user.id


class EnteredRun:
    """Context manager in which a run is the current run: see `RunContext.enter`."""

    __slots__ = ("_run", "_token")

    def __init__(self, run: RunContext) -> None:
        self._run = run

    def __enter__(self) -> RunContext:
        self._token: Token[RunContext | None] = _current.set(self._run)
        return self._run

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


@cache
def _create_surroundings(services: Services) -> RunContext:
    return _create(services, "")


def _create(services: Services, run_id: str) -> RunContext:
    # The generated constructor sets every field, which takes five times as long. Other fields have their defaults from
    # the class.
    fields = {"responses": _NO_RESPONSES, "surroundings": _NO_OBJECTS}
    return _of_fields({"services": services, "run_id": run_id, "tally": UsageTally(), **fields})
