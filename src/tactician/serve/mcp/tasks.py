"""The tasks extension: a call of a goal or a Runnable that takes its time becomes a task, which is a durable run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, TypeAlias, cast

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY
from pydantic import BaseModel, JsonValue
from pydantic_core import from_json

from tactician.clock import Timeout
from tactician.context_format import write_json
from tactician.errors import TacticianError
from tactician.platform import Platform
from tactician.platform.follow import RunClient
from tactician.runs import PendingRequest, RunStatus, list_prompts
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.secrets import mask_secrets
from tactician.serve.mcp.caller import Caller
from tactician.serve.mcp.inputs import build_input, is_closed, name_inputs, read_input
from tactician.serve.mcp.results import write_error
from tactician.serve.mcp.runs import CallResult
from tactician.serve.mcp.task_run import ERROR, TASK_RUNS, TaskCall, TaskRun
from tactician.serve.mcp.tools import PublishedTool, RunTool
from tactician.stores.document import Lease

TASKS: Final = "io.modelcontextprotocol/tasks"
_GRACE: Final = 0.5
"""Seconds in which a call may end, or ask, without becoming a task."""
_POLL_MS: Final = 1_000
_ENDED: Final = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.TERMINATED, RunStatus.KILLED, RunStatus.STUCK)
_UNFINISHED: Final = (RunStatus.NOT_STARTED, RunStatus.RUNNING)
_CANCELLED: Final = "the MCP client cancelled the task"
TaskResult: TypeAlias = dict[str, JsonValue]


class ClientTasks:
    """Tasks of clients that support them, on a platform with a store.

    A call that ends soon is no task, and one that asks at once asks as any other. What takes longer is a task: the
    client looks at it with `tasks/get`, answers with `tasks/update`, and ends it with `tasks/cancel`. A task that was
    interrupted with its server continues when a client looks at it.

    Args:
        platform: the platform.
        load_tools: returns the published tools by name.
        required: names of tools that only run as tasks: other clients cannot call them.
    """

    def __init__(
        self,
        platform: Platform,
        load_tools: Callable[[], Awaitable[Mapping[str, PublishedTool]]],
        required: Collection[str],
    ) -> None:
        self._platform = platform
        self._required = frozenset(required)
        self._runs = RunClient(platform, name="mcp", names=(TASK_RUNS,))
        self._runnable = TaskRun(load_tools)
        if platform.is_durable:
            platform.register_internal(self._runnable)

    @property
    def is_offered(self) -> bool:
        """True when the platform has a store, in which tasks are kept."""
        return self._platform.is_durable

    def supports(self, caller: Caller, tool: PublishedTool) -> bool:
        """Return whether a call of a tool may become a task.

        Raises:
            MCPError: when it has to, and the client does not support that.
        """
        may_be_task = self.is_offered and isinstance(tool, RunTool) and caller.has_extension(TASKS)
        if tool.name in self._required and not may_be_task:
            raise create_missing_error()
        return may_be_task

    async def call(self, tool: RunTool, arguments: str, caller: Caller) -> CallResult | TaskResult:
        """Start a task, and return its result if it ends soon, what it asks, or the task.

        Raises:
            InvalidArgumentsError: when the arguments do not fit.
        """
        tool.check(arguments)
        call = TaskCall(tool=tool.name, arguments=arguments)
        task_id = await self._runs.start(TASK_RUNS, call, user=caller.user)
        try:
            return await self._settle(task_id, caller)
        except asyncio.CancelledError:  # the client does not know the task, and cannot cancel it
            with suppress(TacticianError):
                await asyncio.shield(self._runs.cancel(task_id, _CANCELLED))
            raise

    async def continue_call(self, state: str, caller: Caller) -> CallResult | TaskResult | None:
        """Continue the task of a call that has asked before it became known; `None` when the call is none of a task.

        Raises:
            MCPError: when the task is not known.
        """
        task_id = _find_task(state)
        if task_id is None:
            return None
        await self._keep_answers(await self._load(task_id, caller), caller)
        return await self._settle(task_id, caller)

    async def get(self, task_id: str, caller: Caller) -> TaskResult:
        """Return a task as it is now. A task whose server has died continues.

        Raises:
            MCPError: when there is no such task.
        """
        record = await self._load(task_id, caller)
        if record.status in _UNFINISHED and not record.is_leased:
            await self._continue(task_id)
        return await self._describe(record, caller)

    async def update(self, task_id: str, caller: Caller) -> TaskResult:
        """Keep the answers of a person. The task continues when nothing is open any more.

        Raises:
            MCPError: when there is no such task, or an answer cannot be taken.
        """
        record = await self._load(task_id, caller)
        if await self._keep_answers(record, caller):
            await self._continue(task_id)
        return {}

    async def cancel(self, task_id: str, caller: Caller) -> TaskResult:
        """End a task; one that has ended stays as it is.

        Raises:
            MCPError: when there is no such task.
        """
        record = await self._load(task_id, caller)
        if record.status not in _ENDED:
            await self._runs.cancel(record.run_id, _CANCELLED)
        return {}

    async def aclose(self) -> None:
        """Interrupt the tasks that run here. They continue when a client looks at them, or with a worker."""
        await self._runs.aclose()

    async def _settle(self, task_id: str, caller: Caller) -> CallResult | TaskResult:
        """Let a task run for a moment, and return what the client gets then."""
        if (running := await self._continue(task_id)) is not None:
            with suppress(TimeoutError), Timeout(_GRACE, self._platform.services.clock):
                await asyncio.wait({running})
        record = await self._load(task_id, caller)
        if record.status is not RunStatus.KILLED and (ended := await self._find_result(record)) is not None:
            return types.CallToolResult.model_validate(ended)
        asked = _list_inputs(record, caller)
        if record.status is RunStatus.WAITING and asked:
            state = write_json({"task_id": task_id})
            return types.InputRequiredResult(input_requests=asked, request_state=state)
        return {"resultType": "task", **_describe_task(record, _name_status(record, caller))}

    async def _describe(self, record: RunRecord, caller: Caller) -> TaskResult:
        status = _name_status(record, caller)
        task = _describe_task(record, status)
        if status == "input_required":
            inputs = _list_inputs(record, caller)
            asked: TaskResult = {key: _dump(form) for key, form in inputs.items()}
            return {**task, "inputRequests": asked}
        if status != "completed":
            return task
        try:
            return {**task, "result": await self._find_result(record)}
        except MCPError as error:
            message = error.error.message
            return {**task, "status": "failed", "statusMessage": message, ERROR: _dump(error.error)}

    async def _find_result(self, record: RunRecord) -> JsonValue:
        """Return the result of the call of a task that has ended; `None` when it has not.

        Raises:
            MCPError: when it has ended with an error of the protocol.
        """
        if record.status is RunStatus.COMPLETED:
            output = cast("TaskResult", await self._platform.output(record.run_id))
            if (problem := output.get(ERROR)) is not None:
                raise MCPError.from_error_data(types.ErrorData.model_validate(problem))
            return output
        if record.status in _ENDED:
            failure = mask_secrets(record.header.failure or f"The run {record.run_id} {record.status.sentence}.")
            return _dump(write_error(failure))
        return None

    async def _load(self, task_id: str, caller: Caller) -> RunRecord:
        record = await RunStore(self._platform.store).load(task_id)
        if record is None or record.name != TASK_RUNS or not caller.owns(record):
            raise MCPError(types.INVALID_PARAMS, f"There is no task {task_id!r}.")
        return record

    async def _continue(self, task_id: str) -> asyncio.Task[None] | None:
        """Let a task run beside the requests, if nobody else has it."""
        return await self._runs.continue_here(self._run, task_id)

    async def _run(self, record: RunRecord, lease: Lease) -> None:
        await self._runnable.continue_claimed(record, lease, context=self._platform.context())

    async def _keep_answers(self, record: RunRecord, caller: Caller) -> bool:
        """Keep answers in the run. Return whether nothing is open any more that this client may answer."""
        asked = {request.id: request for request in _list_open(record, caller).values()}
        filled = {
            name: answer
            for name, answer in caller.take_answers(_list_open(record, caller)).items()
            if not is_closed(answer)
        }
        for name, answer in filled.items():
            request = asked[name]
            responses: dict[str, Response] = {request.id: read_input(request, answer)}
            await self._runs.answer(record.run_id, responses, caller.find_respondent(request))
        return bool(filled) and len(filled) == len(asked)


def _list_open(record: RunRecord, caller: Caller) -> dict[str, PendingRequest]:
    """Return the requests of a task that its client can answer, by their keys.

    What is asked again, because an answer did not fit, has another key.
    """
    pending = [request for request in record.header.pending if not request.is_answered]
    asked = name_inputs(request for request in pending if caller.can_answer(request) and caller.may_answer(request))
    return {key if one.problem is None else f"{key}: {one.problem}": one for key, one in asked.items()}


def _list_inputs(record: RunRecord, caller: Caller) -> types.InputRequests:
    return {key: build_input(request) for key, request in _list_open(record, caller).items()}


def _find_task(state: str) -> str | None:
    """Return the id of the task in the state of a call; `None` for the state of another call."""
    try:
        task_id = from_json(state).get("task_id")
    except (ValueError, AttributeError):
        return None
    return task_id if isinstance(task_id, str) else None


def _name_status(record: RunRecord, caller: Caller) -> str:
    if record.status is RunStatus.KILLED:
        return "cancelled"
    if record.status in _ENDED:
        return "completed"
    return "input_required" if any(_list_open(record, caller)) else "working"


def _describe_task(record: RunRecord, status: str) -> TaskResult:
    started = record.header.started_at or record.updated_at
    waiting = record.status is RunStatus.WAITING and status == "working"
    pending = record.header.pending
    whom = "waits for a person: " if any(request.is_for_people for request in pending) else ""
    message: TaskResult = {"statusMessage": f"It {whom}{mask_secrets(list_prompts(pending))}"}
    return {
        "taskId": record.run_id,
        "status": status,
        **(message if waiting else {}),
        "createdAt": _write_time(started),
        "lastUpdatedAt": _write_time(max(started, record.updated_at)),
        "ttlMs": None,
        "pollIntervalMs": _POLL_MS,
    }


def _dump(model: BaseModel) -> TaskResult:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def _write_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def create_missing_error() -> MCPError:
    """Return the error for a client that does not support tasks."""
    missing: TaskResult = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
    return MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, f"This needs a client that supports {TASKS}.", missing)
