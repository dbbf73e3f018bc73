"""Outline of a constellation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tactician.blueprint.abilities import GuardrailPart
from tactician.blueprint.blueprint import Blueprint
from tactician.blueprint.ensembles.gates import ReviewPart
from tactician.blueprint.ensembles.phase_parts import PhasePart, PhaseReviewPart
from tactician.blueprint.ensembles.task_parts import TaskItemPart
from tactician.blueprint.models import ResponderPart
from tactician.blueprint.schema_base import Part
from tactician.frozen import frozen

_FACTS: Final = {
    "className": "class_name",
    "functionName": "function_name",
    "tools": "tool_class_names",
    "built-in tools": "built_in_tools",
    "tool groups": "tool_groups",
    "input guardrails": "input_guardrails",
    "output guardrails": "output_guardrails",
    "tool input guardrails": "tool_input_guardrails",
    "tool output guardrails": "tool_output_guardrails",
    "output": "output_type",
    "handler": "handler",
    "until": "until",
    "when": "when",
    "after": "after",
    "reviews": "reviews",
    "review": "review",
}


@frozen
class Outline:
    """Agent or constellation, with the agents inside it.

    Attributes:
        role: its role in the outer constellation: `route`, `worker`, `handoff` ...; empty for the outermost.
        type: its `type`; empty for a department, which only holds others.
        name: its name.
        about: its description in the outer constellation.
        model: its model and responder.
        facts: its tools, guardrails and other settings.
        inner: the outlines inside it.
        file: its own file, if any.
    """

    role: str
    type: str
    name: str
    about: str = ""
    model: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    inner: tuple[Outline, ...] = ()
    file: Path | None = None


def build_outline(blueprint: Blueprint) -> Outline:
    """Return the outline of a blueprint. References are not followed: see `resolve_references`."""
    return _outline(blueprint, "", "")


def _outline(blueprint: Blueprint, role: str, about: str) -> Outline:
    return Outline(
        role=role,
        type=str(getattr(blueprint, "type", "$ref")),
        name=blueprint.label,
        about=about,
        model=_describe_model(blueprint),
        facts=tuple(_list_facts(blueprint)),
        inner=tuple(_outline_fields(blueprint)),
        file=blueprint.origin.file,
    )


def _outline_task(part: TaskItemPart, role: str) -> Outline:
    about, agent = getattr(part, "description", None), getattr(part, "agent", None)
    facts = [("agent", agent)] if isinstance(agent, str) else []
    kind = str(getattr(part, "type", None) or "task")
    return Outline(
        role=role,
        type="" if kind == role else kind,
        name=part.key,
        about=about if isinstance(about, str) and about != part.key else "",
        facts=(*facts, *_list_facts(part)),
        inner=tuple(_outline_fields(part)),
    )


def _list_facts(part: Part) -> Iterator[tuple[str, str]]:
    for label, name in _FACTS.items():
        if text := _format_list(getattr(part, name, None)):
            yield label, text


def _outline_fields(part: Part) -> Iterator[Outline]:
    for field in type(part).model_fields:
        yield from _outline_value(getattr(part, field), field.replace("_", " "), "")


def _outline_value(value: object, role: str, about: str) -> Iterator[Outline]:
    """Yield the outlines in the value of a field."""
    if isinstance(value, Blueprint):
        yield _outline(value, role, about)
    elif isinstance(value, TaskItemPart):
        yield _outline_task(value, role)
    elif isinstance(value, PhasePart):
        yield Outline(role, "", value.name, facts=tuple(_list_facts(value)), inner=tuple(_outline_fields(value)))
    elif isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(item, TaskItemPart | Blueprint):
                yield from _outline_value(item, f"{role.removesuffix('s')} {name}", "")
            elif inner := tuple(_outline_fields(item)) if isinstance(item, Part) else ():
                yield Outline(role.removesuffix("s"), "", name, inner=inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _outline_value(item, role.removesuffix("s"), "")
    elif isinstance(value, Part):
        texts = (getattr(value, name, None) for name in ("name", "description"))
        about = ": ".join(text for text in texts if isinstance(text, str) and text)
        for field in type(value).model_fields:
            yield from _outline_value(getattr(value, field), role, about)


def _describe_model(blueprint: Blueprint) -> str:
    name, responder = getattr(blueprint, "model", None), getattr(blueprint, "responder", None)
    if not isinstance(name, str):
        return ""
    if not isinstance(responder, ResponderPart):
        return name
    # An address may hold a password.
    return f"{name} at {responder.provider or urlsplit(responder.base_url or '').hostname}"


def _format_list(value: object) -> str:
    if isinstance(value, GuardrailPart):
        return value.registry_id or value.class_name or ""
    if isinstance(value, ReviewPart):
        return value.timing + _format_role(value, "required_role")
    if isinstance(value, PhaseReviewPart):
        return _format_reviewer(value)
    if isinstance(value, Part):
        return str(getattr(value, "tool", ""))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_format_list, value))
    return str(value or "")


def _format_reviewer(part: PhaseReviewPart) -> str:
    if part.person is not None:
        return "by a person" + _format_role(part.person, "role")
    return f"by {part.function}" if part.function else "by a task"


def _format_role(part: Part, field: str) -> str:
    role: str | None = getattr(part, field)
    return f", role {role}" if role else ""
