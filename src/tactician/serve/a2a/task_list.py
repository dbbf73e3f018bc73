"""Pages of the tasks of a user."""

from __future__ import annotations

from collections.abc import Iterable

from a2a.types import ListTasksRequest, ListTasksResponse, Task, TaskState
from a2a.utils.errors import InvalidParamsError
from a2a.utils.task import (
    ListTasksCursor,
    apply_history_length,
    decode_list_tasks_cursor,
    encode_list_tasks_cursor,
    validate_history_length,
    validate_page_size,
)

_PAGE_SIZE = 50


def check_list_request(request: ListTasksRequest) -> None:
    """Check the numbers of a request, and its token.

    Raises:
        InvalidParamsError: when a part is not valid.
    """
    validate_history_length(request)
    if request.HasField("page_size"):
        validate_page_size(request.page_size)
    if request.page_token and decode_list_tasks_cursor(request.page_token) is None:
        raise InvalidParamsError("The page token is not valid.")


def create_page(tasks: Iterable[Task], request: ListTasksRequest) -> ListTasksResponse:
    """Return the page that a request asks for: the tasks that changed last come first."""
    matching = sorted((task for task in tasks if _matches(task, request)), key=_get_place, reverse=True)
    left = matching
    if request.page_token and (cursor := decode_list_tasks_cursor(request.page_token)) is not None:
        left = [task for task in matching if _get_place(task) < (cursor.timestamp_ns or 0, cursor.task_id)]
    size = request.page_size if request.HasField("page_size") else _PAGE_SIZE
    page = left[:size]
    return ListTasksResponse(
        tasks=[_shorten(task, request) for task in page],
        page_size=size,
        total_size=len(matching),
        next_page_token=encode_list_tasks_cursor(ListTasksCursor(*_get_place(page[-1]))) if len(left) > size else "",
    )


def _matches(task: Task, request: ListTasksRequest) -> bool:
    if request.status != TaskState.TASK_STATE_UNSPECIFIED and task.status.state != request.status:
        return False
    if not request.HasField("status_timestamp_after"):
        return True
    return task.status.timestamp.ToNanoseconds() >= request.status_timestamp_after.ToNanoseconds()


def _get_place(task: Task) -> tuple[int, str]:
    return task.status.timestamp.ToNanoseconds(), task.id


def _shorten(task: Task, request: ListTasksRequest) -> Task:
    return apply_history_length(task, request)
