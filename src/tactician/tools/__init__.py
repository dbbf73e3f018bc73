"""Tools for models: typed functions and methods of objects."""

from tactician.tools.arguments import repair_arguments
from tactician.tools.declared_tool import DeclaredTool, ToolExecutor
from tactician.tools.function import FunctionTool, create_arguments_error, describe_validation_error, tool
from tactician.tools.group_registry import ToolGroups, load_group_tools
from tactician.tools.groups import ToolGroup, ToolGroupPermission, ToolSource, describe_unknown_groups
from tactician.tools.runnable import RunnableTool
from tactician.tools.signature import ParsedDocstring, find_caller_namespace, parse_docstring, resolve_hints
from tactician.tools.tool import Tool, as_text, snake_case
from tactician.tools.toolbox import Toolbox, ToolLike, as_tool, find_declared_tools, require_declared_tools
from tactician.tools.traits import NO_TRAITS, NeedsApproval, ToolTraits

__all__ = [
    "Tool",
    "tool",
    "FunctionTool",
    "DeclaredTool",
    "ToolExecutor",
    "RunnableTool",
    "ToolTraits",
    "NeedsApproval",
    "NO_TRAITS",
    "repair_arguments",
    "snake_case",
    "ToolGroup",
    "ToolGroupPermission",
    "ToolGroups",
    "ToolSource",
    "load_group_tools",
    "describe_unknown_groups",
    "Toolbox",
    "ToolLike",
    "as_tool",
    "require_declared_tools",
    "find_declared_tools",
    "as_text",
    "describe_validation_error",
    "ParsedDocstring",
    "parse_docstring",
    "resolve_hints",
    "find_caller_namespace",
    "create_arguments_error",
]
