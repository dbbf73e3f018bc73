"""Model that makes the agents of an ensemble, in blueprints."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from tactician.blueprint.builder import Builder
from tactician.blueprint.ensembles.model_fields import ModelFieldsPart
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.models import ModelParts
from tactician.blueprint.schema_base import Name, part_or
from tactician.llm import ModelLike


class SynthesisPart(ModelFieldsPart):
    """Model that makes the agents of tasks without an agent; the name of a model stands for one without settings."""

    model: Name


SynthesisItem: TypeAlias = Annotated[
    SynthesisPart | str, part_or(SynthesisPart, str, "the name of a model nor an object with its settings")
]


def build_synthesis(part: SynthesisPart | str | None, builder: Builder) -> ModelLike | None:
    """Return the model that a part describes or names."""
    if part is None or isinstance(part, str):
        return part
    return part.build_model(builder.at("synthesize")) or part.model


def export_synthesis(model: ModelLike | None, exporter: Exporter) -> SynthesisPart | str | None:
    """Return the part of a model."""
    if model is None:
        return None
    parts = ModelParts.from_model(model, exporter.at("synthesize"))
    if parts == ModelParts(parts.model):
        return parts.model
    values = {name: getattr(parts, name) for name in ModelFieldsPart.model_fields}
    return exporter.make(SynthesisPart, values)
