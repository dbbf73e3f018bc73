"""Claims of runs by several people who answer at once: one of them gets the run, and the others hear that it did."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Final, TypeVar

from tactician.errors import AlreadyAnsweredError, RunConflictError
from tactician.runs.context.services import Services
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.runs.requests.respondents import create_answered_error, find_answered

T = TypeVar("T")
_PAUSES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
"""Seconds between attempts to claim a run: the person who was first holds it before the answer is in the store."""


async def claim_to_answer(
    claim: Callable[[], Awaitable[T]], run_id: str, request_ids: Collection[str], services: Services
) -> T:
    """Return what a claim of a run returns. While somebody else holds the run, try a few times.

    Args:
        claim: the claim, which raises a `RunConflictError` while somebody else holds the run.
        run_id: the id of the run.
        request_ids: the ids of the requests to answer.
        services: the store and the clock.

    Raises:
        AlreadyAnsweredError: when one of the requests has an answer.
        RunConflictError: when somebody else still holds the run, or it has ended.
    """
    for pause in _PAUSES:
        try:
            return await claim()
        except AlreadyAnsweredError:
            raise
        except RunConflictError:
            if not await _can_be_answered(run_id, request_ids, services):
                raise
        await services.clock.sleep(pause)
    return await claim()


async def _can_be_answered(run_id: str, request_ids: Collection[str], services: Services) -> bool:
    record = await check_unanswered(run_id, request_ids, services)
    if record is None or not request_ids or record.status.is_terminal:
        return False
    return {*request_ids} <= {request.id for request in record.header.pending}


def check_first(record: RunRecord, request_ids: Collection[str]) -> None:
    """Check that a run keeps no answer to any of these requests: the first answer counts, until a run fails with it.

    Raises:
        AlreadyAnsweredError: when it keeps an answer to one of them.
    """
    kept = [request.id for request in record.header.pending if request.is_answered and request.id in request_ids]
    if kept and record.header.failure is None:
        raise create_answered_error(record.run_id, kept)


async def check_unanswered(run_id: str, request_ids: Collection[str], services: Services) -> RunRecord | None:
    """Check that a run has taken no answer to any of these requests, and return its record, if there is one.

    Raises:
        AlreadyAnsweredError: when one of them has an answer.
    """
    runs = RunStore(services.store)
    if (record := await runs.load(run_id)) is None or not request_ids:
        return record
    state = await runs.load_state(record)
    if answered := find_answered(state.tree, request_ids):
        raise create_answered_error(run_id, answered)
    return record
