"""Answers to the requests of a run: in a checkpoint of their own, until the run takes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tactician.runs.outcomes.suspension import PendingRequest, Response
from tactician.runs.progress.checkpoint import Checkpoint
from tactician.runs.requests.answers import check_response, restore_response, save_response
from tactician.runs.requests.respondents import NOBODY, Respondent, record_authors, record_key

_KEY: Final = "@responses"
"""Key of the checkpoint inside the outermost checkpoint; the answers are there by the ids of their requests."""


def record_responses(
    tree: Checkpoint,
    responses: Mapping[str, Response],
    pending: Iterable[PendingRequest],
    respondent: Respondent = NOBODY,
) -> None:
    """Set answers in the checkpoint of a run; the next step that is saved has them, and who gave them.

    Args:
        tree: checkpoint of the outermost run.
        responses: the answers, by the ids of their requests.
        pending: the requests that the run waits for.
        respondent: who answers.

    Raises:
        StoredStateError: when the run is saved, and an answer would not be read back equal.
    """
    if tree.journal is not None:
        for request in pending:
            if request.id in responses:
                check_response(request, responses[request.id])
    if responses:
        tree.at(_KEY).set(**{request_id: save_response(response) for request_id, response in responses.items()})
        record_authors(tree, responses, respondent.name)
        record_key(tree, responses, respondent.key)


def mark_answered(pending: Iterable[PendingRequest], responses: Mapping[str, Response]) -> tuple[PendingRequest, ...]:
    """Return requests, with a mark at those that some answers belong to."""
    return tuple(request.mark_answered() if request.id in responses else request for request in pending)


def collect_responses(tree: Checkpoint, pending: Iterable[PendingRequest], now: float) -> dict[str, Response]:
    """Return the answers that count when a run continues, by the ids of their requests.

    An earlier answer does not count when its request is pending again: it was refused. Then, as without any answer, the
    default counts once the deadline has passed.

    Args:
        tree: checkpoint of the outermost run.
        pending: the requests that the run waits for.
        now: seconds since the epoch.
    """
    open_requests = {request.id: request for request in pending if not request.is_answered}
    overdue = {name: request.default for name, request in open_requests.items() if request.is_overdue(now)}
    remaining = {name: saved for name, saved in tree.at(_KEY).data.items() if name not in open_requests}
    return overdue | {name: restore_response(saved) for name, saved in remaining.items()}


def describe_answers(request_ids: Iterable[str], respondent: Respondent) -> str:
    """Return which requests have an answer, and of whom if that is known, for people."""
    names = ", ".join(request_ids)
    return names if not names or respondent.name is None else f"{names}, by {respondent.name}"
