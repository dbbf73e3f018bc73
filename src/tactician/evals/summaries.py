"""Evaluations of a store at a glance, which needs no extra."""

from __future__ import annotations

import json
from typing import Final

import pydantic

from tactician.errors import StoredStateError
from tactician.frozen import frozen
from tactician.stores import DocumentStore
from tactician.stores.document import StoredDocument

EVALUATIONS: Final = "evaluations"
"""Collection of the documents."""
RUNNING, COMPLETE, STOPPED, WAITING = "running", "complete", "stopped", "waiting"


@frozen
class WaitingCase:
    """Run of a case that waits for somebody: the evaluation goes on with the same `id` once there are answers.

    Attributes:
        name: name of the run of the case.
        run_id: id of the run.
        prompts: what it asks.
    """

    name: str
    run_id: str
    prompts: tuple[str, ...]


@frozen
class EvaluationSummary:
    """Evaluation of a store without its cases.

    Attributes:
        id: id of the evaluation.
        name: name of the experiment.
        dataset: name of the data set.
        runnable: name of what is evaluated.
        status: `"running"`, `"complete"`, `"waiting"` for a person, or `"stopped"` before all cases had run.
        expected: number of runs that a complete evaluation has.
        done: number of runs that have ended.
        started: seconds since the epoch.
        stopped: why it ended before all cases had run.
        waiting: the runs that wait for somebody.
        seed: the seed that models got; `None` when they got none.
    """

    id: str
    name: str
    dataset: str
    runnable: str
    status: str
    expected: int
    done: int
    started: float
    stopped: str | None = None
    waiting: tuple[WaitingCase, ...] = ()
    seed: int | None = None


_SUMMARY: Final = pydantic.TypeAdapter(EvaluationSummary)


def read_summary(document: StoredDocument) -> EvaluationSummary:
    """Return the evaluation that a document of the store has.

    Raises:
        StoredStateError: when it cannot be read.
    """
    try:
        header = json.loads(document.header)
        return _SUMMARY.validate_python({**header, "id": document.id, "status": document.status})
    except (ValueError, TypeError) as error:
        raise StoredStateError(f"The evaluation {document.id} cannot be read: {error}") from error


async def list_evaluations(store: DocumentStore, limit: int = 100) -> list[EvaluationSummary]:
    """Return the evaluations of a store, newest first."""
    documents = await store.find(EVALUATIONS, limit=limit, with_bodies=False, newest_first=True)
    return [read_summary(document) for document in documents]
