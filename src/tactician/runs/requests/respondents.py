"""People and programs that answer the requests of runs, and what they may answer."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Final

from tactician.errors import AlreadyAnsweredError, ResponseError
from tactician.frozen import frozen
from tactician.runs.outcomes.suspension import PendingRequest, Response
from tactician.runs.progress.checkpoint import Checkpoint

_KEY: Final = "@authors"
"""Key of the checkpoint with the names of those who answered, by the ids of requests."""
_ANSWERS: Final = "@answers"
"""Key of the checkpoint with the idempotency keys of answers, and the ids of the requests that each was for."""


@frozen
class Respondent:
    """Person or program that answers requests.

    Attributes:
        role: the role; a request with a required role takes no answer without it.
        name: the name, which the run keeps with the answer.
        key: idempotency key of the answer, which the run keeps too: see `has_answer`.
        on_accept: called once the run has taken the answer, before it continues: from then on no other answer counts.
    """

    role: str | None = None
    name: str | None = None
    key: str | None = None
    on_accept: Callable[[], None] | None = field(default=None, compare=False, repr=False)

    def report_acceptance(self) -> None:
        """Call `on_accept`, if there is one."""
        if self.on_accept is not None:
            self.on_accept()


NOBODY: Final = Respondent()


def check_role(request: PendingRequest, respondent: Respondent) -> None:
    """Check that a respondent may answer a request.

    Raises:
        ResponseError: when the request requires a role that the respondent does not have.
    """
    if request.required_role is not None and respondent.role != request.required_role:
        actual = "none was given" if respondent.role is None else f"not {respondent.role!r}"
        problem = f"it needs an answer with the role {request.required_role!r}, {actual}"
        how = f"`role={request.required_role!r}` in Python, `--role {shlex.quote(request.required_role)}` in a terminal"
        raise ResponseError(f"{request.id}: {problem}: {how}.")


def check_roles(responses: Mapping[str, Response], pending: Iterable[PendingRequest], respondent: Respondent) -> None:
    """Check that a respondent may answer all the requests that responses belong to.

    Raises:
        ResponseError: when a request requires a role that the respondent does not have.
    """
    for request in pending:
        if request.id in responses:
            check_role(request, respondent)


def record_authors(tree: Checkpoint, request_ids: Iterable[str], name: str | None) -> None:
    """Set that requests have been answered, and by whom, in the checkpoint of a run; the next saved step has it.

    Args:
        tree: the checkpoint of the outermost run, or of the process, that takes the answers.
        request_ids: the ids of the requests.
        name: the name, if it is known.
    """
    if names := dict.fromkeys(request_ids, name):
        tree.at(_KEY).set(**names)


def create_answered_error(run_id: str, request_ids: Iterable[str]) -> AlreadyAnsweredError:
    """Return the error of an answer to requests that have one."""
    listed = ", ".join(map(repr, request_ids))
    return AlreadyAnsweredError(f"{listed} of the run {run_id} has an answer already, and the first answer counts.")


def find_answered(tree: Checkpoint, request_ids: Iterable[str]) -> list[str]:
    """Return the requests that have been answered."""
    answered = frozenset[str]().union(*(place.data for place in tree.find_upwards(_KEY)))
    return [request_id for request_id in request_ids if request_id in answered]


def record_key(tree: Checkpoint, request_ids: Iterable[str], key: str | None) -> None:
    """Set the idempotency key of an answer in the checkpoint of a run; the next step that is saved has it."""
    if key is not None:
        tree.at(_ANSWERS).set(**{key: list(request_ids)})


def has_answer(tree: Checkpoint, key: str) -> bool:
    """Return whether a run has taken the answer with an idempotency key."""
    return any(key in saved.data for saved in tree.find_upwards(_ANSWERS))


def find_author(place: Checkpoint, request_id: str) -> str | None:
    """Return the name of who has answered a request of a run; `None` when it is not known.

    Args:
        place: any checkpoint of the run.
        request_id: the id of the request.
    """
    names = (saved.data[request_id] for saved in place.find_upwards(_KEY) if request_id in saved.data)
    name = next(names, None)
    return None if name is None else str(name)
