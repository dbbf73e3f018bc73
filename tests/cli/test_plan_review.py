"""`tactician run --review` and `--objective`, `tactician experience`, and the plans that follow from it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tactician import SqliteStore
from tests.cli.support import tactician, written

SOURCES = """
from dataclasses import dataclass

from tactician import UserInput, achieves_goal, action, planned_agent
from tactician.errors import Replan
from tactician.planning import MEASURED


@dataclass
class Facts:
    source: str


@planned_agent(description="Answers from one of two sources")
class Researcher:
    @action(cost=MEASURED)
    def ask_archive(self, question: UserInput) -> Facts:
        raise Replan("it is closed")

    @action(cost=MEASURED)
    def ask_web(self, question: UserInput) -> Facts:
        return Facts("web")

    @achieves_goal("It is answered")
    @action
    def answer(self, facts: Facts) -> str:
        return f"from the {facts.source}"
"""


def test_runs_teach_the_plans_of_the_command_line(tmp_path: Path) -> None:
    file, store = written(tmp_path, SOURCES), str(tmp_path / "runs.db")

    reviewed = tactician("run", file, "Who?", "--store", store, "--review", "--objective", "dollars")
    assert (reviewed.code, "Plan of Researcher: ask_archive, then answer" in reviewed.err) == (3, True)
    run_id = next(word for word in reviewed.err.split() if len(word) == 16 and word.isalnum())
    again = tactician("respond", run_id, '{"approved": true}', file, "--store", store)
    assert (again.code, "Plan of Researcher: ask_web, then answer" in again.err) == (3, True)
    done = tactician("respond", run_id, '{"approved": true}', file, "--store", store)
    assert (done.code, done.out) == (0, "from the web\n")

    measured = json.loads(tactician("experience", "--store", store, "--json").out)
    by_name = {each["name"]: (each["runs"], each["success"]) for each in measured if each["kind"] == "action"}
    assert {name: runs for name, (runs, _) in by_name.items()} == {"answer": 1, "ask_archive": 1, "ask_web": 1}
    assert by_name["ask_archive"][1] < by_name["ask_web"][1]
    assert "ask_archive" in tactician("experience", "--store", store).out
    plan = tactician("plan", file, "--store", store, "--objective", "dollars")
    assert plan.code == 0
    assert "expected" in plan.out.lower()

    unmeasured = tactician("run", file, "Who?", "--review-above", "5")
    assert "Plan of Researcher" in unmeasured.err, "nothing was measured yet"


async def create_store(path: Path) -> None:
    async with SqliteStore(path) as store:
        await store.load("runs", "none")


def test_without_runs_there_is_no_experience(tmp_path: Path) -> None:
    asyncio.run(create_store(tmp_path / "runs.db"))
    assert "No runs yet" in tactician("experience", "--store", str(tmp_path / "runs.db")).out
    wrong = tactician("run", written(tmp_path, SOURCES), "Who?", "--objective", "speed")
    assert (wrong.code, "dollars" in wrong.err) == (2, True)
