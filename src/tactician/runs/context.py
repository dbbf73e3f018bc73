"""What is passed down to everything that runs: who runs, with which models, and who listens."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from os import urandom

from tactician.events import Event, EventSink
from tactician.llm import LanguageModel, ModelCatalog, ModelSource, UsageTally, source_of


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
    """

    models: ModelSource
    run_id: str = field(default_factory=new_id)
    parent_id: str | None = None
    path: tuple[str, ...] = ()
    sink: EventSink | None = None
    streaming: bool = False
    tally: UsageTally = field(default_factory=UsageTally)

    @classmethod
    def default(cls) -> RunContext:
        """A context with the models of `tactician.toml` and the environment, read once."""
        return cls(default_models())

    @classmethod
    def over(cls, models: ModelSource | LanguageModel, sink: EventSink | None = None) -> RunContext:
        """A context with the given models, or one model for everything."""
        return cls(source_of(models), sink=sink)

    def child(self, name: str) -> RunContext:
        """The context of a run inside this one."""
        return RunContext(
            self.models, new_id(), self.run_id, (*self.path, name), self.sink, self.streaming, UsageTally(self.tally)
        )

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
