"""A planned agent that uses an MCP tool, a skill and a remote agent that asks back, in processes that are killed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tactician.runs import RunStatus
from tests.standards.town import Town
from tests.support.effort import KILLS, SEED
from tests.support.nursery import Nursery


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery("tests.standards.program")
    yield nursery
    nursery.close()


@pytest.fixture
async def town(nursery: Nursery, tmp_path: Path) -> AsyncIterator[Town]:
    town = Town(nursery, tmp_path)
    yield town
    await town.aclose()


async def test_it_ends_right_though_it_is_killed_at_every_point(town: Town) -> None:
    for step in ("find price", "grant", "offer", "pay", "tax answer 2"):
        town.ledger.hold("A1", step)
    town.hold_script()
    run_id = await town.enqueue("A1 tea")
    town.start("shop")
    town.start("worker")

    await town.wait_for_begin("A1", "find price")  # in the MCP server
    town.kill("worker")
    await town.wait_until_servers_ended()
    town.start("worker")
    await town.wait_for_begin("A1", "tax answer 2")  # the model has the skill
    town.restart("worker")
    await town.wait_for_question(run_id, "office_run_script")
    town.restart("worker")
    await town.answer(run_id)
    await town.wait_for_script()
    town.kill("worker")  # in the script
    town.release_script()
    town.start("worker")
    await town.wait_for_question(run_id, "Which discount for A1?")
    town.restart("worker", "shop")  # the remote agent waits too
    await town.answer(run_id)
    await town.wait_for_begin("A1", "grant")  # in the remote agent
    town.restart("worker", "shop")
    await town.wait_for_begin("A1", "offer")
    town.restart("worker", "shop")
    await town.wait_for_begin("A1", "pay")
    town.restart("worker")

    record = await town.wait_for_status(run_id, RunStatus.COMPLETED, RunStatus.FAILED)
    assert "A1 for 321 cents" in record.header.output, record.header.failure
    held = {"find price": 2, "tax answer 2": 2, "grant": 2, "offer": 2, "pay": 2}
    others = {"price answer 1": 1, "price answer 2": 1, "tax answer 1": 1, "tax answer 3": 1}
    assert town.count("A1", "begin") == {**held, **others}
    assert set(town.count("A1", "end").values()) == {1}
    assert town.count_scripts() == 2


@pytest.mark.soak
async def test_it_ends_right_whenever_it_is_killed(town: Town) -> None:
    chance = random.Random(SEED)
    run_ids: list[str] = []
    person = asyncio.create_task(town.answer_all(run_ids))
    town.start("shop")
    town.start("worker")
    for number in range(KILLS):
        run_ids.append(await town.enqueue(f"B{number} tea"))
        await asyncio.sleep(chance.uniform(0, 1.5))
        town.restart(*chance.choice([("worker",), ("shop",), ("worker", "shop")]))
    for number, run_id in enumerate(run_ids):
        record = await town.wait_for_status(run_id, RunStatus.COMPLETED, RunStatus.FAILED)
        assert f"B{number} for 321 cents" in record.header.output, record.header.failure
        assert town.find_problems(f"B{number}") == []
    person.cancel()


async def test_a_script_runs_no_finished_tool_again(town: Town) -> None:
    steps = ("first", "201", "300")
    for step in steps:
        town.ledger.hold("script", step)
    run_id = await town.enqueue("go", "Coder")
    town.start("worker")
    for step in steps:
        await town.wait_for_begin("script", step)
        if step == "201":
            await town.wait_for_saved(run_id, "count", 3)
        town.restart("worker")
    record = await town.wait_for_status(run_id, RunStatus.COMPLETED, RunStatus.FAILED)
    assert record.header.output == "5", record.header.failure
    assert town.count("script", "begin") == {"first": 2, "200": 1, "201": 2, "202": 1, "300": 2}
    assert set(town.count("script", "end").values()) == {1}
    keys = {entry.step: entry.key for entry in town.ledger.read()}
    assert len(set(keys.values())) == len(keys)
