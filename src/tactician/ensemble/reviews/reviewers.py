"""Reviewers: functions of the program that answer the requests of a run."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias

from tactician.flow.timeout import run_with_timeout
from tactician.runs import PendingRequest, RequestAnswered, RunContext
from tactician.runs.outcomes.suspension import Response

Reviewer: TypeAlias = Callable[[PendingRequest], Response | Awaitable[Response]]
"""Function that answers the requests of a run. It returns `None` for a request that somebody else is to answer.

A request with a required role goes only to a reviewer whose attribute `role` is equal to it. A reviewer may have an
attribute `name`, which the run keeps with the answer.
"""


class ReviewerAnswer(NamedTuple):
    """Answer of a reviewer, with its name if it is known."""

    response: Response
    by: str | None


async def ask_reviewer(reviewer: Reviewer, request: PendingRequest, place: RunContext) -> ReviewerAnswer | None:
    """Return the answer of a reviewer to a request; `None` when it does not answer, or may not.

    Args:
        reviewer: the reviewer.
        request: the request.
        place: the context that waits.

    Raises:
        StepTimeoutError: when the deadline of the request passes first.
        Exception: any that the reviewer raised.
    """
    if request.required_role is not None and getattr(reviewer, "role", None) != request.required_role:
        return None
    calling = _call(reviewer, request)
    if request.deadline is None:
        response = await calling
    else:
        left = max(0.0, request.deadline - place.clock.time())
        response = await run_with_timeout(calling, left, place.clock, "the review")
    if response is None:
        return None
    name = getattr(reviewer, "name", None)
    by = name if isinstance(name, str) else None
    place.emit(RequestAnswered, request_id=request.id, by=by)
    return ReviewerAnswer(response, by)


async def _call(reviewer: Reviewer, request: PendingRequest) -> Response | None:
    response = reviewer(request)
    return await response if inspect.isawaitable(response) else response
