"""Work of a task with a reviewer, who answers what the task waits for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tactician.ensemble.reviews.reviewers import Reviewer, ask_reviewer
from tactician.ensemble.values.task_input import TaskInput
from tactician.ensemble.work.task_work import Work
from tactician.flow.timeout import StepTimeoutError
from tactician.runs import PendingRequest, RunContext, RunResult
from tactician.runs.outcomes.suspension import Response, find_suspension
from tactician.runs.progress.checkpoint import Live
from tactician.runs.requests.answers import restore_response, save_response
from tactician.runs.requests.respondents import record_authors


async def work_with_reviewer(work: Work, reviewer: Reviewer, task: TaskInput, place: RunContext) -> RunResult[object]:
    """Do a task, and let a reviewer answer what it waits for: questions, and approvals of tools.

    Args:
        work: function that does the task.
        reviewer: the reviewer.
        task: the input of the task.
        place: the context of the task.

    Raises:
        Suspended: when the reviewer does not answer.
    """
    assert place.checkpoint is not None
    answers = place.checkpoint.at("answers")
    while True:
        responses = {name: restore_response(saved) for name, saved in answers.data.items()}
        try:
            return await work(task, replace(place, responses={**responses, **place.responses}) if responses else place)
        except BaseException as error:
            suspended = find_suspension(error)
            if suspended is None or not (new := await _answer(suspended.pending, reviewer, responses, place)):
                raise
        answers.set(**new)
        place.checkpoint.detach()  # so that the run reads its completed steps from the beginning


async def _answer(
    pending: Iterable[PendingRequest], reviewer: Reviewer, responses: dict[str, Response], place: RunContext
) -> dict[str, Live[Response]]:
    """Return the reviewer's answers to requests that it has not answered yet."""
    assert place.checkpoint is not None
    answers = {}
    for request in pending:
        if request.id in responses:
            continue
        try:
            answer = await ask_reviewer(reviewer, request, place)
        except StepTimeoutError:
            answers[request.id] = save_response(request.default)
            continue
        if answer is not None:
            answers[request.id] = save_response(answer.response)
            record_authors(place.checkpoint, [request.id], answer.by)
    return answers
