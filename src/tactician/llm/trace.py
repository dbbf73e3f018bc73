"""What a request belongs to, for those who watch requests from outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

_NAMES = ("trace_id", "trace_name", "span_name", "generation_name", "parent_span_id", "environment")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceMetadata:
    """What a request belongs to. It goes to providers that pass it on to observability tools, and to no other.

    Attributes:
        trace_id: the same for all requests that belong together.
        trace_name: what they are called together.
        span_name: what the step is called that the request is part of.
        generation_name: what the request itself is called.
        parent_span_id: the span of the caller that it is part of.
        environment: where it runs, for example `"production"`.
        metadata: whatever else is to be known of it.
    """

    trace_id: str | None = None
    trace_name: str | None = None
    span_name: str | None = None
    generation_name: str | None = None
    parent_span_id: str | None = None
    environment: str | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict, hash=False)

    def over(self, base: TraceMetadata) -> TraceMetadata:
        """This, and what `base` says where this says nothing; so too for each key of `metadata`."""
        unsaid = {name: getattr(base, name) for name in _NAMES if getattr(self, name) is None}
        return replace(self, metadata={**base.metadata, **self.metadata}, **unsaid)

    def to_json(self) -> dict[str, JsonValue]:
        """The object that goes over the wire: what is said, with `metadata` beside it."""
        named = {name: value for name in _NAMES if (value := getattr(self, name)) is not None}
        return {**self.metadata, **named}
