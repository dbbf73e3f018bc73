"""Gates of tasks in blueprints: reviews before and after a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from tactician.blueprint.builder import Builder
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.models import list_fields
from tactician.blueprint.schema_base import DEFERRED, DEFERRED_IN_TEXT, Name, Part
from tactician.ensemble import Review


class ReviewPart(Part):
    """Gate of a task, at which somebody decides how it goes on. The time is in seconds; 0 waits for ever."""

    timing: Annotated[Literal["before", "after", "skip"], DEFERRED_IN_TEXT]
    prompt: str | None = None
    timeout: Annotated[float, Field(strict=True, ge=0), DEFERRED] | None = None
    on_timeout: Annotated[Literal["exit_early", "continue", "reject"], DEFERRED_IN_TEXT] | None = None
    required_role: Name | None = None


def build_gates(parts: Sequence[ReviewPart], here: Builder) -> list[Review]:
    """Return the gates that parts describe."""
    made = (here.attempt(partial(_build_gate, part), "reviews", place) for place, part in enumerate(parts))
    return [gate for gate in made if gate is not None]


def export_gates(gates: Sequence[Review], here: Exporter) -> tuple[ReviewPart, ...] | None:
    """Return the parts of gates; `None` without gates."""
    parts = (here.make(ReviewPart, _list_settings(gate)) for gate in gates)
    return tuple(part for part in parts if part is not None) or None


def _build_gate(part: ReviewPart) -> Review:
    return Review(**list_fields(part))


def _list_settings(gate: Review) -> dict[str, object]:
    default = Review("after")
    changed = {name: value for name, value in asdict(gate).items() if value != getattr(default, name)}
    timeout = {"timeout": float(gate.timeout or 0)} if "timeout" in changed else {}
    return changed | timeout | {"timing": gate.timing}
