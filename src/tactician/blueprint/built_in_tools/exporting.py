"""Exporter of built-in tools and pipelines to blueprints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from tactician import tools
from tactician.blueprint.built_in_tools.parts import (
    TOOL_KINDS,
    AdapterPart,
    ApprovalPart,
    FileToolPart,
    PipelinePart,
    ProgramToolPart,
    SearchToolPart,
    WebToolPart,
)
from tactician.blueprint.exporter import Exporter, is_default_instance
from tactician.blueprint.schema_base import Part
from tactician.grammar import add_article
from tactician.names import find_import_path
from tactician.secrets import has_secret
from tactician.tools import Tool
from tactician.tools.builtin.configurable import ConfigurableTool
from tactician.tools.builtin.files import FileReader, FileWriter
from tactician.tools.builtin.pipeline import Adapter, Pipeline
from tactician.tools.builtin.program import ProgramRunner
from tactician.tools.builtin.web import HttpRequester, PageFetcher
from tactician.tools.builtin.web_search import WebSearcher

ExportTool = Callable[[Tool, Exporter], Part | str | None]
"""Function that returns the import path of a tool, or the part of an agent as a tool."""
_HOME: Final = "tactician.tools.builtin."
_LIMITS: Final = ("timeout", "max_bytes", "max_redirects")


def is_built_in_tool(tool: Tool) -> bool:
    """Return whether a tool is a built-in tool or a pipeline. Built-in tools are not loaded for the answer."""
    definition = getattr(tool, "__wrapped__", type(tool))
    return str(getattr(definition, "__module__", "")).startswith(_HOME)


def export_built_in_tool(tool: Tool, exporter: Exporter, export_tool: ExportTool) -> Part | str | None:
    """Return the part of a built-in tool or a pipeline, or its name when it has no settings.

    Args:
        tool: the tool.
        exporter: the exporter of its part.
        export_tool: function that exports other tools, for the steps of a pipeline.
    """
    match tool:
        case Pipeline():
            return _export_pipeline(tool, exporter, export_tool)
        case ConfigurableTool():
            kind, values = _list_settings(tool, exporter)
        case _:
            if tool.name not in TOOL_KINDS or getattr(tools, tool.name) is not tool:
                exporter.add_problem(f"the tool {tool.name!r} has other settings than the built-in one")
            return tool.name
    approval = _export_approval(tool, exporter)
    settings = {name: value for name, value in {**values, **approval}.items() if value is not None}
    return exporter.make(kind, {"tool": tool.name, **settings}) if settings else tool.name


def _list_settings(tool: ConfigurableTool, exporter: Exporter) -> tuple[type[Part], Mapping[str, object]]:
    match tool:
        case FileReader() | FileWriter():
            return FileToolPart, _list_file_settings(tool, exporter)
        case WebSearcher():
            return SearchToolPart, _list_search_settings(tool, exporter)
        case PageFetcher() | HttpRequester():
            return WebToolPart, _list_web_settings(tool, exporter)
        case ProgramRunner():
            return ProgramToolPart, _list_program_settings(tool, exporter)
    exporter.add_problem(f"{add_article(type(tool).__name__)} cannot be saved in a blueprint")
    return ApprovalPart, {}


def _list_file_settings(tool: FileReader | FileWriter, exporter: Exporter) -> Mapping[str, object]:
    if tool.workspace is None:
        exporter.add_problem(f'it has no workspace: use {tool.name}.within("folder")')
        return {"folder": "."}
    default = type(tool)().max_bytes
    return {
        "folder": exporter.make_relative(tool.workspace.root),
        "max_bytes": tool.max_bytes if tool.max_bytes != default else None,
    }


def _list_search_settings(tool: WebSearcher, exporter: Exporter) -> Mapping[str, object]:
    match tool.provider:
        case None:
            return {}
        case tools.TavilySearch(key=key, url=url, timeout=timeout):
            default = tools.TavilySearch()
            if key:
                exporter.add_problem("it holds a key: leave it out, and set TAVILY_API_KEY", "provider")
            place, limit = url if url != default.url else None, timeout if timeout != default.timeout else None
            return {"provider": "tavily", "url": _check_url(place, exporter), "timeout": limit}
        case tools.SearxngSearch(url=url, timeout=timeout):
            limit = timeout if timeout != tools.SearxngSearch("").timeout else None
            return {"provider": "searxng", "url": _check_url(url, exporter), "timeout": limit}
    provider: object = tool.provider
    name = find_import_path(type(provider)) if is_default_instance(provider) else None
    if name is None:
        why = "no import finds it, or it cannot be made without arguments"
        exporter.add_problem(f"the provider {type(provider).__name__}: {why}", "provider")
    return {"provider": name}


def _check_url(url: str | None, exporter: Exporter) -> str | None:
    if has_secret(url):
        exporter.add_problem("the address may hold a secret", "url")
        return None
    return url


def _list_web_settings(tool: PageFetcher | HttpRequester, exporter: Exporter) -> Mapping[str, object]:
    default = type(tool)()
    changed = {name: getattr(tool.limits, name) for name in _LIMITS}
    extract = tool.extract if isinstance(tool, PageFetcher) else None
    return {
        **{name: value for name, value in changed.items() if value != getattr(default.limits, name)},
        "allow_private": tool.limits.allow_private or None,
        "max_chars": tool.max_chars if tool.max_chars != default.max_chars else None,
        "extractor": None if extract is None else exporter.find_import_path(extract, "the extractor", "extractor"),
    }


def _list_program_settings(tool: ProgramRunner, exporter: Exporter) -> Mapping[str, object]:
    default = type(tool)()
    if has_secret(tool.environment):
        exporter.add_problem(
            "it may hold a secret, which a program should read from a file or a service", "environment"
        )
        return {}
    return {
        "folder": None if tool.folder is None else exporter.make_relative(tool.folder),
        "environment": dict(tool.environment) or None,
        "timeout": tool.timeout if tool.timeout != default.timeout else None,
        "max_output": tool.max_output if tool.max_output != default.max_output else None,
    }


def _export_approval(tool: ConfigurableTool, exporter: Exporter) -> dict[str, Any]:
    default, needs, role = type(tool)().traits, tool.traits.needs_approval, tool.traits.required_role
    if replace(tool.traits, needs_approval=default.needs_approval, required_role=None) != default:
        exporter.add_problem("of its traits, only the need for approvals can be saved in a blueprint")
    if callable(needs):
        path = exporter.find_import_path(needs, "the function", "needsApprovalWhen")
        return {"needs_approval_when": path, "required_role": role}
    return {"needs_approval": needs if needs != default.needs_approval else None, "required_role": role}


def _export_pipeline(pipeline: Pipeline, exporter: Exporter, export_tool: ExportTool) -> PipelinePart | None:
    plain = tools.pipeline(*pipeline.parts)
    steps = [_export_step(step, exporter.at("steps", place), export_tool) for place, step in enumerate(pipeline.parts)]
    values = {
        "tool": "pipeline",
        "steps": tuple(steps),
        "name": pipeline.name if pipeline.name != plain.name else None,
        "description": pipeline.description if pipeline.description != plain.description else None,
        "on_error": pipeline.on_error if pipeline.on_error != plain.on_error else None,
    }
    return None if None in steps else exporter.make(PipelinePart, values)


def _export_step(step: Tool | Adapter, exporter: Exporter, export_tool: ExportTool) -> Part | str | None:
    if isinstance(step, Adapter):
        is_plain = step == tools.adapt(to=step.to)
        name = None if is_plain else exporter.find_import_path(step.function, "the adapter", "function")
        return exporter.make(AdapterPart, {"tool": "adapter", "function": name, "to": step.to})
    if is_built_in_tool(step):
        return export_built_in_tool(step, exporter, export_tool)
    return export_tool(step, exporter)
