"""Reflection on tasks in blueprints."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from tactician.blueprint.builder import Builder
from tactician.blueprint.ensembles.functions import export_function
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.functions import find_function
from tactician.blueprint.schema_base import DEFERRED, Name, Part, Positive, part_or
from tactician.ensemble import Reflection


class ReflectPart(Part):
    """Settings of the reflection on a task; `true` stands for the defaults."""

    max_reflections: Positive | None = None
    strategy: Name | None = None


ReflectItem: TypeAlias = Annotated[
    Annotated[bool, Field(strict=True)] | ReflectPart,
    part_or(ReflectPart, bool, "true, false nor an object with settings"),
    DEFERRED,
]
"""`true`, `false`, a variable that stands for either, or settings."""


def build_reflect(part: ReflectPart | bool | None, builder: Builder) -> bool | Reflection:
    """Return the setting that a part describes."""
    if not isinstance(part, ReflectPart):
        return part is True
    strategy = find_function(part.strategy, builder.at("reflect"), "strategy")
    return Reflection(part.max_reflections, strategy)


def export_reflect(reflect: bool | Reflection, exporter: Exporter) -> ReflectPart | bool | None:
    """Return the part of a setting; `None` without reflection."""
    if not isinstance(reflect, Reflection):
        return reflect or None
    strategy = export_function(reflect.strategy, exporter.at("reflect"), "strategy")
    return exporter.make(ReflectPart, {"max_reflections": reflect.max_reflections, "strategy": strategy})
