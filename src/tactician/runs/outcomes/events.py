"""Events of runs of every kind, and of calls that are part of no conversation: of other models, and retrievals."""

from __future__ import annotations

import logging
from typing import ClassVar, Final

from tactician.events import Event
from tactician.events.span_facts import SpanFacts, SpanKind
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.llm import Usage
from tactician.llm.usage import NO_USAGE, UsageTally
from tactician.runs.outcomes.result import RunResult
from tactician.runs.outcomes.status import RunStatus
from tactician.runs.outcomes.suspension import PendingRequest

PROCESS_KIND: Final = "process"
"""Kind of a run of which `ProcessStarted` and `ProcessEnded` are events too."""


@frozen(kw_only=True)
class RunStarted(Event):
    """Event of a run that begins, or continues after a pause.

    Attributes:
        kind: kind of Runnable, as in the record of the run.
        is_resumed: true when it continues.
        trace_parent: W3C trace context of the program that started the run, if known.
        place: the place of a run inside another, which is the same when the outermost run continues elsewhere.
        conversation_id: id of the conversation that it belongs to, if any.
        agent_id: id of the Runnable; empty for a run that is not of a single one.
        description: description of the Runnable that the program gave, if any.
    """

    opens: ClassVar[str | None] = SpanKind.RUN

    kind: str = "run"
    is_resumed: bool = False
    trace_parent: str | None = None
    place: str = ""
    conversation_id: str | None = None
    agent_id: str = ""
    description: str = ""

    @property
    def level(self) -> int:
        """Level `INFO`. A process has an event of its own."""
        return logging.DEBUG if self.kind == PROCESS_KIND else logging.INFO

    def describe(self) -> str:
        """Return that the run begins."""
        return "continues" if self.is_resumed else "starts"

    def describe_span(self) -> SpanFacts:
        """Return the name of the run."""
        return SpanFacts(self.path[-1] if self.path else "", facts={"runnable": self.kind}, place=self.place)


@frozen(kw_only=True)
class RunEnded(Event):
    """Event of a run that has gone as far as it can; `error` is what it raised."""

    closes: ClassVar[str | None] = SpanKind.RUN

    status: RunStatus
    seconds: float
    tally: UsageTally
    kind: str = "run"
    error: str | None = None

    @property
    def level(self) -> int:
        """Level `ERROR` of a run that failed, else `INFO`. A process has an event of its own."""
        if self.kind == PROCESS_KIND:
            return logging.DEBUG
        return logging.INFO if self.error is None else logging.ERROR

    def describe(self) -> str:
        """Return how the run ended, and what it used."""
        used = f"{self.status.sentence}, {self.seconds:.2f} s, {format_count(self.tally.total.total_tokens, 'token')}"
        return used if self.error is None else f"{used}: {self.error}"

    def describe_span(self) -> SpanFacts:
        """Return how the run ended."""
        return SpanFacts(status=self.status.value, error=self.error)


@frozen(kw_only=True)
class RunSuspended(Event):
    """The run ends for now: it waits for these."""

    usual_level: ClassVar[int] = logging.INFO
    content_fields: ClassVar[tuple[str, ...]] = ("pending",)

    pending: tuple[PendingRequest, ...]

    def describe(self) -> str:
        """Return what the run waits for, by kind."""
        return f"waits for {', '.join(f'{request.kind} {request.id}' for request in self.pending)}"

    def describe_span(self) -> SpanFacts:
        """Return what is asked."""
        return SpanFacts(content={"asks": [request.prompt for request in self.pending]})


@frozen(kw_only=True)
class RequestAnswered(Event):
    """Event of an answer to a request of a run; `by` is the name of the person who answered, if known."""

    usual_level: ClassVar[int] = logging.INFO

    request_id: str
    by: str | None = None

    def describe(self) -> str:
        """Return what was answered, and by whom."""
        return f"answer to {self.request_id}" + (f", by {self.by}" if self.by else "")

    def describe_span(self) -> SpanFacts:
        """Return what was answered, and by whom."""
        return SpanFacts(facts={"request": self.request_id, "by": self.by})


@frozen(kw_only=True)
class RunCompleted(Event):
    """The run has its result: the last event of every stream."""

    is_recorded: ClassVar[bool] = False
    content_fields: ClassVar[tuple[str, ...]] = ("result",)

    result: RunResult[object]


@frozen(kw_only=True)
class ModelCalled(Event):
    """Event before a call of a model outside of turns, such as a call for embeddings.

    Attributes:
        operation: what the model does: `"embeddings"`, `"images"` or `"summary"`.
        model: name of the model.
    """

    opens: ClassVar[str | None] = SpanKind.MODEL

    operation: str
    model: str

    @property
    def span_key(self) -> str:
        """The operation."""
        return self.operation

    def describe(self) -> str:
        """Return which model is called."""
        return f"calls {self.model} for {self.operation}"

    def describe_span(self) -> SpanFacts:
        """Return the model and the operation."""
        return SpanFacts(self.model, facts={"operation": self.operation})


@frozen(kw_only=True)
class ModelReturned(Event):
    """Event of the end of such a call; `error` is what it raised."""

    closes: ClassVar[str | None] = SpanKind.MODEL

    operation: str
    model: str
    seconds: float
    usage: Usage = NO_USAGE
    error: str | None = None

    @property
    def span_key(self) -> str:
        """The operation."""
        return self.operation

    @property
    def level(self) -> int:
        """Level `WARNING` of a call that failed, else `DEBUG`."""
        return logging.DEBUG if self.error is None else logging.WARNING

    def describe(self) -> str:
        """Return what the call used, or why it failed."""
        if self.error is not None:
            return f"{self.model} failed at {self.operation}: {self.error}"
        return (
            f"{self.model} gave {self.operation}, {self.seconds:.2f} s, "
            f"{format_count(self.usage.total_tokens, 'token')}"
        )

    def describe_span(self) -> SpanFacts:
        """Return what the call used, or why it failed."""
        return SpanFacts(error=self.error, facts={"usage": self.usage})


@frozen(kw_only=True)
class RetrievalStarted(Event):
    """Event before `source` is searched for at most `limit` documents."""

    opens: ClassVar[str | None] = SpanKind.SEARCH
    content_fields: ClassVar[tuple[str, ...]] = ("query",)

    source: str
    query: str
    limit: int | None = None

    @property
    def span_key(self) -> str:
        """The source."""
        return self.source

    def describe_span(self) -> SpanFacts:
        """Return the source and the query."""
        return SpanFacts(self.source, content={"query": self.query})

    def describe(self) -> str:
        """Return what is searched."""
        return f"searches {self.source}"


@frozen(kw_only=True)
class RetrievalEnded(Event):
    """Event of the end of a search, with the number of `documents` in the result; `error` is what it raised.

    `found` has the id and the address of each document, where the source tells them.
    """

    closes: ClassVar[str | None] = SpanKind.SEARCH
    content_fields: ClassVar[tuple[str, ...]] = ("found",)

    source: str
    documents: int
    seconds: float
    error: str | None = None
    found: tuple[tuple[str, str], ...] = ()

    @property
    def span_key(self) -> str:
        """The source."""
        return self.source

    def describe_span(self) -> SpanFacts:
        """Return how many documents were found."""
        return SpanFacts(error=self.error, facts={"documents": self.documents})

    @property
    def level(self) -> int:
        """Level `WARNING` of a search that failed, else `DEBUG`."""
        return logging.DEBUG if self.error is None else logging.WARNING

    def describe(self) -> str:
        """Return the number of documents, or why the search failed."""
        if self.error is not None:
            return f"{self.source} could not be searched: {self.error}"
        return f"{self.source} gave {format_count(self.documents, 'document')}, {self.seconds:.2f} s"
