"""Parameters of the requests of the tasks extension."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import Field, JsonValue, TypeAdapter, ValidationError
from starlette.requests import Request

from tactician.serve.mcp.caller import Caller
from tactician.serve.mcp.request_context import RequestContext
from tactician.serve.mcp.tasks import TASKS, create_missing_error

_ANSWER: Final[TypeAdapter[types.InputResponse]] = TypeAdapter(types.InputResponse)
_NAME: Final = "Mcp-Name"
"""Header by which what stands before a server finds the one that has the task."""


class TaskParams(types.RequestParams):
    """Parameters of `tasks/get` and `tasks/cancel`."""

    task_id: str = Field(alias="taskId", max_length=200)


class TaskUpdateParams(TaskParams):
    """Parameters of `tasks/update`."""

    input_responses: dict[str, JsonValue] = Field(alias="inputResponses", default_factory=dict)

    @property
    def answers(self) -> types.InputResponses:
        """The answers by the keys of the requests; whatever else was sent is ignored."""
        answers: types.InputResponses = {}
        for key, response in self.input_responses.items():
            try:
                answers[key] = _ANSWER.validate_python(response)
            except ValidationError:
                continue
        return answers


def create_task_caller(
    request: RequestContext, params: TaskParams, answers: Mapping[str, types.InputResponse] = MappingProxyType({})
) -> Caller:
    """Return the client of a request about a task.

    Raises:
        MCPError: when the client does not say that it supports tasks, or names another task in the header.
    """
    caller = Caller(request, answers=answers)
    headers = request.request.headers if isinstance(request.request, Request) else {}
    if headers.get(_NAME, params.task_id).strip() != params.task_id:
        raise MCPError(types.HEADER_MISMATCH, f"{_NAME} does not match params.taskId.")
    if not caller.asks_later:
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found")
    if not caller.has_extension(TASKS):
        raise create_missing_error()
    return caller
