"""What models can use: typed functions and objects as tools."""

from tactician.tools.function import FunctionTool, problems_of, tool
from tactician.tools.signature import Docs, caller_namespace, docs_of, resolved_hints
from tactician.tools.tool import Tool, as_text
from tactician.tools.toolbox import Toolbox, ToolLike, as_tool, tools_of

__all__ = [
    "Tool",
    "tool",
    "FunctionTool",
    "Toolbox",
    "ToolLike",
    "as_tool",
    "tools_of",
    "as_text",
    "problems_of",
    "Docs",
    "docs_of",
    "resolved_hints",
    "caller_namespace",
]
