"""Save waiting runs of all kinds as the installed version of the package leaves them, and how they end in it.

`PYTHONPATH=EARLIER/src python -m tests.earlier_versions.save FOLDER` writes `runs.sql` and `ends.json` of an earlier
version.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx
from pydantic_core import to_json

from tactician import Platform, ReviewDecision
from tactician.ensemble import PhaseDecision
from tactician.platform import Worker
from tactician.serve import a2a_app
from tactician.stores import SqliteStore
from tests.earlier_versions.programs import INPUT, PROGRAMS, Payer

QUEUED: Final = "queued"
TASK: Final = "task of A2A"
_ANSWERS: Final[Mapping[str, Any]] = {
    "Shop": {"city": "Rome"},
    "Lead": {"city": "Rome"},
    "Reviewed": ReviewDecision.approve(),
    "Phases": PhaseDecision.approve(),
}
"""Answers to those that ask for more than an approval."""


def create_platform(store: SqliteStore) -> Platform:
    """Return a platform with all Runnables."""
    return Platform(Payer(), store=store).register(*(build() for build in PROGRAMS.values()))


async def begin_runs(file: Path) -> dict[str, str]:
    """Begin a run of each kind, and return their ids."""
    async with SqliteStore(file) as store, create_platform(store) as platform:
        runs = {name: await platform.enqueue(name, INPUT) for name in PROGRAMS}
        while await Worker(platform).run_once():
            pass
        runs[TASK] = (await call_a2a(platform, "SendMessage", {"message": _MESSAGE}))["task"]["id"]
        runs[QUEUED] = await platform.enqueue("Payer", INPUT)
    return runs


async def end_run(platform: Platform, run_id: str) -> dict[str, Any]:
    """Answer what a run waits for until it ends, and return how it ended."""
    while pending := (await platform.tree(run_id)).run.pending:
        await platform.respond(run_id, pending[0].id, _ANSWERS.get(pending[0].id.partition("/")[0], True))
    run = (await platform.tree(run_id)).run
    steps = [[step.kind, step.name, step.detail] for step in await platform.steps(run_id)]
    return {"status": run.status, "output": await platform.output(run_id), "steps": steps}


async def end_queued_run(platform: Platform, run_id: str) -> dict[str, Any]:
    """Let a worker begin a run that was queued, and end it."""
    assert await Worker(platform).run_once()
    return await end_run(platform, run_id)


async def end_task(platform: Platform, task_id: str) -> dict[str, Any]:
    """Answer what a task of A2A asks for, and return the task as its client gets it."""
    answer = {**_MESSAGE, "messageId": "second", "taskId": task_id, "parts": [{"data": {"city": "Rome"}}]}
    task = (await call_a2a(platform, "SendMessage", {"message": answer}))["task"]
    return {"status": task["status"]["state"], "output": [artifact["parts"] for artifact in task["artifacts"]]}


async def call_a2a(platform: Platform, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Call a server of A2A with the platform's agent that sends parcels."""
    app = a2a_app(platform, "http://localhost", publish=[PROGRAMS["Shop"]()])
    transport = httpx.ASGITransport(app=app, client=("127.0.0.1", 1))
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost", headers={"A2A-Version": "1.0"}) as client,
    ):
        answer = (await client.post("/", json=request)).json()
    result: dict[str, Any] = answer["result"]
    return result


_MESSAGE: Final = {"role": "ROLE_USER", "parts": [{"text": INPUT}], "messageId": "first"}
ENDS: Final = {TASK: end_task, QUEUED: end_queued_run}
"""How runs end that do not end by `end_run`."""


async def save(folder: Path) -> None:
    """Write the runs as they wait, and how they end."""
    with TemporaryDirectory() as temporary:
        file = Path(temporary) / "runs.db"
        runs = await begin_runs(file)
        with closing(sqlite3.connect(file)) as database:
            (folder / "runs.sql").write_text("\n".join(database.iterdump()) + "\n", encoding="utf-8")
        async with SqliteStore(file) as store, create_platform(store) as platform:
            ends = {
                name: {"id": run_id, **await ENDS.get(name, end_run)(platform, run_id)} for name, run_id in runs.items()
            }
    (folder / "ends.json").write_bytes(to_json(ends, indent=1) + b"\n")


if __name__ == "__main__":
    asyncio.run(save(Path(sys.argv[1])))
