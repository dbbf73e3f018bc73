"""W3C trace context of runs, as those who trace them know it, so that they continue in their traces elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

TraceSource: TypeAlias = Callable[[str], str | None]
_sources: list[TraceSource] = []


def set_trace_source(source: TraceSource) -> None:
    """Set the function that returns the `traceparent` of a run, or of the code that runs, if the run has none yet."""
    _sources[:] = [source]


def find_trace_parent(run_id: str) -> str | None:
    """Return the trace context with which a run can continue elsewhere; `None` when nobody traces."""
    return _sources[0](run_id) if _sources else None
