"""Instances of a node that are killed at random: each request is answered, and no completed step is repeated."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tactician.mesh import Mesh
from tests.mesh.crash_program import STEPS
from tests.support.effort import KILLS, SEED
from tests.support.nursery import Nursery

REQUESTS = 8


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    started = Nursery("tests.mesh.crash_program")
    try:
        yield started
    finally:
        started.close()


@pytest.mark.soak
async def test_35_requests_of_instances_that_are_killed_are_answered_once(
    url: str, realm: str, tmp_path: Path, nursery: Nursery
) -> None:
    if url.startswith("memory:"):
        pytest.skip("nodes in memory are in one program")
    effects, random = tmp_path / "effects", Random(SEED)
    effects.touch()
    arguments = (url, realm, str(tmp_path / "kitchen.db"), str(effects))
    instances = [nursery.start(*arguments) for _ in range(2)]
    kills = 0
    async with Mesh(url, realm=realm, name="waiter") as mesh:
        for start in range(0, max(KILLS // 2, 1) * REQUESTS, REQUESTS):
            orders = [f"order-{number}" for number in range(start, start + REQUESTS)]
            submitting = asyncio.gather(
                *(
                    mesh.submit("prepare", order, on="kitchen", request_id=f"{realm}-{order}", accept_within=60)
                    for order in orders
                )
            )
            await asyncio.sleep(random.uniform(0.0, 0.2))
            nursery.command("kill", instances.pop(0))
            kills += 1
            instances.append(nursery.start(*arguments))
            tickets = await submitting
            outputs = await asyncio.gather(*(ticket.result(timeout=60) for ticket in tickets))
            assert outputs == ["|".join(f"{order}+{step}" for step in STEPS) for order in orders]
    for instance in instances:
        nursery.command("kill", instance)

    lines = Counter(effects.read_text().splitlines())
    assert {*lines} == {f"order-{number} {step}" for number in range(kills * REQUESTS) for step in STEPS}
    assert max(lines.values()) <= 2, "only a step in flight is repeated"
    assert lines.total() - len(lines) <= 3 * kills, "no more steps than were in flight"
