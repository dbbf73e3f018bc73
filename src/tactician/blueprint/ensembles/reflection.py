"""Reflection on tasks in blueprints."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from tactician.blueprint.builder import Builder
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.schema_base import DEFERRED, Part, convert_type, part_or
from tactician.blueprint.settings import build_values, export_part
from tactician.documents.forms import form_of
from tactician.ensemble import Reflection


@form_of(Reflection, convert=convert_type)
class ReflectPart(Part):
    """Settings of the reflection on a task; `true` stands for the defaults."""


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
    return Reflection(**build_values(Reflection, part, builder.at("reflect")))


def export_reflect(reflect: bool | Reflection, exporter: Exporter) -> ReflectPart | bool | None:
    """Return the part of a setting; `None` without reflection."""
    if not isinstance(reflect, Reflection):
        return reflect or None
    return export_part(ReflectPart, reflect, exporter.at("reflect"))
