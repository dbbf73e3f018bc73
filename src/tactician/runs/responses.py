"""Answers to the requests of a run: in a checkpoint of their own, until the run takes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from pydantic_core import to_jsonable_python

from tactician.runs.checkpoint import Checkpoint, Live, revive
from tactician.runs.suspension import PendingRequest, ReportedError, Response

_KEY: Final = "@responses"
"""Key of the checkpoint inside the outermost one; the answers are there by the ids of their requests."""


def record_responses(tree: Checkpoint, responses: Mapping[str, Response]) -> None:
    """Set answers in the checkpoint of a run; the next step that is saved has them."""
    if responses:
        tree.at(_KEY).set(**{request_id: save_response(response) for request_id, response in responses.items()})


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
    kept = {name: saved for name, saved in tree.at(_KEY).data.items() if name not in open_requests}
    return overdue | {name: restore_response(saved) for name, saved in kept.items()}


def save_response(response: Response) -> Live[Response]:
    """Return an answer as a value of a checkpoint."""
    return Live(response, _encode)


def restore_response(saved: object) -> Response:
    """Return the answer that `save_response` made a value of a checkpoint; an error as a `ReportedError`."""
    return revive(saved, _decode)


def _encode(response: Response) -> object:
    if isinstance(response, Exception):
        return {"error": f"{type(response).__name__}: {response}"}
    return {"value": to_jsonable_python(response)}


def _decode(saved: object) -> Response:
    if isinstance(saved, dict) and "error" in saved:
        return ReportedError(str(saved["error"]))
    return saved.get("value") if isinstance(saved, dict) else saved
