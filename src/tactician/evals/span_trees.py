"""Traces as the span trees of pydantic-evals, so that its evaluators of spans work without OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Final

from pydantic_evals.otel import SpanNode, SpanTree

from tactician.events.span_facts import SpanKind
from tactician.trace import Trace
from tactician.trace.node import TraceNode

_OPERATIONS: Final[Mapping[str, str]] = {
    SpanKind.RUN: "invoke_agent",
    SpanKind.PLAN: "plan",
    SpanKind.MODEL: "chat",
    SpanKind.TOOL: "execute_tool",
    SpanKind.SEARCH: "retrieval",
}
_TRACE_ID: Final = 1


def build_span_tree(trace: Trace) -> SpanTree:
    """Return the spans of a trace, named by the conventions of OpenTelemetry for generative models."""
    tree, numbers = SpanTree(), count(1)
    tree.add_spans([span for root in trace.roots for span in _convert(root, numbers)])
    return tree


def _convert(root: TraceNode, numbers: Iterator[int]) -> Iterator[SpanNode]:
    waiting: list[tuple[TraceNode, int | None]] = [(root, None)]
    while waiting:
        current, around = waiting.pop()
        number = next(numbers)
        yield _create_span(current, around, number)
        waiting.extend((child, number) for child in reversed(current.children))


def _create_span(node: TraceNode, parent: int | None, number: int) -> SpanNode:
    operation = _OPERATIONS.get(node.kind, node.kind)
    ended = node.started if node.ended is None else node.ended
    return SpanNode(
        name=f"{operation} {node.name}",
        trace_id=_TRACE_ID,
        span_id=number,
        parent_span_id=parent,
        start_timestamp=datetime.fromtimestamp(node.started, UTC),
        end_timestamp=datetime.fromtimestamp(ended, UTC),
        attributes=dict(_list_attributes(node, operation)),
        status="error" if node.error is not None or node.status == "failed" else "unset",
    )


def _list_attributes(node: TraceNode, operation: str) -> Iterator[tuple[str, str | int | float]]:
    yield "gen_ai.operation.name", operation
    if node.kind == SpanKind.TOOL:
        yield "gen_ai.tool.name", node.name
        yield "gen_ai.tool.call.arguments", str(node.content.get("arguments", "{}"))
    elif node.kind == SpanKind.MODEL:
        yield "gen_ai.request.model", node.name
        use = node.total_use
        yield "gen_ai.usage.input_tokens", use.input_tokens or 0
        yield "gen_ai.usage.output_tokens", use.output_tokens or 0
    elif node.kind == SpanKind.RUN:
        yield "gen_ai.agent.name", node.name
    for name, fact in node.facts.items():
        if isinstance(fact, str | int | float):
            yield f"tactician.{name}", fact
