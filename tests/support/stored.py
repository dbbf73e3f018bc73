"""Runs in a store: continued as processes, looked at as JSON, and changed as other programs or damage would."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from tactician import Platform
from tactician.process import AgentProcess, ProcessHandle
from tactician.runs import RunResult
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.steps import Snapshot
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore, MemoryStore

Change: TypeAlias = Callable[[dict[str, Any]], object]
"""Changes what is stored of a run, in place; its result is not used."""


class JsonStore(MemoryStore):
    """Store in memory that keeps text, as a database does, and no live objects."""

    keeps_objects = False


def expect_process(outcome: AgentProcess | RunResult[object]) -> AgentProcess:
    """Return the process that a platform has continued; fail for a run of another kind."""
    assert isinstance(outcome, AgentProcess)
    return outcome


async def respond(platform: Platform, process: ProcessHandle, response: Response, place: int = 0) -> AgentProcess:
    """Answer one of the requests of a process on a platform, and return the process that continued there."""
    return expect_process(await platform.respond(process.id, process.pending[place].id, response))


async def resume(platform: Platform, process_id: str, *objects: object) -> AgentProcess:
    """Continue a process on a platform, and return the process that continued there."""
    return expect_process(await platform.resume(process_id, *objects))


async def load_record(store: DocumentStore, run_id: str) -> RunRecord:
    """Return the record of a run; fail when there is none."""
    record = await RunStore(store).load(run_id)
    assert record is not None
    return record


async def load_data(store: DocumentStore, run_id: str) -> dict[str, Any]:
    """Return the data of the outermost checkpoint of a stored run after its last step, as JSON."""
    data: dict[str, Any] = (await _load_snapshot(store, await load_record(store, run_id)))["tree"]["data"]
    return data


async def change_data(store: DocumentStore, run_id: str, change: Change) -> None:
    """Change the JSON of the outermost checkpoint of a stored run, as if another program had written it."""
    await change_tree(store, run_id, lambda tree: change(tree["data"]))


async def change_tree(store: DocumentStore, run_id: str, change: Change) -> None:
    """Change the JSON of the checkpoints of a stored run, as if another program had written it."""
    record = await load_record(store, run_id)
    saved = await _load_snapshot(store, record)
    before = json.dumps(saved)
    change(saved["tree"])
    assert json.dumps(saved) != before, "the change has changed nothing"
    await RunStore(store).save(replace(record, body=json.dumps(saved)))


async def _load_snapshot(store: DocumentStore, record: RunRecord) -> dict[str, Any]:
    state = await RunStore(store).load_state(record)
    snapshot = Snapshot(step=record.steps, start=state.start, spent=state.spent, tree=state.tree.to_saved())
    saved: dict[str, Any] = json.loads(snapshot.to_json())
    return saved
