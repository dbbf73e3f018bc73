"""Handoffs, guardrails and types of agents in blueprints."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Self, TypeAlias, TypeVar, cast

from pydantic import AfterValidator, ConfigDict, model_validator

from tactician.blueprint.blueprint import Node
from tactician.blueprint.builder import Builder
from tactician.blueprint.exporter import Exporter, is_default_instance
from tactician.blueprint.schema_base import DEFERRED_IN_TEXT, Name, Part, ToolName, require_field
from tactician.blueprint.type_names import TypeName
from tactician.documents.data import Data
from tactician.guardrails.callables import GuardrailLike
from tactician.guardrails.decorators import (
    as_input_guardrail,
    as_output_guardrail,
    as_tool_input_guardrail,
    as_tool_output_guardrail,
)
from tactician.guardrails.guardrail import (
    AnyGuardrail,
    InputGuardrail,
    OutputGuardrail,
    ToolInputGuardrail,
    ToolOutputGuardrail,
)
from tactician.guardrails.registration import registry
from tactician.loop import Handoff, handoff, output_type
from tactician.names import NameProblem, find_import_path

G = TypeVar("G", bound=AnyGuardrail)
TypeText: TypeAlias = Annotated[str, AfterValidator(lambda text: str(TypeName.of(text))), DEFERRED_IN_TEXT]
_GUARDRAILS: Mapping[str, tuple[type[AnyGuardrail], Callable[[GuardrailLike], AnyGuardrail]]] = {
    "inputGuardrails": (InputGuardrail, as_input_guardrail),
    "outputGuardrails": (OutputGuardrail, as_output_guardrail),
    "toolInputGuardrails": (ToolInputGuardrail, as_tool_input_guardrail),
    "toolOutputGuardrails": (ToolOutputGuardrail, as_tool_output_guardrail),
}
_AWARENESS = inspect.signature(Handoff).parameters["awareness"].default


class GuardrailPart(Part):
    """Guardrail: its registered name, or the name of its class or function."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [require_field("registryId"), require_field("className")]})

    registry_id: Name | None = None
    class_name: Name | None = None

    @model_validator(mode="after")
    def _check_name(self) -> Self:
        if self.registry_id is None and self.class_name is None:
            raise ValueError("say registryId or className")
        return self

    def to_data(self) -> dict[str, Data]:
        """Return the data of the part; only the id when the guardrail is registered."""
        return super().to_data() if self.registry_id is None else {"registryId": self.registry_id}


class HandoffPart(Part):
    """Handoff target, with its description."""

    name: ToolName
    description: str
    target: Node
    propagated_output_type: TypeText | None = None
    awareness: str | None = None


def build_handoffs(parts: Sequence[HandoffPart], builder: Builder) -> list[Handoff[object]]:
    """Return the handoffs that parts describe."""
    handoffs: list[Handoff[object]] = []
    for place, part in enumerate(parts):
        part_builder = builder.at("handoffs", place)
        kind = find_type(part.propagated_output_type, part_builder, "propagatedOutputType")
        if (target := part_builder.build_node(part.target, "target")) is not None:
            awareness = _AWARENESS if part.awareness is None else part.awareness or None
            declared = handoff(target, part.name, part.description, propagated_output_type=kind, awareness=awareness)
            handoffs.append(declared)
    return handoffs


def export_handoffs(handoffs: Iterable[Handoff[object]], exporter: Exporter) -> tuple[HandoffPart, ...]:
    """Return the parts of handoffs."""
    parts: list[HandoffPart] = []
    for place, declared in enumerate(handoffs):
        part_exporter = exporter.at("handoffs", place)
        if declared.history is not None:
            part_exporter.add_problem(f"{declared.name}: a filter of the history cannot be saved in a blueprint")
        if (target := part_exporter.export_node(declared.target, "target")) is None:
            continue
        part = HandoffPart(
            name=declared.name,
            description=declared.spec.description,
            target=target,
            propagated_output_type=part_exporter.find_type_name(
                declared.propagated_output_type, "propagatedOutputType"
            ),
            awareness=None if declared.awareness == _AWARENESS else declared.awareness or "",
        )
        parts.append(part)
    return tuple(parts)


def build_guardrails(parts: Sequence[GuardrailPart] | None, builder: Builder, field: str) -> list[GuardrailLike]:
    """Return the guardrails that the parts of this field name."""
    kind, as_guardrail = _GUARDRAILS[field]

    def build(part: GuardrailPart) -> AnyGuardrail:
        if part.registry_id is not None:
            return registry.find(kind, part.registry_id)
        return as_guardrail(cast("GuardrailLike", builder.names.find(part.class_name or "")))

    attempts = (builder.attempt(partial(build, part), field, place) for place, part in enumerate(parts or ()))
    return [guardrail for guardrail in attempts if guardrail is not None]


def export_guardrails(used: Iterable[AnyGuardrail], exporter: Exporter, field: str) -> tuple[GuardrailPart, ...]:
    """Return the parts of guardrails. A guardrail without an importable name is a problem, never left out."""
    parts: list[GuardrailPart] = []
    for place, guardrail in enumerate(used):
        named = None if guardrail.registered is not None else _find_guardrail_name(guardrail)
        if guardrail.registered is None and named is None:
            give = f'give it a name, as in @guardrails.{guardrail.kind}_guardrail("{guardrail.name}")'
            exporter.add_problem(
                f"the guardrail {guardrail.name!r} is not registered under a name; {give}", field, place
            )
        else:
            parts.append(GuardrailPart(registry_id=guardrail.registered, class_name=named))
    return tuple(parts)


def find_type(name: str | None, builder: Builder, field: str) -> type[object] | None:
    """Return the type with a name."""

    def find(path: str) -> type[object]:
        if not isinstance(kind := builder.names.find(path), type):
            raise NameProblem(f"{path!r} is not a class")
        return kind

    def resolve(text: str) -> type[object]:
        kind = TypeName.of(text).resolve(find)
        output_type(kind)
        return kind

    return None if name is None else builder.attempt(lambda: resolve(name), field)


def _find_guardrail_name(guardrail: AnyGuardrail) -> str | None:
    source = guardrail.source
    if inspect.isroutine(source) or isinstance(source, type):
        return find_import_path(source)
    return find_import_path(type(source)) if is_default_instance(source) else None
