"""Spans of calls: of models, of tools, and of searches for documents."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from opentelemetry.trace import SpanKind

from tactician.integrations.otel.attributes import (
    Attributes,
    describe_model,
    describe_request,
    describe_response,
    describe_usage,
    name_error,
    shorten_name,
    write_content,
)
from tactician.integrations.otel.content import describe_answer, describe_messages
from tactician.integrations.otel.conventions import (
    CHAT,
    CONVERSATION,
    DATA_SOURCE,
    DOCUMENTS,
    EMBEDDINGS,
    EXECUTE_TOOL,
    FIRST_CHUNK,
    GENERATE_CONTENT,
    INSTANCE,
    OPERATION,
    PROVIDER,
    QUERY,
    REQUEST_MODEL,
    RETRIEVAL,
    RUN_STATUS,
    SERVER_ADDRESS,
    SERVER_PORT,
    TOOL,
    TOOL_ARGUMENTS,
    TOOL_CALL_ID,
    TOOL_DESCRIPTION,
    TOOL_RESULT,
    TOOL_TYPE,
    TOP_K,
    find_provider,
)
from tactician.integrations.otel.metrics import Metrics
from tactician.integrations.otel.span_tree import Opening, SpanTree
from tactician.llm import RequestRouted
from tactician.llm.usage import NO_USAGE
from tactician.loop import (
    TextReceived,
    ThinkingReceived,
    ToolCalled,
    ToolInterrupted,
    ToolReturned,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
)
from tactician.runs import ModelCalled, ModelReturned, RetrievalEnded, RetrievalStarted

_OPERATIONS: Final[Mapping[str, str]] = MappingProxyType(
    {"embeddings": EMBEDDINGS, "images": GENERATE_CONTENT, "summary": CHAT}
)
_TOOL_ERROR: Final = "tool_error"
_IN_PROCESS: Final = ("local", "local-embeddings")


class CallSpans:
    """Spans of calls.

    Args:
        tree: the open spans.
        metrics: the metrics of calls.
        content: true to record prompts, answers, arguments, results, and messages of errors.
    """

    def __init__(self, tree: SpanTree, metrics: Metrics, content: bool) -> None:
        self._tree = tree
        self._metrics = metrics
        self._content = content

    def start_turn(self, event: TurnStarted) -> None:
        """Begin the span of a request to a model."""
        attributes: Attributes = {OPERATION: CHAT, **describe_model(event.model), **describe_request(event.request)}
        if (run := self._tree.find_run(event.run_id)) is not None:
            if (conversation := run.attributes.get(CONVERSATION)) is not None:
                attributes[CONVERSATION] = conversation
            run.tools.update((tool.name, tool.description) for tool in event.request.tools)
        if self._content:
            attributes |= describe_messages(event.request)
        self._start_call(event, CHAT, event.model, attributes)

    def note_route(self, event: RequestRouted) -> None:
        """Add to the span of a request where it goes."""
        parent = self._tree.find_around(event)
        if parent is not None and parent.attributes.get(PROVIDER) is not None:
            provider = find_provider(event.instance)
            parent.span.set_attributes({INSTANCE: event.instance, PROVIDER: provider})
            if event.host:
                parent.span.set_attribute(SERVER_ADDRESS, event.host)
            if event.port is not None:
                parent.span.set_attribute(SERVER_PORT, event.port)

    def note_first_chunk(self, event: TextReceived | ThinkingReceived) -> None:
        """Add to the span of a request how long the first piece of the answer took."""
        parent = self._tree.find_around(event)
        if parent is None or parent.attributes.get(OPERATION) != CHAT or FIRST_CHUNK in parent.attributes:
            return
        seconds = max(0.0, event.time - parent.began)
        parent.attributes[FIRST_CHUNK] = seconds
        parent.span.set_attribute(FIRST_CHUNK, seconds)
        self._metrics.record_first_chunk(str(parent.attributes[REQUEST_MODEL]), seconds)

    def complete_turn(self, event: TurnCompleted) -> None:
        """End the span of a request that was answered."""
        begun, response = self._tree.find_closed_by(event), event.response
        model = "" if begun is None else str(begun.attributes[REQUEST_MODEL])
        self._metrics.record_call(CHAT, model, event.seconds, response.usage, response.model)
        if begun is None:
            return
        attributes = describe_response(response)
        if response.usage.model:
            attributes[PROVIDER] = describe_model(response.usage.model)[PROVIDER]
        if self._content:
            attributes |= describe_answer(response)
        self._tree.end(event, begun, attributes, None, None)

    def fail_turn(self, event: TurnFailed) -> None:
        """End the span of a request that failed."""
        self._metrics.record_call(CHAT, event.model, event.seconds, NO_USAGE, error=event.error)
        if (begun := self._tree.find_closed_by(event)) is not None:
            self._tree.end(event, begun, {}, name_error(event.error), event.error if self._content else None)

    def start_tool(self, event: ToolCalled) -> None:
        """Begin the span of a tool."""
        call, name = event.call, shorten_name(event.call.name)
        attributes: Attributes = {OPERATION: EXECUTE_TOOL, TOOL: name, TOOL_TYPE: "function", TOOL_CALL_ID: call.id}
        run = self._tree.find_run(event.run_id)
        if run is not None and (description := run.tools.get(event.call.name)):
            attributes[TOOL_DESCRIPTION] = shorten_name(description)
        if self._content:
            attributes[TOOL_ARGUMENTS] = write_content(call.arguments)
        self._tree.start(event, Opening(name=f"{EXECUTE_TOOL} {name}", attributes=attributes))

    def end_tool(self, event: ToolReturned) -> None:
        """End the span of a tool."""
        error = _TOOL_ERROR if event.result.is_error else None
        self._metrics.record_tool(shorten_name(event.call.name), event.seconds, error)
        if (begun := self._tree.find_closed_by(event)) is not None:
            content = write_content(event.result.content) if self._content else None
            attributes = {} if content is None else {TOOL_RESULT: content}
            self._tree.end(event, begun, attributes, error, content)

    def interrupt_tool(self, event: ToolInterrupted) -> None:
        """End the span of a tool that gives nothing: its run waits, or has ended."""
        if (begun := self._tree.find_closed_by(event)) is not None:
            attributes = {RUN_STATUS: "waiting"} if event.error is None else {}
            detail = event.error if self._content else None
            self._tree.end(event, begun, attributes, name_error(event.error), detail)

    def start_call(self, event: ModelCalled) -> None:
        """Begin the span of a call of a model outside of turns."""
        operation = _OPERATIONS.get(event.operation, event.operation)
        attributes: Attributes = {OPERATION: operation, **describe_model(event.model)}
        self._start_call(event, operation, event.model, attributes)

    def end_call(self, event: ModelReturned) -> None:
        """End the span of such a call."""
        operation = _OPERATIONS.get(event.operation, event.operation)
        self._metrics.record_call(operation, event.model, event.seconds, event.usage, error=event.error)
        if (begun := self._tree.find_closed_by(event)) is not None:
            detail = event.error if self._content else None
            self._tree.end(event, begun, describe_usage(event.usage), name_error(event.error), detail)

    def start_retrieval(self, event: RetrievalStarted) -> None:
        """Begin the span of a search."""
        attributes: Attributes = {OPERATION: RETRIEVAL, DATA_SOURCE: event.source}
        if event.limit is not None:
            attributes[TOP_K] = event.limit
        if self._content:
            attributes[QUERY] = write_content(event.query)
        name = f"{RETRIEVAL} {shorten_name(event.source)}"
        self._tree.start(event, Opening(name=name, attributes=attributes))

    def end_retrieval(self, event: RetrievalEnded) -> None:
        """End the span of a search."""
        if (begun := self._tree.find_closed_by(event)) is not None:
            detail = event.error if self._content else None
            self._tree.end(event, begun, {DOCUMENTS: event.documents}, name_error(event.error), detail)

    def _start_call(self, event: TurnStarted | ModelCalled, operation: str, model: str, attributes: Attributes) -> None:
        is_here = model.partition(":")[0] in _IN_PROCESS
        opening = Opening(
            name=f"{operation} {attributes[REQUEST_MODEL]}",
            attributes=attributes,
            side=SpanKind.INTERNAL if is_here else SpanKind.CLIENT,
        )
        self._tree.start(event, opening)
