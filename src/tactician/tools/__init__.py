"""Tools for models: typed functions and methods of objects, and built-in ones, which are loaded when they are used."""

from typing import TYPE_CHECKING

from tactician.tools.arguments import repair_arguments
from tactician.tools.artifacts import (
    Artifact,
    ArtifactProduced,
    ArtifactSink,
    collect_artifacts,
    deliver_result,
)
from tactician.tools.configured_servers import SERVERS
from tactician.tools.core_groups import CoreToolGroups
from tactician.tools.declared_tool import DeclaredTool, ToolExecutor
from tactician.tools.function import FunctionTool, create_arguments_error, describe_validation_error, tool
from tactician.tools.group_registry import ToolGroups, load_group_tools
from tactician.tools.groups import ToolGroup, ToolGroupPermission, ToolSource, describe_unknown_groups, list_groups
from tactician.tools.invoker import ToolInvoker
from tactician.tools.output import ToolOutput
from tactician.tools.provider import OpenProviders, ToolProvider
from tactician.tools.runnable import RunnableTool, ToolRequest
from tactician.tools.schema_check import SchemaCheck
from tactician.tools.selection import NameFilter, NamingStrategy, RenamedTool, ToolObject, matches_name, select_tools
from tactician.tools.signature import ParsedDocstring, find_caller_namespace, parse_docstring, resolve_hints
from tactician.tools.tool import Tool, as_text, snake_case
from tactician.tools.toolbox import (
    Toolbox,
    ToolLike,
    as_tool,
    find_declared_tools,
    require_declared_tools,
    split_providers,
)
from tactician.tools.traits import NO_TRAITS, NeedsApproval, ToolTraits

if TYPE_CHECKING:
    from tactician.tools.builtin import (
        Adapter,
        ConfigurableTool,
        FileReader,
        FileWriter,
        HttpRequester,
        MathTools,
        PageFetcher,
        Pipeline,
        Program,
        ProgramResult,
        ProgramRunner,
        SearchHit,
        SearchProvider,
        SearxngSearch,
        TavilySearch,
        WebSearcher,
        Workspace,
        adapt,
        calculator,
        date_time,
        fetch_page,
        http_request,
        pipeline,
        query_json,
        read_file,
        run_process_group,
        run_program,
        web_search,
        write_file,
    )

_BUILTIN = (
    "MathTools",
    "Workspace",
    "Program",
    "ProgramResult",
    "run_process_group",
    "calculator",
    "date_time",
    "read_file",
    "write_file",
    "query_json",
    "web_search",
    "fetch_page",
    "http_request",
    "run_program",
    "pipeline",
    "adapt",
    "Pipeline",
    "SearchProvider",
    "SearchHit",
    "TavilySearch",
    "SearxngSearch",
    "Adapter",
    "ConfigurableTool",
    "FileReader",
    "FileWriter",
    "HttpRequester",
    "PageFetcher",
    "ProgramRunner",
    "WebSearcher",
)
__all__ = [
    "Tool",
    "tool",
    "FunctionTool",
    "DeclaredTool",
    "ToolExecutor",
    "RunnableTool",
    "ToolInvoker",
    "ToolRequest",
    "ToolObject",
    "NameFilter",
    "NamingStrategy",
    "RenamedTool",
    "select_tools",
    "Artifact",
    "ArtifactProduced",
    "ArtifactSink",
    "collect_artifacts",
    "deliver_result",
    "CoreToolGroups",
    "MathTools",
    "Workspace",
    "Program",
    "ProgramResult",
    "run_process_group",
    "ToolTraits",
    "NeedsApproval",
    "NO_TRAITS",
    "repair_arguments",
    "snake_case",
    "ToolGroup",
    "ToolGroupPermission",
    "ToolGroups",
    "list_groups",
    "SERVERS",
    "matches_name",
    "ToolSource",
    "ToolProvider",
    "OpenProviders",
    "ToolOutput",
    "SchemaCheck",
    "split_providers",
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
    "calculator",
    "date_time",
    "read_file",
    "write_file",
    "query_json",
    "web_search",
    "fetch_page",
    "http_request",
    "run_program",
    "pipeline",
    "adapt",
    "Pipeline",
    "SearchProvider",
    "SearchHit",
    "TavilySearch",
    "SearxngSearch",
    "Adapter",
    "ConfigurableTool",
    "FileReader",
    "FileWriter",
    "HttpRequester",
    "PageFetcher",
    "ProgramRunner",
    "WebSearcher",
]


def __getattr__(name: str) -> object:
    if name not in _BUILTIN:
        raise AttributeError(f"module 'tactician.tools' has no attribute {name!r}")
    from tactician.tools import builtin

    value: object = getattr(builtin, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_BUILTIN})
