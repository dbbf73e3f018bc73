"""Gates of tasks in blueprints: reviews before and after a task."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

from tactician.blueprint.builder import Builder
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.models import list_fields
from tactician.blueprint.schema_base import DEFERRED_IN_TEXT, Part, convert_type
from tactician.blueprint.settings import export_values
from tactician.documents.forms import form_of
from tactician.ensemble import Review


@form_of(Review, convert=convert_type, is_optional=True)
class ReviewPart(Part):
    """Gate of a task, at which somebody decides how it goes on. The time is in seconds; 0 waits for ever."""

    timing: Annotated[Literal["before", "after", "skip"], DEFERRED_IN_TEXT]


def build_gates(parts: Sequence[ReviewPart], builder: Builder) -> list[Review]:
    """Return the gates that parts describe."""
    made = (builder.attempt(partial(_build_gate, part), "reviews", place) for place, part in enumerate(parts))
    return [gate for gate in made if gate is not None]


def export_gates(gates: Sequence[Review], exporter: Exporter) -> tuple[ReviewPart, ...] | None:
    """Return the parts of gates; `None` without gates."""
    parts = (exporter.make(ReviewPart, _list_settings(gate, exporter)) for gate in gates)
    return tuple(part for part in parts if part is not None) or None


def _build_gate(part: ReviewPart) -> Review:
    return Review(**list_fields(part))


def _list_settings(gate: Review, exporter: Exporter) -> dict[str, object]:
    values = export_values(Review, gate, exporter)
    return values | {"timeout": float(gate.timeout or 0)} if "timeout" in values else values
