"""Budgets of runs inside others: what was used before a crash, or before a run had to wait, is used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from tactician import (
    Agent,
    Budget,
    PlannedAgent,
    Platform,
    ProcessOptions,
    Runnable,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    tool,
)
from tactician.agents.flows import simple_agent
from tactician.platform import Worker
from tactician.runs import BudgetError, RunResult, RunStatus, approve
from tactician.runs.progress.store import RunStore
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.support.stored import JsonStore, load_record

LIMITS = {
    "the budget of 3 turns is used up": Budget(turns=3),
    "the budget of 45 tokens is used up": Budget(tokens=45),
    "the budget of 5 seconds is used up": Budget(seconds=5),
}
BUDGET = pytest.mark.parametrize(("reason", "budget"), LIMITS.items(), ids=["turns", "tokens", "seconds"])


class Office:
    """Agent that looks something up with each turn, for ever; its program dies at the second time."""

    def __init__(self, budget: Budget, *, asks: bool = False) -> None:
        self.budget = budget
        self.clock = FakeClock()
        self.store = JsonStore(self.clock.time)
        self.model = ScriptedModel(*(ToolCall("look", number=number) for number in range(1, 20)))
        self.is_dying = asyncio.Event()
        self.has_died = False
        self.looker = Agent("Looker", model=self.model, tools=[tool(needs_approval=asks)(self.look)])
        self._asks = asks

    async def look(self, number: int) -> str:
        """Look something up."""
        self.clock.advance(2)
        if number == 2 and not self.has_died and not self._asks:
            self.is_dying.set()
            await asyncio.Event().wait()
        return "nothing"

    async def work(self, topic: str) -> str:
        """Work on a topic."""
        return str((await self.looker.run(topic, budget=self.budget)).output)

    def platform(self, runnable: Runnable) -> Platform:
        platform = Platform(ScriptedModel(), store=self.store).register(runnable)
        platform.services.clock = self.clock
        return platform

    async def enqueue(self, make: Callable[[Office], Runnable]) -> str:
        platform = self.platform(make(self))
        return await platform.enqueue(*platform.agents, "frogs")

    async def die(self, make: Callable[[Office], Runnable]) -> str:
        """Start a run, and let its program die in the second look; return the id of the run."""
        run_id = await self.enqueue(make)
        running = asyncio.create_task(Worker(self.platform(make(self))).run_once())
        await self.is_dying.wait()
        running.cancel()
        await asyncio.wait([running])
        self.has_died = True
        assert len(self.model.calls) == 2
        return run_id

    async def expect_used_up(self, run_id: str, reason: str) -> None:
        """Check that the run has ended because of the budget, and that all turns have counted."""
        record = await load_record(self.store, run_id)
        assert record.status in (RunStatus.TERMINATED, RunStatus.FAILED)  # the latter around a process that has ended
        assert reason in (record.header.failure or "")
        assert len(self.model.calls) == 3


def in_a_flow(office: Office) -> Runnable:
    return simple_agent(str, office.work, name="Flow")


def in_an_action(office: Office) -> Runnable:
    @planned_agent(description="lets somebody look")
    class Manager:
        @achieves_goal("looked")
        @action
        async def delegate(self, topic: UserInput) -> str:
            return await office.work(topic.content)

    return PlannedAgent(Manager())


def in_a_process_inside(office: Office) -> Runnable:
    @planned_agent(description="looks")
    class Clerk:
        @achieves_goal("looked")
        @action
        async def look(self, topic: UserInput) -> str:
            return str((await office.looker.run(topic.content)).output)

    @planned_agent(description="has a clerk")
    class Chief:
        @achieves_goal("looked")
        @action
        async def delegate(self, topic: UserInput) -> str:
            clerk = PlannedAgent(Clerk())
            return str((await clerk.run(topic.content, options=ProcessOptions(budget=office.budget))).output)

    return PlannedAgent(Chief())


def in_a_process_inside_with_a_run_of_its_own(office: Office) -> Runnable:
    @planned_agent(description="looks")
    class Clerk:
        @achieves_goal("looked")
        @action
        async def look(self, topic: UserInput) -> str:
            return str((await office.looker.run(topic.content)).output)

    async def delegate(topic: str) -> str:
        return str((await PlannedAgent(Clerk()).run(topic, budget=office.budget)).output)

    return simple_agent(str, delegate, name="Flow")


PLACES = [in_a_flow, in_an_action, in_a_process_inside, in_a_process_inside_with_a_run_of_its_own]
PLACE = pytest.mark.parametrize("make", PLACES)


@PLACE
@BUDGET
async def test_after_a_crash_what_was_used_counts(
    make: Callable[[Office], Runnable], reason: str, budget: Budget
) -> None:
    office = Office(budget)
    run_id = await office.die(make)

    assert await Worker(office.platform(make(office))).run_once()

    await office.expect_used_up(run_id, reason)


@BUDGET
async def test_an_agent_in_a_tool_has_used_it_up_too(reason: str, budget: Budget) -> None:
    office = Office(budget)
    boss = ScriptedModel(ToolCall("work", topic="frogs"), "They take too long.")

    def make(office: Office) -> Runnable:
        return Agent("Boss", model=boss, tools=[office.work])

    run_id = await office.die(make)
    await Worker(office.platform(make(office))).run_once()

    assert (await load_record(office.store, run_id)).header.output == "They take too long."
    assert reason in str(boss.calls[-1].messages[-1])
    assert len(office.model.calls) == 3


@pytest.mark.parametrize("make", [in_a_flow, in_an_action, in_a_process_inside])
@BUDGET
async def test_after_answers_what_was_used_counts(
    make: Callable[[Office], Runnable], reason: str, budget: Budget
) -> None:
    office = Office(budget, asks=True)
    run_id = await office.enqueue(make)
    await Worker(office.platform(make(office))).run_once()
    for _ in range(3):
        (request,) = (await load_record(office.store, run_id)).header.pending
        office.clock.advance(600)  # the time in which it waits does not count
        with suppress(BudgetError):
            await office.platform(make(office)).respond(run_id, request.id, approve())

    assert len(office.model.calls) == 3


@BUDGET
async def test_without_a_store_of_its_own_too(reason: str, budget: Budget) -> None:
    office = Office(budget, asks=True)
    flow = in_a_flow(office)
    platform = Platform(ScriptedModel()).register(flow)
    platform.services.clock = office.clock
    result = await flow.run("frogs", context=platform.context())
    pending = result.pending
    for _ in range(2):
        outcome = await platform.respond(result.run_id, pending[0].id, approve())
        assert isinstance(outcome, RunResult)
        assert outcome.status is RunStatus.WAITING
        pending = outcome.pending

    with pytest.raises(BudgetError, match=reason):
        await platform.respond(result.run_id, pending[0].id, approve())

    assert len(office.model.calls) == 3


async def test_the_budget_of_a_process_counts_what_an_action_used_that_had_not_ended() -> None:
    office = Office(Budget())
    make = in_an_action
    platform = office.platform(make(office))
    options = ProcessOptions(budget=Budget(turns=3))
    run_id = await platform.enqueue("Manager", "frogs", options=options)
    running = asyncio.create_task(Worker(platform).run_once())
    await office.is_dying.wait()
    running.cancel()
    await asyncio.wait([running])
    office.has_died = True

    await Worker(office.platform(make(office))).run_once()

    await office.expect_used_up(run_id, "the budget of 3 turns is used up")


async def test_what_a_run_inside_used_before_is_in_its_result_and_counts_once() -> None:
    office = Office(Budget(turns=10))
    office.model = ScriptedModel(ToolCall("look", number=1), ToolCall("look", number=2), "Nothing.")
    office.looker = Agent("Looker", model=office.model, tools=[tool(office.look)])
    seen: list[int] = []

    async def work(topic: str) -> str:
        result = await office.looker.run(topic, budget=office.budget)
        seen.append(result.usage.requests)
        return str(result.output)

    def make(_: Office) -> Runnable:
        return simple_agent(str, work, name="Flow")

    run_id = await office.die(make)
    await Worker(office.platform(make(office))).run_once()

    assert seen == [3]
    (run,) = await office.platform(make(office)).runs()
    assert (run.id, run.status, run.usage.requests) == (run_id, "completed", 3)


async def test_a_run_without_a_budget_of_its_own_keeps_nothing_of_the_kind() -> None:
    office = Office(Budget())
    await office.die(in_a_flow)
    (record,) = await RunStore(office.store).find()
    steps = await RunStore(office.store).load_steps(record.run_id)
    assert not any("@spent" in operation.keys for step in steps for operation in step.operations)
