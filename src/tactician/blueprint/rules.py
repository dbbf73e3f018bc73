"""Rules in blueprints: the function that makes each rule, and its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from tactician.blueprint.builder import Builder
from tactician.blueprint.schema_base import Name, Part
from tactician.planning.rules import Kind, Rule, from_data

Event = Name | Mapping[str, bool]


class TimePart(Part):
    """Time in which something has to happen."""

    seconds: Annotated[float, Field(gt=0)]


class RulePart(Part):
    """Rule of `tactician.planning.rules`: the name of its function, and the arguments of the function."""

    rule: Kind
    condition: Event | None = None
    event: Event | None = None
    action: Name | None = None
    when: Event | None = None
    first: Event | None = None
    then: Name | None = None
    following: Event | None = None
    count: Annotated[int, Field(ge=0)] | None = None
    limit: Annotated[int, Field(ge=1)] | TimePart | None = None
    after: Name | None = None
    rules: tuple[RulePart, ...] | None = None
    penalty: Annotated[float, Field(gt=0)] | None = None


def build_rules(parts: Sequence[RulePart] | None, builder: Builder) -> tuple[Rule, ...]:
    """Return the rules that parts describe."""
    built = (
        builder.attempt(lambda part=part: from_data(_to_data(part)), "rules", place)  # type: ignore[misc]
        for place, part in enumerate(parts or ())
    )
    return tuple(rule for rule in built if rule is not None)


def _to_data(part: RulePart) -> dict[str, object]:
    values = part.model_dump(exclude_none=True, by_alias=False, exclude={"rules"})
    return values | ({"rules": list(map(_to_data, part.rules))} if part.rules else {})


def export_rules(rules: Sequence[Rule]) -> tuple[RulePart, ...] | None:
    """Return the parts of rules; `None` without rules."""
    return tuple(_export_rule(rule.to_data()) for rule in rules) or None


def _export_rule(data: Mapping[str, object]) -> RulePart:
    inner = data.get("rules")
    parts = tuple(map(_export_rule, inner)) if isinstance(inner, list) else None
    limit = data.get("limit")
    shown = TimePart(seconds=limit["seconds"]) if isinstance(limit, Mapping) else limit
    return RulePart.model_validate({**data, "rules": parts, "limit": shown})
