"""Evaluations in the store of a platform: each case is kept when it has ended, so that none runs twice."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, replace
from typing import Final

from tactician.errors import DocumentConflictError, RunConflictError
from tactician.evals.entries import TrialEntry, read_entries
from tactician.evals.report import EvalReport
from tactician.evals.summaries import COMPLETE, EVALUATIONS, RUNNING, STOPPED, WAITING, read_summary
from tactician.stores import DocumentStore
from tactician.stores.document import StoredDocument

_FACTS: Final = ("id", "name", "dataset", "runnable", "expected", "started", "stopped", "waiting", "seed")


class EvaluationJournal:
    """Journal of an evaluation in a store.

    Args:
        store: the store.
        report: the report, without entries.
    """

    def __init__(self, store: DocumentStore, report: EvalReport) -> None:
        self._store = store
        self._report = report
        self._lock = asyncio.Lock()
        self._document: StoredDocument | None = None

    async def open(self) -> list[TrialEntry]:
        """Begin the evaluation, or continue it, and return the cases that have ended.

        Raises:
            StoredStateError: when what is stored cannot be read.
        """
        self._document = await self._store.load(EVALUATIONS, self._report.id)
        if self._document is None:
            self._document = await self._store.save(self._describe(RUNNING, 0))
            return []
        entries = await _read_entries(self._store, self._document)
        self._report.started = json.loads(self._document.header)["started"]
        self._document = await self._store.save(self._describe(RUNNING, len(entries)))
        return entries

    async def add(self, entry: TrialEntry, done: int) -> None:
        """Keep a case that has ended.

        Raises:
            RunConflictError: when another program runs the same evaluation.
        """
        async with self._lock:
            try:
                self._document = await self._store.add_step(self._describe(RUNNING, done), entry.to_json())
            except DocumentConflictError as error:
                raise RunConflictError(
                    f"The evaluation {self._report.id!r} is run by another program too: choose another id."
                ) from error

    async def close(self) -> None:
        """Keep the whole report in the place of its cases."""
        report = self._report
        status = COMPLETE if report.is_complete else WAITING if report.waiting else STOPPED
        body = json.dumps([entry.to_json() for entry in report.entries])
        self._document = await self._store.fold(replace(self._describe(status, len(report.entries)), body=body))

    def _describe(self, status: str, done: int) -> StoredDocument:
        report, known = self._report, self._document
        header = {
            "name": report.name,
            "dataset": report.dataset,
            "runnable": report.runnable,
            "expected": report.expected,
            "done": done,
            "started": report.started,
            "seed": report.seed,
            "stopped": report.stopped,
            "waiting": [asdict(case) for case in report.waiting],
        }
        return StoredDocument(
            collection=EVALUATIONS,
            id=report.id,
            body="[]" if known is None else None,
            header=json.dumps(header),
            version=0 if known is None else known.version,
            kind="evaluation",
            name=report.name,
            status=status,
        )


async def load_report(store: DocumentStore, id: str) -> EvalReport | None:
    """Return the report of an evaluation in a store as far as it is; `None` when it has no such id.

    Raises:
        StoredStateError: when it cannot be read.
    """
    document = await store.load(EVALUATIONS, id)
    if document is None:
        return None
    entries, summary = await _read_entries(store, document), read_summary(document)
    facts = {name: getattr(summary, name) for name in _FACTS}
    return EvalReport(entries=entries, **facts)


async def _read_entries(store: DocumentStore, document: StoredDocument) -> list[TrialEntry]:
    steps = [step.text for step in await store.load_steps(EVALUATIONS, document.id)]
    entries = read_entries([*json.loads(document.text), *steps])
    return list({entry.name: entry for entry in entries}.values())
