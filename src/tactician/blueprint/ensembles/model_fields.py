"""Fields of tasks and ensembles that describe their models and tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tactician.blueprint.exporter import Exporter
from tactician.blueprint.models import DEFAULT, ModelParts
from tactician.blueprint.tool_lists import export_tools
from tactician.llm import ModelLike
from tactician.tools import Toolbox, ToolLike


def export_model_fields(model: ModelLike | None, exporter: Exporter) -> dict[str, Any]:
    """Return the fields that describe a model."""
    parts = ModelParts.from_model(model, exporter)
    return {
        "model": parts.model if parts.model != DEFAULT or parts.responder is not None else None,
        "responder": parts.responder,
        "temperature": parts.temperature,
        "options": parts.options,
    }


def export_tool_fields(tools: Sequence[ToolLike], exporter: Exporter) -> dict[str, Any]:
    """Return the fields that describe tools."""
    exported = export_tools(Toolbox(tools), exporter)
    return {
        "tool_class_names": exported.names or None,
        "agent_tools": exported.agents or None,
        "built_in_tools": exported.built_in or None,
    }
