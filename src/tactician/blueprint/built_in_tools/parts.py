"""Parts of blueprints: built-in tools with their settings, and pipelines of tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, WithJsonSchema

from tactician.blueprint.schema_base import (
    DEFERRED_IN_TEXT,
    Count,
    Flag,
    Name,
    Part,
    Positive,
    Seconds,
    ToolName,
    one_of,
)

TOOL_KINDS: Final[dict[str, type[Part]]] = {}
"""The kinds of parts of built-in tools, by the names of the tools."""
STEP_KINDS: Final[dict[str, type[Part]]] = {}
"""The kinds of parts of steps of a pipeline."""
BUILT_IN_TOOL: Final = "BuiltInTool"
PIPELINE_ITEM: Final = "PipelineItem"
_TEXT: Final = {"type": "string"}

BuiltInTool: TypeAlias = Annotated[
    Part | str,
    one_of("tool", TOOL_KINDS, "a built-in tool", or_text=True),
    WithJsonSchema({"anyOf": [{"$ref": f"#/$defs/{BUILT_IN_TOOL}"}, _TEXT]}),
]
"""A built-in tool with settings, or the name of a tool without."""
PipelineItem: TypeAlias = Annotated[
    Part | str,
    one_of("tool", STEP_KINDS, "a step", or_text=True),
    WithJsonSchema({"anyOf": [{"$ref": f"#/$defs/{PIPELINE_ITEM}"}, _TEXT]}),
]
"""A built-in tool or an adapter, or the name of a built-in or any other tool."""


class PlainToolPart(Part):
    """Built-in tool without settings."""

    tool: Literal["calculator", "date_time", "query_json"]


class ApprovalPart(Part):
    """Built-in tool of which calls may need an approval: all, or those for which a function returns true."""

    needs_approval: Flag | None = None
    needs_approval_when: Name | None = None
    required_role: Name | None = None


class FileToolPart(ApprovalPart):
    """Tool that reads or writes files of a folder, relative to the file of the blueprint."""

    tool: Literal["read_file", "write_file"]
    folder: Name
    max_bytes: Positive | None = None


class SearchToolPart(ApprovalPart):
    """Tool that searches the web: by `tavily`, by `searxng` at a `url`, or by a provider with another name."""

    tool: Literal["web_search"]
    provider: Name | None = None
    url: Name | None = None
    timeout: Seconds | None = None


class WebToolPart(ApprovalPart):
    """Tool that reaches addresses which a model names. The time is in seconds."""

    tool: Literal["fetch_page", "http_request"]
    allow_private: Flag | None = None
    timeout: Seconds | None = None
    max_bytes: Positive | None = None
    max_redirects: Count | None = None
    max_chars: Positive | None = None
    extractor: Name | None = None


class ProgramToolPart(ApprovalPart):
    """Tool that runs programs, which start in a folder. The time is in seconds."""

    tool: Literal["run_program"]
    folder: Name | None = None
    environment: Mapping[str, str] | None = None
    timeout: Seconds | None = None
    max_output: Positive | None = None


class AdapterPart(Part):
    """Function between two steps of a pipeline, and the parameter that gets what it returns."""

    tool: Literal["adapter"]
    function: Name | None = None
    to: Name | None = None


class PipelinePart(Part):
    """Tools that run in turn, each on the output of the tool before."""

    tool: Literal["pipeline"]
    steps: Annotated[tuple[PipelineItem, ...], Field(min_length=1)]
    name: ToolName | None = None
    description: Name | None = None
    on_error: Annotated[Literal["stop", "continue"], DEFERRED_IN_TEXT] | None = None


TOOL_KINDS.update(
    {
        **dict.fromkeys(("calculator", "date_time", "query_json"), PlainToolPart),
        **dict.fromkeys(("read_file", "write_file"), FileToolPart),
        "web_search": SearchToolPart,
        **dict.fromkeys(("fetch_page", "http_request"), WebToolPart),
        "run_program": ProgramToolPart,
        "pipeline": PipelinePart,
    }
)
STEP_KINDS.update({**TOOL_KINDS, "adapter": AdapterPart})
