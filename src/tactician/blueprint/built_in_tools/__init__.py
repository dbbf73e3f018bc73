"""Built-in tools in blueprints, with their settings, and pipelines of tools."""

from tactician.blueprint.built_in_tools.building import FindTool, build_built_in_tool
from tactician.blueprint.built_in_tools.exporting import ExportTool, export_built_in_tool, is_built_in_tool
from tactician.blueprint.built_in_tools.parts import BUILT_IN_TOOL, PIPELINE_ITEM, STEP_KINDS, TOOL_KINDS, BuiltInTool

__all__ = [
    "BuiltInTool",
    "FindTool",
    "ExportTool",
    "build_built_in_tool",
    "export_built_in_tool",
    "is_built_in_tool",
    "TOOL_KINDS",
    "STEP_KINDS",
    "BUILT_IN_TOOL",
    "PIPELINE_ITEM",
]
