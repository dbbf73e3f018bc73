"""Handlers of the requests of clients."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Final, TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError

from tactician.context_format import write_json
from tactician.errors import TacticianError
from tactician.loggers import get_logger
from tactician.secrets import mask_secrets
from tactician.serve.mcp.caller import Caller
from tactician.serve.mcp.catalog import Catalog
from tactician.serve.mcp.limits import MOST_ARGUMENTS, PAGE
from tactician.serve.mcp.logs import LogLevels
from tactician.serve.mcp.request_context import RequestContext
from tactician.serve.mcp.results import write_error
from tactician.serve.mcp.runs import CallResult
from tactician.serve.mcp.task_params import TaskParams, TaskUpdateParams, create_task_caller
from tactician.serve.mcp.tasks import ClientTasks, TaskResult
from tactician.serve.mcp.tools import PublishedTool, RunTool
from tactician.suggestions import did_you_mean
from tactician.text import describe_error

T = TypeVar("T")
_RESOURCE_NOT_FOUND: Final = -32002
_logger = get_logger(__name__)


class Handlers:
    """Handlers of the requests of clients for what is in a catalog, with the log messages that they want."""

    def __init__(self, catalog: Catalog, levels: LogLevels, tasks: ClientTasks) -> None:
        self._catalog = catalog
        self._tasks = tasks
        self._levels = levels

    async def list_tools(
        self, request: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Return a page of the tools."""
        tools = (await _load(self._catalog.load_tools())).values()
        page, cursor = paginate([tool.definition for tool in tools], params)
        return types.ListToolsResult(tools=page, next_cursor=cursor)

    async def call_tool(self, request: RequestContext, params: types.CallToolRequestParams) -> CallResult | TaskResult:
        """Call a tool. Whatever fails in it is a result that the model reads.

        Raises:
            MCPError: when there is no such tool.
        """
        tool = _find(await _load(self._catalog.load_tools()), params.name, "tool")
        arguments = write_json(params.arguments or {})
        if len(arguments) > MOST_ARGUMENTS:
            return write_error(f"The arguments have {len(arguments):,} characters; {MOST_ARGUMENTS:,} may be sent.")
        try:
            caller = Caller(request, self._levels.find(request), params.input_responses or {})
            return await self._call(tool, arguments, params.request_state, caller)
        except MCPError:
            raise
        except Exception as error:
            _logger.debug("the tool %s failed", tool.name, exc_info=True)
            return write_error(error)

    async def _call(
        self, tool: PublishedTool, arguments: str, state: str | None, caller: Caller
    ) -> CallResult | TaskResult:
        may_be_task = self._tasks.supports(caller, tool)
        if state is None and may_be_task and isinstance(tool, RunTool):
            return await self._tasks.call(tool, arguments, caller)
        if state is None:
            return await tool.call(arguments, caller)
        if (result := await self._tasks.continue_call(state, caller)) is not None:
            return result
        return await tool.continue_call(arguments, state, caller)

    async def get_task(self, request: RequestContext, params: TaskParams) -> TaskResult:
        """Return a task as it is now."""
        return await self._tasks.get(params.task_id, create_task_caller(request, params))

    async def update_task(self, request: RequestContext, params: TaskUpdateParams) -> TaskResult:
        """Keep the answers to what a task has asked."""
        return await self._tasks.update(params.task_id, create_task_caller(request, params, params.answers))

    async def cancel_task(self, request: RequestContext, params: TaskParams) -> TaskResult:
        """End a task."""
        return await self._tasks.cancel(params.task_id, create_task_caller(request, params))

    async def list_prompts(
        self, request: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """Return a page of the prompts."""
        prompts = (await _load(self._catalog.load_prompts())).values()
        page, cursor = paginate([prompt.definition for prompt in prompts], params)
        return types.ListPromptsResult(prompts=page, next_cursor=cursor)

    async def get_prompt(
        self, request: RequestContext, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Return a prompt with values for its arguments, or what it asks.

        Raises:
            MCPError: when there is no such prompt, or an argument is missing.
        """
        prompt = _find(await _load(self._catalog.load_prompts()), params.name, "prompt")
        arguments = params.arguments or {}
        if missing := prompt.find_missing(arguments):
            raise MCPError(types.INVALID_PARAMS, f"The prompt {params.name} needs: {', '.join(missing)}.")
        caller = Caller(request, self._levels.find(request), params.input_responses or {})
        return await _load(prompt.write(arguments, params.request_state, caller))

    async def list_resources(
        self, request: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return a page of the resources."""
        resources = await _load(self._catalog.load_resources())
        page, cursor = paginate([resource.definition for resource in resources if not resource.is_template], params)
        return types.ListResourcesResult(resources=page, next_cursor=cursor)

    async def list_templates(
        self, request: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return a page of the templates of resources."""
        resources = await _load(self._catalog.load_resources())
        page, cursor = paginate([resource.template for resource in resources if resource.is_template], params)
        return types.ListResourceTemplatesResult(resource_templates=page, next_cursor=cursor)

    async def read_resource(
        self, request: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return the content of a resource.

        Raises:
            MCPError: when no resource has the address.
        """
        uri = str(params.uri)
        for resource in await _load(self._catalog.load_resources()):
            if (variables := resource.match(uri)) is not None:
                return await _load(resource.load(uri, variables))
        code = types.INVALID_PARAMS if Caller(request).asks_later else _RESOURCE_NOT_FOUND
        raise MCPError(code, f"There is no resource {uri}.", {"uri": uri})

    async def complete(self, request: RequestContext, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Return values for an argument of a prompt that has a fixed set of them."""
        values: list[str] = []
        if isinstance(params.ref, types.PromptReference):
            prompt = _find(await _load(self._catalog.load_prompts()), params.ref.name, "prompt")
            values = prompt.complete(params.argument.name, params.argument.value)
        return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


async def _load(loading: Awaitable[T]) -> T:
    try:
        return await loading
    except MCPError:
        raise
    except Exception as error:
        text = str(error) if isinstance(error, TacticianError) else describe_error(error)
        raise MCPError(types.INTERNAL_ERROR, mask_secrets(text)) from error


def _find(published: Mapping[str, T], name: str, kind: str) -> T:
    if (entry := published.get(name)) is not None:
        return entry
    raise MCPError(types.INVALID_PARAMS, f"There is no {kind} {name!r}.{did_you_mean(name, published)}")


def paginate(entries: Sequence[T], params: types.PaginatedRequestParams | None) -> tuple[list[T], str | None]:
    """Return a page of a list, and the cursor of the next page.

    Raises:
        MCPError: when the cursor is none of ours.
    """
    cursor = "0" if params is None or params.cursor is None else params.cursor
    if not cursor.isdecimal() or len(cursor) > len(str(len(entries))):
        raise MCPError(types.INVALID_PARAMS, "The cursor is not valid.")
    start = int(cursor)
    end = start + PAGE
    return list(entries[start:end]), str(end) if end < len(entries) else None
