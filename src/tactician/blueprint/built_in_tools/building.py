"""Builder of built-in tools from their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar, cast
from urllib.parse import urlsplit

from pydantic import ValidationError

from tactician import tools
from tactician.blueprint.builder import Builder
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
from tactician.blueprint.functions import find_function
from tactician.blueprint.schema_base import Part
from tactician.errors import DeclarationError
from tactician.names import NameProblem
from tactician.secrets import has_secret
from tactician.suggestions import did_you_mean
from tactician.tools import Tool
from tactician.tools.builtin.configurable import ConfigurableTool
from tactician.tools.builtin.pipeline import Adapter, Pipeline
from tactician.tools.builtin.search_providers import SearchProvider
from tactician.tools.toolbox import ToolLike
from tactician.tools.traits import NeedsApproval

FindTool = Callable[[Part | str, Builder], ToolLike | None]
"""Function that returns the tool with an import path, or the agent of a part as a tool."""
C = TypeVar("C", bound="ConfigurableTool")
_MODULE: Final = "tactician.tools"


def build_built_in_tool(item: Part | str, builder: Builder, find_tool: FindTool) -> Tool | None:
    """Return a built-in tool or a pipeline; `None` when there was a problem.

    Args:
        item: its part, or its name.
        builder: its builder.
        find_tool: function that finds other tools, for the steps of a pipeline.
    """
    if isinstance(item, str) and item not in TOOL_KINDS:
        builder.add_problem(f"there is no built-in tool {item!r}.{did_you_mean(item, TOOL_KINDS)}")
        return None
    part = _parse_name(item, builder) if isinstance(item, str) else item
    match part:
        case None:
            return None
        case FileToolPart():
            made: Tool | None = _build_file_tool(part, builder)
        case SearchToolPart():
            made = _build_search_tool(part, builder)
        case WebToolPart():
            made = _build_web_tool(part, builder)
        case ProgramToolPart():
            made = _build_program_tool(part, builder)
        case PipelinePart():
            return _build_pipeline(part, builder, find_tool)
        case _:
            made = cast("Tool", getattr(tools, str(getattr(part, "tool", ""))))
    if isinstance(part, ApprovalPart) and isinstance(made, ConfigurableTool):
        return _set_approval(made, part, builder)
    return made


def _parse_name(name: str, builder: Builder) -> Part | None:
    try:
        return TOOL_KINDS[name].model_validate({"tool": name})
    except ValidationError:
        builder.add_problem(f"{name!r} needs settings: write an object with the field 'tool'")
        return None


def _build_file_tool(part: FileToolPart, builder: Builder) -> Tool | None:
    allowed, folder = builder.may_use(f"the tool {part.tool!r}", _MODULE), builder.resolve_file(part.folder, "folder")
    if not allowed or folder is None:
        return None
    plain = tools.read_file if part.tool == "read_file" else tools.write_file
    return builder.attempt(lambda: plain.within(folder, max_bytes=part.max_bytes), "folder")


def _build_search_tool(part: SearchToolPart, builder: Builder) -> Tool | None:
    timeout: dict[str, Any] = {} if part.timeout is None else {"timeout": part.timeout}
    if part.url is not None and not _may_reach(part.url, builder):
        return None
    if part.provider == "searxng":
        if (url := part.url) is None:
            builder.add_problem("searxng needs a 'url'")
            return None
        return tools.web_search.with_provider(tools.SearxngSearch(url, **timeout))
    if part.provider == "tavily":
        place: dict[str, Any] = {} if part.url is None else {"url": part.url}
        return tools.web_search.with_provider(tools.TavilySearch(**place, **timeout))
    if part.url is not None or timeout:
        builder.add_problem("only 'tavily' and 'searxng' have a url and a timeout", "url" if part.url else "timeout")
    if (name := part.provider) is None:
        return tools.web_search
    provider = builder.attempt(lambda: _find_provider(name, builder), "provider")
    return None if provider is None else tools.web_search.with_provider(provider)


def _may_reach(url: str, builder: Builder) -> bool:
    if has_secret(url):
        builder.add_problem("the address may hold a secret", "url")
        return False
    host, hosts = urlsplit(url).hostname or "", builder.permissions.hosts
    if hosts is None or host in hosts:
        return True
    builder.add_problem(f"the host {host} is not allowed; allow it with build(hosts=[{host!r}])", "url")
    return False


def _find_provider(name: str, builder: Builder) -> SearchProvider:
    named = builder.names.find(name)
    made = builder.names.create(name, cast("Callable[[], object]", named)) if isinstance(named, type) else named
    if not callable(getattr(made, "search", None)):
        raise NameProblem(f"{name!r} has no method `search`")
    return cast("SearchProvider", made)


def _build_web_tool(part: WebToolPart, builder: Builder) -> Tool | None:
    if not builder.may_use(f"the tool {part.tool!r}", _MODULE):
        return None
    limits = {name: getattr(part, name) for name in ("timeout", "max_bytes", "max_redirects", "max_chars")}
    extract = find_function(part.extractor, builder, "extractor")
    if part.tool == "http_request":
        if part.extractor is not None:
            builder.add_problem("only 'fetch_page' has an extractor", "extractor")
        requester = tools.http_request.with_limits(**limits)
        return requester.allow_private() if part.allow_private else requester
    fetcher = tools.fetch_page.with_limits(**limits)
    fetcher = fetcher if extract is None else fetcher.with_extractor(extract)
    return fetcher.allow_private() if part.allow_private else fetcher


def _build_program_tool(part: ProgramToolPart, builder: Builder) -> Tool | None:
    if not builder.may_use(f"the tool {part.tool!r}", _MODULE):
        return None
    runner = tools.run_program.with_limits(timeout=part.timeout, max_output=part.max_output)
    if has_secret(part.environment):
        builder.add_problem("it may hold a secret, which a program should read from a file or a service", "environment")
    if part.environment:
        runner = runner.with_environment(part.environment)
    if part.folder is None:
        return runner
    folder = builder.resolve_file(part.folder, "folder")
    return None if folder is None else runner.within(folder)


def _set_approval(made: C, part: ApprovalPart, builder: Builder) -> C:
    if part.needs_approval_when is not None:
        if part.needs_approval is not None:
            builder.add_problem("there is needsApproval too: leave out one of them", "needsApprovalWhen")
        decide = find_function(part.needs_approval_when, builder, "needsApprovalWhen")
        return made if decide is None else _approve_by(made, decide, part, builder)
    if part.needs_approval is None and part.required_role is None:
        return made
    needs = made.traits.needs_approval if part.needs_approval is None else part.needs_approval
    return _approve_by(made, needs, part, builder)


def _approve_by(made: C, needs: NeedsApproval, part: ApprovalPart, builder: Builder) -> C:
    try:
        return made.with_approval(needs, required_role=part.required_role)
    except DeclarationError:
        builder.add_problem("no call needs an approval: set needsApproval", "requiredRole")
        return made


def _build_pipeline(part: PipelinePart, builder: Builder, find_tool: FindTool) -> Tool | None:
    steps = [_build_step(item, builder.at("steps", place), find_tool) for place, item in enumerate(part.steps)]
    built_steps = [step for step in steps if step is not None]
    if len(built_steps) < len(steps):
        return None
    return builder.attempt(lambda: _join(part, built_steps), "steps")


def _join(part: PipelinePart, steps: Sequence[ToolLike | Adapter]) -> Pipeline:
    policy: dict[str, Any] = {} if part.on_error is None else {"on_error": part.on_error}
    return tools.pipeline(*steps, name=part.name, description=part.description, **policy)


def _build_step(item: Part | str, builder: Builder, find_tool: FindTool) -> ToolLike | Adapter | None:
    if isinstance(item, AdapterPart):
        function = find_function(item.function, builder, "function")
        return tools.adapt(to=item.to) if function is None else tools.adapt(function, to=item.to)
    if (item if isinstance(item, str) else getattr(item, "tool", "")) not in TOOL_KINDS:
        return find_tool(item, builder)
    return build_built_in_tool(item, builder, find_tool)
