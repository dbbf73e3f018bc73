"""Fields of tasks and ensembles that describe their models and tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tactician.blueprint.builder import Builder
from tactician.blueprint.built_in_tools.parts import BuiltInTool
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.models import DEFAULT, ModelParts, OptionsPart, ResponderPart
from tactician.blueprint.schema_base import Name, Part, Temperature
from tactician.blueprint.tool_lists import AgentToolPart, build_tools, export_tools
from tactician.llm import ModelLike
from tactician.tools.toolbox import Toolbox, ToolLike


class ModelFieldsPart(Part):
    """Fields that describe a model."""

    model: Name | None = None
    responder: ResponderPart | None = None
    temperature: Temperature | None = None
    options: OptionsPart | None = None

    def build_model(self, builder: Builder) -> ModelLike | None:
        """Return the model; `None` for the default model, and when there was a problem."""
        return ModelParts(self.model or DEFAULT, self.responder, self.temperature, self.options).build(builder)


class ToolFieldsPart(Part):
    """Fields that describe tools."""

    tool_class_names: tuple[Name, ...] | None = None
    agent_tools: tuple[AgentToolPart, ...] | None = None
    built_in_tools: tuple[BuiltInTool, ...] | None = None

    def build_tools(self, builder: Builder) -> list[ToolLike]:
        """Return the tools that have no problems."""
        return build_tools(self.tool_class_names or (), self.agent_tools or (), self.built_in_tools or (), builder)


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
