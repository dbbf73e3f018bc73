"""Runs of ensembles that an earlier version has saved. `earlier_run.sql` is what it left in SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tactician import Agent, Ensemble, Platform, Review, ReviewDecision, Task
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel

SAVED = Path(__file__).with_name("earlier_run.sql")
RUN_ID = "bf86118e03dbc725"


async def test_a_run_that_waits_since_then_continues_and_no_completed_task_runs_again(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript(SAVED.read_text(encoding="utf-8"))
    model = ScriptedModel("printed")
    writer = Agent(role="Writer", goal="Write", model=model)
    written = Task("Write", agent=writer, review=Review.after(timeout=None))
    ensemble = Ensemble("News", [Task("Research {topic}", agent=writer), written, Task("Print", agent=writer)])
    async with SqliteStore(file) as store:
        context = Platform(store=store).context()
        (request,) = await ensemble.list_pending(RUN_ID, context=context)
        result = await ensemble.resume(RUN_ID, {request.id: ReviewDecision.approve()}, context=context)
    assert [(output.task_id, output.raw) for output in result.task_outputs] == [
        ("Research {topic}", "facts"),
        ("Write", "draft"),
        ("Print", "printed"),
    ]
    assert result["Research {topic}"].completed_at.isoformat().startswith("2026-11-23T")
    assert len(model.calls) == 1
