"""What models can use: typed functions and objects as tools."""

from tactician.tools.arguments import repaired_arguments
from tactician.tools.declared import DeclaredTool, ToolExecutor
from tactician.tools.function import FunctionTool, invalid_arguments, problems_of, tool
from tactician.tools.groups import ToolGroup, ToolGroupPermission, ToolSource, unknown_groups
from tactician.tools.runnable import RunnableTool
from tactician.tools.selection import ToolGroups, tools_in
from tactician.tools.signature import Docs, caller_namespace, docs_of, resolved_hints
from tactician.tools.tool import Tool, as_text, snake_case
from tactician.tools.toolbox import Toolbox, ToolLike, as_tool, declared_tools, tools_of
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
    "repaired_arguments",
    "snake_case",
    "ToolGroup",
    "ToolGroupPermission",
    "ToolGroups",
    "ToolSource",
    "tools_in",
    "unknown_groups",
    "Toolbox",
    "ToolLike",
    "as_tool",
    "tools_of",
    "declared_tools",
    "as_text",
    "problems_of",
    "Docs",
    "docs_of",
    "resolved_hints",
    "caller_namespace",
    "invalid_arguments",
]
