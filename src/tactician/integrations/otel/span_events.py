"""Events of spans: moments inside a span, which take no time of their own."""

from __future__ import annotations

import re
from typing import Final

from opentelemetry.trace import get_current_span

from tactician.events import Event
from tactician.integrations.otel.attributes import Value, shorten_name
from tactician.integrations.otel.span_tree import SpanTree

_WORD: Final = re.compile(r"(?<!^)(?=[A-Z])")
_TOLD: Final = (
    "model",
    "instance",
    "next_instance",
    "fallback",
    "target",
    "attempt",
    "seconds",
    "delay",
    "guardrail",
    "kind",
    "outcome",
    "messages",
)
"""Fields of events that are names and numbers. Others, such as reasons, may be content."""
_WORDS: Final = ("RequestDelayed", "ModelFellBack", "RequestRetried", "CircuitOpened")
"""Events whose `reason` and `error` are kinds, and no content."""


def note_event(tree: SpanTree, event: Event) -> None:
    """Add an event to the span in which it happens; outside of ours, to the span of the program."""
    around = tree.find_around(event)
    span = get_current_span() if around is None else around.span
    if not span.is_recording():
        return
    fields = (*_TOLD, "reason", "error") if event.type in _WORDS else _TOLD
    values = {name: value for name in fields if (value := _read(event, name)) is not None}
    span.add_event(
        f"tactician.{_WORD.sub('_', event.type).lower()}",
        {f"tactician.{name}": value for name, value in values.items()},
        int(event.time * 1_000_000_000),
    )


def _read(event: Event, name: str) -> Value | None:
    value = getattr(event, name, None)
    if isinstance(value, str):
        return shorten_name(value)
    return value if isinstance(value, bool | int | float) else None
