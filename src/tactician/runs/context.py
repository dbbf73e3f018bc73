"""What is passed down to everything that runs: who runs, with which models, and who listens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from os import urandom
from typing import TYPE_CHECKING

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.events import Event, EventSink
from tactician.llm import LanguageModel, ModelCatalog, ModelSource, TraceMetadata, UsageTally, source_of
from tactician.runs.budget import Budget, BudgetMeter
from tactician.runs.frame import Frame
from tactician.runs.pace import Pace
from tactician.runs.pausing import Response
from tactician.runs.store import RunStore, default_store

if TYPE_CHECKING:
    from tactician.tools.groups import ToolGroup


def new_id() -> str:
    """A fresh random id of 16 hexadecimal digits."""
    return urandom(8).hex()


@dataclass(frozen=True, slots=True)
class RunContext:
    """The surroundings of one run. A run inside a run gets a `child`.

    Attributes:
        models: where models come from.
        run_id: this run's id; events carry it.
        parent_id: the id of the run that this one is part of.
        path: the names of the runs that led here, outermost first.
        sink: who listens; `None` when nobody does, and then no event is built.
        streaming: whether answers are to be streamed to the sink as they come.
        tally: what this run and its children used.
        meter: what of its budget is used; `None` when there is none.
        frame: what the run has done so far; `None` outside of runs.
        store: where runs that wait are kept.
        responses: what a run that goes on was told, by the ids of its requests.
        clock: the time.
        pace: how fast tools may be called; as fast as they are, when `None`.
        tool_groups: what the names of tool groups stand for.
        trace: what the requests of the run belong to, where nobody inside it says otherwise.
        process_id: the id of the process that the run is part of, if any.
    """

    models: ModelSource
    run_id: str = field(default_factory=new_id)
    parent_id: str | None = None
    path: tuple[str, ...] = ()
    sink: EventSink | None = None
    streaming: bool = False
    tally: UsageTally = field(default_factory=UsageTally)
    meter: BudgetMeter | None = None
    frame: Frame | None = None
    store: RunStore = field(default_factory=default_store)
    responses: Mapping[str, Response] = field(default_factory=dict)
    clock: Clock = SYSTEM_CLOCK
    pace: Pace | None = None
    tool_groups: Mapping[str, ToolGroup] = field(default_factory=dict)
    trace: TraceMetadata | None = None
    process_id: str | None = None

    @classmethod
    def default(cls) -> RunContext:
        """A context with the models of `tactician.toml` and the environment, read once, and the tool groups of the
        default platform, once there is one."""
        return cls(default_models(), tool_groups=_default_groups[-1])

    @classmethod
    def over(cls, models: ModelSource | LanguageModel, sink: EventSink | None = None) -> RunContext:
        """A context with the given models, or one model for everything."""
        return cls(source_of(models), sink=sink)

    def child(self, name: str, budget: Budget | None = None) -> RunContext:
        """The context of a run inside this one, with a budget of its own if there is one."""
        tally = UsageTally(self.tally)
        meter = self.meter if budget is None else BudgetMeter(budget, tally, self.clock, self.meter)
        frame = Frame(name) if self.frame is None else self.frame.child(name)
        return RunContext(
            self.models,
            new_id(),
            self.run_id,
            (*self.path, name),
            self.sink,
            self.streaming,
            tally,
            meter,
            frame,
            self.store,
            self.responses,
            self.clock,
            self.pace,
            self.tool_groups,
            self.trace,
            self.process_id,
        )

    def step(self, name: str) -> RunContext:
        """The same context for a part of the run that is no run itself: it is found again after a pause."""
        return self if self.frame is None else self._in(self.frame.child(name))

    def at(self, key: str) -> RunContext:
        """The same context for what is run under this key, such as a tool call: it is found again after a pause."""
        return self if self.frame is None else self._in(self.frame.at(key))

    def _in(self, frame: Frame) -> RunContext:
        # What dataclasses.replace does, in a third of its time: this is run for every tool call.
        return RunContext(
            self.models,
            self.run_id,
            self.parent_id,
            self.path,
            self.sink,
            self.streaming,
            self.tally,
            self.meter,
            frame,
            self.store,
            self.responses,
            self.clock,
            self.pace,
            self.tool_groups,
            self.trace,
            self.process_id,
        )

    def traced(self, trace: TraceMetadata) -> RunContext:
        """The same context for what belongs to this; what it belongs to already stays, where this says nothing."""
        return replace(self, trace=trace if self.trace is None else trace.over(self.trace))

    def listening(self, sink: EventSink, *, streaming: bool) -> RunContext:
        """The same context with one more listener."""
        previous = self.sink

        def tell_both(event: Event) -> None:
            if previous is not None:
                previous(event)
            sink(event)

        return replace(self, sink=sink if previous is None else tell_both, streaming=streaming)


@cache
def default_models() -> ModelCatalog:
    """The models of this process: from `tactician.toml` and the environment."""
    return ModelCatalog()


_default_groups: list[Mapping[str, ToolGroup]] = [{}]


def use_tool_groups(groups: Mapping[str, ToolGroup]) -> None:
    """Lets runs without a platform have these groups of tools."""
    _default_groups.append(groups)
