"""Plans that get better while their first action runs."""

from __future__ import annotations

import asyncio

import pytest

from tactician import Platform, ProcessOptions, ProcessStatus
from tactician.errors import PermanentError
from tactician.events import Event
from tactician.planning import AStarPlanner, Plan, PlanningBudget, WorldState
from tactician.planning.consultation import Consultation
from tactician.process import AgentProcess, PlanMade
from tactician.testing import ScriptedModel
from tests.process.hard_agents import build_gatherer

QUICK = PlanningBudget(time=None, expansions=150)


async def act_at_once() -> None:
    return


async def act_slowly() -> None:
    """Give the event loop so many iterations that planning has time for all that it may do."""
    for _ in range(2000):
        await asyncio.sleep(0)


async def run(agent: object, planning: PlanningBudget = QUICK) -> tuple[AgentProcess, list[Plan]]:
    """Run the agent, and return its process and the plans that were not simply the rest of the last one."""
    plans = list[Plan]()

    def note(event: Event) -> None:
        if isinstance(event, PlanMade):
            plans.append(event.plan)

    options = ProcessOptions(planning=planning, on_event=note)
    return await Platform(ScriptedModel()).start(agent, "x", options=options), plans


def add_costs(process: AgentProcess) -> float:
    return sum(process.agent.action(run.action).plan.cost_in(WorldState()) for run in process.history)


async def test_what_is_found_while_an_action_runs_makes_the_way_cheaper() -> None:
    hasty, plans = await run(build_gatherer(130, 32, act=act_at_once))
    patient, same = await run(build_gatherer(130, 32, act=act_slowly))

    assert hasty.status is patient.status is ProcessStatus.COMPLETED
    assert plans[0] == same[0]
    assert not plans[0].optimal
    assert add_costs(patient) < add_costs(hasty) - 0.1


async def test_a_plan_that_was_found_meanwhile_is_followed() -> None:
    _, (first, second, *_) = await run(build_gatherer(130, 32, act=act_slowly))

    rest = first.cost - first.costs[0]
    assert second.cost < rest
    assert not second.optimal


async def test_an_action_that_fails_leaves_no_search_behind() -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise PermanentError("broken")

    process, _ = await run(build_gatherer(130, 32, act=fail))

    assert process.status is ProcessStatus.FAILED
    assert "broken" in str(process.failure)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_process_that_is_cancelled_while_its_plan_is_improved_leaves_no_search_behind() -> None:
    begun = asyncio.Event()

    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(run(build_gatherer(130, 32, act=wait)))
    await begun.wait()
    await asyncio.sleep(0)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_an_optimal_plan_is_followed_without_another_search(monkeypatch: pytest.MonkeyPatch) -> None:
    consultations = list[Consultation]()
    consult = AStarPlanner.consult

    def count(*args: object, **options: object) -> Consultation:
        consultations.append(consult(*args, **options))  # type: ignore[arg-type]
        return consultations[-1]

    monkeypatch.setattr(AStarPlanner, "consult", count)
    process, (plan,) = await run(build_gatherer(60, 20, act=act_at_once), PlanningBudget(time=None))

    assert plan.optimal
    assert len(process.history) > 1
    assert len(consultations) == 1


async def test_a_search_that_fails_takes_nothing_from_the_action(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = list[Consultation]()
    consult = AStarPlanner.consult

    def fail_once(*args: object, **options: object) -> Consultation:
        if len(calls) == 1:
            calls.append(calls[0])
            raise RuntimeError("broken")
        calls.append(consult(*args, **options))  # type: ignore[arg-type]
        return calls[-1]

    monkeypatch.setattr(AStarPlanner, "consult", fail_once)
    process, _ = await run(build_gatherer(130, 32, act=act_slowly))

    assert process.status is ProcessStatus.COMPLETED
    assert all(entry.error is None for entry in process.history)
