"""Tools for models: typed functions and methods of objects, and built-in ones, which are loaded when they are used."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.tools.artifacts import Artifact as Artifact
    from tactician.tools.artifacts import ArtifactProduced as ArtifactProduced
    from tactician.tools.artifacts import collect_artifacts as collect_artifacts
    from tactician.tools.builtin.calculator import calculator as calculator
    from tactician.tools.builtin.date_time import date_time as date_time
    from tactician.tools.builtin.files import read_file as read_file
    from tactician.tools.builtin.files import write_file as write_file
    from tactician.tools.builtin.json_query import query_json as query_json
    from tactician.tools.builtin.pipeline import adapt as adapt
    from tactician.tools.builtin.pipeline import pipeline as pipeline
    from tactician.tools.builtin.program import run_program as run_program
    from tactician.tools.builtin.search_providers import SearchHit as SearchHit
    from tactician.tools.builtin.search_providers import SearxngSearch as SearxngSearch
    from tactician.tools.builtin.search_providers import TavilySearch as TavilySearch
    from tactician.tools.builtin.web import fetch_page as fetch_page
    from tactician.tools.builtin.web import http_request as http_request
    from tactician.tools.builtin.web_search import web_search as web_search
    from tactician.tools.declared_tool import DeclaredTool as DeclaredTool
    from tactician.tools.function import FunctionTool as FunctionTool
    from tactician.tools.function import tool as tool
    from tactician.tools.groups import CoreToolGroups as CoreToolGroups
    from tactician.tools.groups import ToolGroup as ToolGroup
    from tactician.tools.groups import ToolGroupPermission as ToolGroupPermission
    from tactician.tools.runnable import RunnableTool as RunnableTool
    from tactician.tools.selection import ToolObject as ToolObject
    from tactician.tools.selection import select_tools as select_tools
    from tactician.tools.tool import Tool as Tool
    from tactician.tools.tool import ToolOutput as ToolOutput
    from tactician.tools.toolbox import as_tool as as_tool
    from tactician.tools.toolbox import require_declared_tools as require_declared_tools
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.tools.artifacts": "Artifact ArtifactProduced collect_artifacts",
            "tactician.tools.builtin.calculator": "calculator",
            "tactician.tools.builtin.date_time": "date_time",
            "tactician.tools.builtin.files": "read_file write_file",
            "tactician.tools.builtin.json_query": "query_json",
            "tactician.tools.builtin.pipeline": "adapt pipeline",
            "tactician.tools.builtin.program": "run_program",
            "tactician.tools.builtin.search_providers": "SearchHit SearxngSearch TavilySearch",
            "tactician.tools.builtin.web": "fetch_page http_request",
            "tactician.tools.builtin.web_search": "web_search",
            "tactician.tools.declared_tool": "DeclaredTool",
            "tactician.tools.function": "FunctionTool tool",
            "tactician.tools.groups": "CoreToolGroups ToolGroup ToolGroupPermission",
            "tactician.tools.runnable": "RunnableTool",
            "tactician.tools.selection": "ToolObject select_tools",
            "tactician.tools.tool": "Tool ToolOutput",
            "tactician.tools.toolbox": "as_tool require_declared_tools",
        },
    )
    # Modules have the same names, and must not take their places.
    from tactician.tools.function import tool as tool
