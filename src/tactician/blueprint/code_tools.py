"""Code mode in blueprints: a tool in which a model calls other tools by a script."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from tactician.blueprint.builder import Builder
from tactician.blueprint.built_in_tools.building import FindTool, build_built_in_tool
from tactician.blueprint.built_in_tools.exporting import ExportTool, export_built_in_tool, is_built_in_tool
from tactician.blueprint.built_in_tools.parts import TOOL_KINDS, BuiltInTool
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.functions import find_function
from tactician.blueprint.schema_base import Flag, Name, Part, ToolName, convert_type
from tactician.code_mode import CodeLimits, CodeTool
from tactician.documents.forms import form_of
from tactician.errors import MissingExtraError
from tactician.tools import RunnableTool, Tool
from tactician.tools.toolbox import ToolLike

_NAME: Final = "run_code"


@form_of(CodeLimits, convert=convert_type, is_optional=True)
class CodeLimitsPart(Part):
    """Limits of a script: seconds, bytes and numbers."""


class CodeToolPart(Part):
    """Tool in which a model calls other tools by a script: built-in tools, and those that an import finds."""

    tool: Literal["run_code"]
    tools: Annotated[tuple[BuiltInTool, ...], Field(min_length=1)]
    name: ToolName | None = None
    limits: CodeLimitsPart | None = None
    needs_approval: Flag | None = None
    needs_approval_when: Name | None = None
    required_role: Name | None = None


TOOL_KINDS["run_code"] = CodeToolPart


def build_code_tool(part: CodeToolPart, builder: Builder, find_tool: FindTool) -> CodeTool | None:
    """Return the tool; `None` when there was a problem."""
    tools = [_build_tool(item, builder.at("tools", place), find_tool) for place, item in enumerate(part.tools)]
    built_tools = [tool for tool in tools if tool is not None]
    if part.needs_approval is not None and part.needs_approval_when is not None:
        builder.add_problem("there is needsApproval too: leave out one of them", "needsApprovalWhen")
    if part.required_role is not None and not part.needs_approval and part.needs_approval_when is None:
        builder.add_problem("no call needs an approval: set needsApproval", "requiredRole")
        return None
    decide = find_function(part.needs_approval_when, builder, "needsApprovalWhen")
    limit_fields = (
        {} if part.limits is None else {name: getattr(part.limits, name) for name in type(part.limits).model_fields}
    )
    limits = CodeLimits(**{name: value for name, value in limit_fields.items() if value is not None})
    if len(built_tools) < len(tools):
        return None
    try:
        return builder.attempt(
            lambda: CodeTool(
                built_tools,
                name=part.name or _NAME,
                limits=limits,
                needs_approval=decide or part.needs_approval or False,
                required_role=part.required_role,
            ),
            "tools",
        )
    except MissingExtraError as error:
        builder.add_problem(str(error))
        return None


def export_code_tool(tool: CodeTool, exporter: Exporter, export_tool: ExportTool) -> CodeToolPart | None:
    """Return the part of a tool; `None` when there was a problem, such as a tool in it that no import finds."""
    default = CodeLimits()
    changed = {
        field.name: value
        for field in fields(CodeLimits)
        if (value := getattr(tool.limits, field.name)) != getattr(default, field.name)
    }
    needs: dict[str, Any] = {"needs_approval": tool.needs_approval or None}
    if callable(tool.needs_approval):
        needs = {
            "needs_approval_when": exporter.find_import_path(tool.needs_approval, "the function", "needsApprovalWhen")
        }
    items = [_export_tool(item, exporter.at("tools", place), export_tool) for place, item in enumerate(tool.contents)]
    if None in items:
        return None
    values = {
        "tool": "run_code",
        "tools": tuple(items),
        "name": tool.name if tool.name != _NAME else None,
        "limits": CodeLimitsPart(**changed) if changed else None,
        "required_role": tool.required_role,
        **needs,
    }
    return exporter.make(CodeToolPart, values)


def _build_tool(item: Part | str, builder: Builder, find_tool: FindTool) -> ToolLike | None:
    if isinstance(item, CodeToolPart):
        builder.add_problem("a script cannot run scripts")
        return None
    if isinstance(item, str) and item not in TOOL_KINDS:
        return find_tool(item, builder)
    return build_built_in_tool(item, builder, find_tool)


def _export_tool(item: ToolLike, exporter: Exporter, export_tool: ExportTool) -> Part | str | None:
    if not isinstance(item, Tool):
        exporter.add_problem(f"the tools of {item!r} are known in a run only, and cannot be saved in a blueprint")
        return None
    if is_built_in_tool(item):
        return export_built_in_tool(item, exporter, export_tool) or item.name
    if isinstance(item, RunnableTool):
        exporter.add_problem(f"the tool {item.name!r}: an agent is no tool of a script in a blueprint")
        return None
    return export_tool(item, exporter)
