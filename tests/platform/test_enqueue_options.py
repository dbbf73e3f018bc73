"""Options of runs that are enqueued: wrong ones are refused, and a record that is wrong stops no worker."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from math import nan
from pathlib import Path
from typing import Any

import pytest

from tactician import (
    Agent,
    Budget,
    Platform,
    ProcessOptions,
    RunStatus,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    tool,
)
from tactician.errors import ConfigurationError
from tactician.integrations.stepper import Stepper
from tactician.platform import Worker
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.support.stored import load_record


@tool
def look() -> str:
    """Look."""
    return "nothing"


@planned_agent(name="Writer", description="Writes")
class Writer:
    @achieves_goal("written")
    @action
    def write(self, topic: UserInput) -> str:
        return topic.content


@planned_agent(name="Manager", description="Lets a clerk work")
class Manager:
    def __init__(self, clerk: Agent) -> None:
        self.clerk = clerk

    @achieves_goal("done")
    @action
    async def work(self, topic: UserInput) -> str:
        return str((await self.clerk.run(topic.content)).output)


def platform_of(store: DocumentStore, *agents: object) -> Platform:
    return Platform(ScriptedModel(), store=store).register(*agents)


async def test_a_record_that_is_wrong_in_the_store_is_passed_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with SqliteStore(tmp_path / "s.db") as store:
        platform = platform_of(store, Writer())
        wrong = await platform.enqueue("Writer", "frogs")
        fine = await platform.enqueue("Writer", "toads")
        with closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None)) as connection:
            connection.execute("UPDATE tactician_documents SET priority = 'high' WHERE id = ?", (wrong,))
        worker = Worker(platform)

        assert [await worker.run_once() for _ in range(3)] == [True, True, False]

        assert (await platform.process(fine)).status is RunStatus.COMPLETED
        assert f"the run {wrong} cannot continue here" in caplog.text
        assert "its priority is 'high', and no whole number" in caplog.text


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "misspelt": ({"priorty": 9}, "enqueue has no option 'priorty'. Did you mean 'priority'?"),
    "unknown": ({"nonsense": 1}, "enqueue has no option 'nonsense'. Its options are named, options, budget"),
    "text": ({"priority": "high"}, "priority is 'high'; it must be a whole number from -100000 to 100000"),
    "nan": ({"priority": nan}, "priority is nan; it must be a whole number"),
    "huge": ({"priority": 2**70}, "it must be a whole number from -100000 to 100000"),
    "seconds": ({"deadline": 60.0}, "deadline is 60.0; write deadline=timedelta(hours=2)"),
    "naive": ({"deadline": datetime(2027, 1, 1)}, "which has no time zone"),
    "past": ({"deadline": timedelta(seconds=-1)}, "write how long to wait, as in timedelta(hours=2)"),
    "number": ({"idempotency_key": 17}, "idempotency_key is 17; write idempotency_key='order-17'"),
    "empty": ({"idempotency_key": ""}, "idempotency_key is empty"),
    "budget": ({"budget": 3}, "budget is 3; write budget=Budget(...)"),
    "user": ({"user": "Anna"}, "user is 'Anna'; write user=ChatUser(...)"),
    "options": ({"options": {"max_parallel": 2}}, "write options=ProcessOptions(...)"),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_wrong_option_is_refused_before_anything_is_saved(wrong: str) -> None:
    settings, message = WRONG[wrong]
    platform = platform_of(MemoryStore(), Writer())

    with pytest.raises(ConfigurationError, match=re.escape(message)):
        await platform.enqueue("Writer", "frogs", **settings)
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        await Stepper(platform).add("Writer", "frogs", **settings)

    assert await platform.runs() == []


@pytest.mark.parametrize("option", ["named", "options"])
async def test_options_of_processes_are_refused_for_other_runs(option: str) -> None:
    values: dict[str, Any] = {"named": {"topic": "frogs"}, "options": ProcessOptions()}
    platform = platform_of(MemoryStore(), Agent("Clerk", model=ScriptedModel()))

    with pytest.raises(ConfigurationError, match=f"{option} is for planned agents, and 'Clerk' is none"):
        await platform.enqueue("Clerk", "frogs", **{option: values[option]})


async def test_a_deadline_may_be_the_time_from_now() -> None:
    clock = FakeClock()
    store = MemoryStore(clock.time)
    platform = platform_of(store, Agent("Clerk", model=ScriptedModel("ok")))
    platform.services.clock = clock
    run_id = await platform.enqueue("Clerk", "frogs", deadline=timedelta(minutes=2))
    clock.advance(121)

    await Worker(platform).run_once()

    assert (await load_record(store, run_id)).status is RunStatus.TERMINATED


@pytest.mark.parametrize("is_process", [True, False])
async def test_a_run_may_be_enqueued_with_a_budget(*, is_process: bool) -> None:
    model = ScriptedModel(ToolCall("look"), "done")
    clerk = Agent("Clerk", model=model, tools=[look])
    platform = platform_of(MemoryStore(), Manager(clerk) if is_process else clerk)

    await platform.enqueue("Manager" if is_process else "Clerk", "frogs", budget=Budget(turns=1))
    await Worker(platform).run_once()

    assert [view.status for view in await platform.runs()] == [RunStatus.TERMINATED]
