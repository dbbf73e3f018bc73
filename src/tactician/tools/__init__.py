"""Tools for models: typed functions and methods of objects, and built-in ones, which are loaded when they are used."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.tools.arguments import repair_arguments as repair_arguments
    from tactician.tools.artifacts import Artifact as Artifact
    from tactician.tools.artifacts import ArtifactProduced as ArtifactProduced
    from tactician.tools.artifacts import collect_artifacts as collect_artifacts
    from tactician.tools.artifacts import deliver_artifact as deliver_artifact
    from tactician.tools.artifacts import deliver_result as deliver_result
    from tactician.tools.attachments import read_document_text as read_document_text
    from tactician.tools.builtin import Adapter as Adapter
    from tactician.tools.builtin import ConfigurableTool as ConfigurableTool
    from tactician.tools.builtin import FileReader as FileReader
    from tactician.tools.builtin import FileWriter as FileWriter
    from tactician.tools.builtin import HttpRequester as HttpRequester
    from tactician.tools.builtin import MathTools as MathTools
    from tactician.tools.builtin import PageFetcher as PageFetcher
    from tactician.tools.builtin import Pipeline as Pipeline
    from tactician.tools.builtin import Program as Program
    from tactician.tools.builtin import ProgramLimits as ProgramLimits
    from tactician.tools.builtin import ProgramResult as ProgramResult
    from tactician.tools.builtin import ProgramRunner as ProgramRunner
    from tactician.tools.builtin import SearchHit as SearchHit
    from tactician.tools.builtin import SearchProvider as SearchProvider
    from tactician.tools.builtin import SearxngSearch as SearxngSearch
    from tactician.tools.builtin import TavilySearch as TavilySearch
    from tactician.tools.builtin import WebLimits as WebLimits
    from tactician.tools.builtin import WebRequest as WebRequest
    from tactician.tools.builtin import WebSearcher as WebSearcher
    from tactician.tools.builtin import Workspace as Workspace
    from tactician.tools.builtin import adapt as adapt
    from tactician.tools.builtin import build_program_environment as build_program_environment
    from tactician.tools.builtin import calculator as calculator
    from tactician.tools.builtin import date_time as date_time
    from tactician.tools.builtin import decode_text as decode_text
    from tactician.tools.builtin import fetch_page as fetch_page
    from tactician.tools.builtin import http_request as http_request
    from tactician.tools.builtin import limit_command as limit_command
    from tactician.tools.builtin import pipeline as pipeline
    from tactician.tools.builtin import query_json as query_json
    from tactician.tools.builtin import read_file as read_file
    from tactician.tools.builtin import run_process_group as run_process_group
    from tactician.tools.builtin import run_program as run_program
    from tactician.tools.builtin import send_request as send_request
    from tactician.tools.builtin import web_search as web_search
    from tactician.tools.builtin import write_file as write_file
    from tactician.tools.configured_servers import SERVERS as SERVERS
    from tactician.tools.declared_tool import DeclaredTool as DeclaredTool
    from tactician.tools.declared_tool import ToolExecutor as ToolExecutor
    from tactician.tools.function import FunctionTool as FunctionTool
    from tactician.tools.function import create_arguments_error as create_arguments_error
    from tactician.tools.function import describe_validation_error as describe_validation_error
    from tactician.tools.function import tool as tool
    from tactician.tools.group_registry import ToolGroups as ToolGroups
    from tactician.tools.group_registry import load_group_tools as load_group_tools
    from tactician.tools.groups import CoreToolGroups as CoreToolGroups
    from tactician.tools.groups import ToolGroup as ToolGroup
    from tactician.tools.groups import ToolGroupPermission as ToolGroupPermission
    from tactician.tools.groups import ToolSource as ToolSource
    from tactician.tools.groups import describe_unknown_groups as describe_unknown_groups
    from tactician.tools.groups import list_groups as list_groups
    from tactician.tools.provider import OpenProviders as OpenProviders
    from tactician.tools.provider import ToolProvider as ToolProvider
    from tactician.tools.result_types import is_structured as is_structured
    from tactician.tools.runnable import RunnableTool as RunnableTool
    from tactician.tools.runnable import ToolParameter as ToolParameter
    from tactician.tools.runnable import ToolRequest as ToolRequest
    from tactician.tools.runnable import TypedInput as TypedInput
    from tactician.tools.schema_check import SchemaCheck as SchemaCheck
    from tactician.tools.selection import NameFilter as NameFilter
    from tactician.tools.selection import NamingStrategy as NamingStrategy
    from tactician.tools.selection import RenamedTool as RenamedTool
    from tactician.tools.selection import ToolObject as ToolObject
    from tactician.tools.selection import matches_name as matches_name
    from tactician.tools.selection import select_tools as select_tools
    from tactician.tools.signature import ParsedDocstring as ParsedDocstring
    from tactician.tools.signature import find_caller_namespace as find_caller_namespace
    from tactician.tools.signature import parse_docstring as parse_docstring
    from tactician.tools.signature import resolve_hints as resolve_hints
    from tactician.tools.tool import Tool as Tool
    from tactician.tools.tool import ToolOutput as ToolOutput
    from tactician.tools.tool import as_text as as_text
    from tactician.tools.tool import describe_result as describe_result
    from tactician.tools.tool import snake_case as snake_case
    from tactician.tools.toolbox import Toolbox as Toolbox
    from tactician.tools.toolbox import ToolInvoker as ToolInvoker
    from tactician.tools.toolbox import ToolLike as ToolLike
    from tactician.tools.toolbox import as_tool as as_tool
    from tactician.tools.toolbox import find_declared_tools as find_declared_tools
    from tactician.tools.toolbox import require_declared_tools as require_declared_tools
    from tactician.tools.toolbox import split_providers as split_providers
    from tactician.tools.traits import NO_TRAITS as NO_TRAITS
    from tactician.tools.traits import NeedsApproval as NeedsApproval
    from tactician.tools.traits import ToolTraits as ToolTraits
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.tools.arguments": "repair_arguments",
            "tactician.tools.artifacts": "Artifact ArtifactProduced collect_artifacts deliver_artifact deliver_result",
            "tactician.tools.attachments": "read_document_text",
            "tactician.tools.builtin": (
                "Adapter ConfigurableTool FileReader FileWriter HttpRequester MathTools PageFetcher Pipeline "
                "WebLimits WebRequest decode_text send_request Program ProgramLimits ProgramResult ProgramRunner "
                "build_program_environment limit_command SearchHit SearchProvider SearxngSearch TavilySearch "
                "WebSearcher Workspace adapt calculator date_time fetch_page http_request pipeline query_json "
                "read_file run_process_group run_program web_search write_file"
            ),
            "tactician.tools.configured_servers": "SERVERS",
            "tactician.tools.declared_tool": "DeclaredTool ToolExecutor",
            "tactician.tools.function": "FunctionTool create_arguments_error describe_validation_error tool",
            "tactician.tools.group_registry": "ToolGroups load_group_tools",
            "tactician.tools.groups": (
                "CoreToolGroups ToolGroup ToolGroupPermission ToolSource describe_unknown_groups list_groups"
            ),
            "tactician.tools.provider": "OpenProviders ToolProvider",
            "tactician.tools.result_types": "is_structured",
            "tactician.tools.runnable": "RunnableTool ToolParameter ToolRequest TypedInput",
            "tactician.tools.schema_check": "SchemaCheck",
            "tactician.tools.selection": "NameFilter NamingStrategy RenamedTool ToolObject matches_name select_tools",
            "tactician.tools.signature": "ParsedDocstring find_caller_namespace parse_docstring resolve_hints",
            "tactician.tools.tool": "ToolOutput Tool as_text describe_result snake_case",
            "tactician.tools.toolbox": (
                "ToolInvoker Toolbox ToolLike as_tool find_declared_tools require_declared_tools split_providers"
            ),
            "tactician.tools.traits": "NO_TRAITS NeedsApproval ToolTraits",
        },
    )
    # Modules have the same names, and must not take their places.
    from tactician.tools.function import tool as tool
