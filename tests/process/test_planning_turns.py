"""Hard decisions beside all else that an event loop does."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from random import Random
from time import process_time

import pytest

from tactician.planning import Action, AStarPlanner, Consultation, Goal, PlanningBudget, SearchLimitExceeded, WorldState
from tactician.process.deliberation import PlanningTurns

LATE = 0.1  # seconds: the goal is 0.05, and a busy machine takes twice as long for the same
AGENTS = 100


def hard_problem() -> tuple[WorldState, list[Action], list[Goal]]:
    """A cover: sources of different price that give several of the wanted facts each."""
    draw, wanted = Random(7), [f"fact {n}" for n in range(32)]
    actions = [
        Action(f"source {n}", {}, dict.fromkeys(draw.sample(wanted, draw.randint(2, 5)), True), draw.randint(10, 30))
        for n in range(130)
    ]
    return WorldState(), actions, [Goal("all", dict.fromkeys(wanted, True))]


def consult(budget: PlanningBudget) -> Consultation:
    return AStarPlanner().consult(*hard_problem(), budget=budget, asks=False)


async def measure_lateness(ticks: list[float], done: asyncio.Event) -> None:
    """Tick, and note how long this program has worked between the ticks: other programs are not its fault."""
    while not done.is_set():
        before = process_time()
        await asyncio.sleep(0.001)
        ticks.append(process_time() - before)


async def answer_pings(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    await writer.drain()
    writer.close()
    await writer.wait_closed()


async def ping(port: int, times: list[float], done: asyncio.Event) -> None:
    while not done.is_set():
        before = process_time()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        assert (await reader.read()).endswith(b"ok")
        writer.close()
        await writer.wait_closed()
        times.append(process_time() - before)


@pytest.fixture
def no_old_garbage() -> Iterator[None]:
    """Leave out the pauses of the garbage collector, which depend on what all other tests have left behind."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_old_garbage")
async def test_a_hundred_hard_decisions_do_not_hold_the_event_loop() -> None:
    ticks, pings, done = list[float](), list[float](), asyncio.Event()
    budget = PlanningBudget(time=None, expansions=90)

    async def decide() -> Consultation:
        turns = PlanningTurns.current()
        consultation = await turns.run(lambda: consult(budget))
        assert await turns.advance(consultation) is None
        return consultation

    server = await asyncio.start_server(answer_pings, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        others = asyncio.gather(measure_lateness(ticks, done), ping(port, pings, done))
        consultations = await asyncio.gather(*(decide() for _ in range(AGENTS)))
        done.set()
        await others

    assert all(one.is_done and one.plan is not None for one in consultations)
    assert len(ticks) > AGENTS
    assert max(ticks) < LATE
    assert len(pings) > AGENTS / 4


async def test_a_cancelled_decision_ends_at_once_and_leaves_the_turn_to_others() -> None:
    turns = PlanningTurns.current()
    hard = asyncio.create_task(turns.advance(consult(PlanningBudget(time=None, expansions=None, memory=None))))
    other = asyncio.create_task(turns.advance(consult(PlanningBudget(time=None, expansions=90))))
    await asyncio.sleep(0.01)

    hard.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hard
    await other
    small = consult(PlanningBudget(time=None, expansions=90))
    await turns.advance(small)
    assert small.plan is not None


async def test_small_decisions_do_not_wait() -> None:
    turns, planner = PlanningTurns.current(), AStarPlanner()
    actions = [Action(f"step {n}", {f"fact {n}": True}, {f"fact {n + 1}": True}) for n in range(5)]

    async def decide() -> None:
        await turns.advance(planner.consult(WorldState({"fact 0": True}), actions, [Goal("end", {"fact 5": True})]))

    task = asyncio.create_task(decide())
    await asyncio.sleep(0)

    assert task.done()


async def test_a_search_that_is_finished_early_has_the_best_plan_by_then() -> None:
    turns = PlanningTurns.current()
    consultation = consult(PlanningBudget(time=None, expansions=None, memory=None))
    for _ in range(200):
        consultation.advance(0.001)
        await turns.run(lambda: None)
    assert not consultation.is_done

    consultation.finish()

    assert consultation.plan is not None
    assert not consultation.plan.optimal
    assert consultation.plan.bound < consultation.plan.cost


def test_a_search_that_is_finished_before_it_has_a_plan_says_so() -> None:
    consultation = consult(PlanningBudget(time=None))
    with pytest.raises(SearchLimitExceeded, match="time"):
        consultation.finish()
