"""Nodes and brokers that are killed at random: each request is answered, and no completed step is repeated."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from tactician.errors import RequestTimeoutError, TransientError
from tactician.mesh import Mesh
from tests.mesh.crash_program import DESK, NODES, STEPS
from tests.stores.postgres import Server
from tests.support.brokers import Broker
from tests.support.effort import KILLS, SEED
from tests.support.nursery import Nursery

PER_BROKER_KILL = 10
"""Kills of nodes for each kill of the broker."""
MOST_WAITING = 40


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    started = Nursery("tests.mesh.crash_program")
    try:
        yield started
    finally:
        started.close()


@pytest.fixture(params=["sqlite", "postgresql", "nats", "redis", "kafka"])
def broker(request: pytest.FixtureRequest) -> Broker | Server | None:
    """The broker of each transport in turn, which can be killed and started again."""
    if request.param == "sqlite":
        return None
    name = "postgres_server" if request.param == "postgresql" else f"{request.param}_broker"
    broker: Broker | Server = request.getfixturevalue(name)
    return broker


class Hotel:
    """Four nodes of two instances each, which a test kills."""

    def __init__(self, nursery: Nursery, url: str, realm: str, folder: Path) -> None:
        self._nursery = nursery
        self._arguments = (url, realm, str(folder))
        self._instances = [(node, self._start(node)) for node in NODES for _ in range(2)]

    def _start(self, node: str) -> str:
        return self._nursery.start(node, *self._arguments)

    def kill(self, random: Random) -> None:
        """Kill an instance, and start another."""
        node, name = self._instances.pop(random.randrange(len(self._instances)))
        self._nursery.command("kill", name)
        self._instances.append((node, self._start(node)))

    def close(self) -> None:
        for _, name in self._instances:
            self._nursery.command("kill", name)


async def ask(mesh: Mesh, node: str, order: str) -> str:
    """Ask a node under the same id until it answers, as a caller does whose broker restarts."""
    while True:
        with suppress(TransientError, RequestTimeoutError):
            ticket = await mesh.submit("prepare", order, on=node, request_id=f"{mesh.realm}-{order}", accept_within=30)
            return str(await ticket.result(timeout=60))


def expect(node: str, order: str) -> str:
    orders = [f"{order}-kitchen", f"{order}-bar"] if node == DESK else [order]
    return "|".join(f"{order}+{step}" for order in orders for step in STEPS)


@pytest.mark.soak
async def test_35_requests_of_nodes_and_brokers_that_are_killed_are_answered_once(
    broker: Broker | Server | None, realm: str, tmp_path: Path, nursery: Nursery
) -> None:
    random, asked = Random(SEED), dict[tuple[str, str], asyncio.Task[str]]()
    (tmp_path / "effects").touch()
    url = f"sqlite:///{tmp_path}/mesh.db" if broker is None else broker.url
    hotel = Hotel(nursery, url, realm, tmp_path)
    broker_kills = set(range(1, KILLS, PER_BROKER_KILL))
    async with Mesh(url, realm=realm, name="guest") as mesh, asyncio.timeout(60 + 30 * KILLS):
        for kill in range(KILLS):
            for node in NODES:
                asked[node, f"{node}{kill}"] = asyncio.create_task(ask(mesh, node, f"{node}{kill}"))
            await asyncio.sleep(random.uniform(0.0, 1.0))
            hotel.kill(random)
            if broker is not None and kill in broker_kills:
                await asyncio.to_thread(restart, broker)
            while len([task for task in asked.values() if not task.done()]) > MOST_WAITING:
                await asyncio.wait([task for task in asked.values() if not task.done()], return_when="FIRST_COMPLETED")
        answers = await asyncio.gather(*asked.values())
    hotel.close()

    assert answers == [expect(node, order) for node, order in asked]
    check_effects((tmp_path / "effects").read_text().splitlines(), answers)


def restart(broker: Broker | Server) -> None:
    broker.kill()
    broker.start()


def check_effects(lines: list[str], answers: list[str]) -> None:
    """Check that each step was done, and none again once the next had begun."""
    expected = {part.replace("+", " ") for answer in answers for part in answer.split("|")}
    done = Counter(lines)
    assert {*done} == expected
    latest: dict[str, int] = {}
    for line in lines:
        order, step = line.split()
        assert STEPS.index(step) >= latest.get(order, 0), f"{line} was repeated after it was complete"
        latest[order] = STEPS.index(step)
    print(f"{len(answers)} requests, {KILLS} kills, {len(expected)} steps, {len(lines) - len(expected)} repeated")
    assert len(lines) - len(expected) <= 3 * 2 * KILLS, "only what was in flight"
