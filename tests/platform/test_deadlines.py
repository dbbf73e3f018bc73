"""Deadlines of runs, which also pass while a run waits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from tactician import (
    Agent,
    PlannedAgent,
    Platform,
    ProcessStatus,
    RunContext,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
    tool,
)
from tactician.agents.flows import simple_agent
from tactician.integrations.step_report import StepReport
from tactician.integrations.stepper import Stepper
from tactician.platform import Worker
from tactician.process import AgentProcess
from tactician.runs import BudgetError, RunStatus, approve
from tactician.runs.progress.record import RunRecord
from tactician.stores import MemoryStore
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.support.stored import expect_process, load_record

MISSED = "the deadline of the run has passed"


@dataclass
class Answer:
    text: str


@planned_agent(description="asks, and repeats what it hears")
class Asker:
    def __init__(self, deadline: timedelta | None = None) -> None:
        self._deadline = deadline
        self.done: list[str] = []

    @action
    async def ask(self, topic: UserInput) -> Answer:
        if self._deadline is None:
            return Answer(await ask_human(str, topic.content))
        return Answer(await ask_human(str, topic.content, deadline=self._deadline, default="nothing"))

    @achieves_goal("repeated")
    @action
    def repeat(self, answer: Answer) -> str:
        self.done.append("repeat")
        return f"they said {answer.text}"


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


async def ask(topic: str) -> Answer:
    return Answer(await ask_human(str, topic))


def payer() -> Agent[str]:
    return Agent("Payer", tools=[pay])


def flow() -> object:
    return simple_agent(Answer, ask)


KIND = pytest.mark.parametrize("make", [Asker, payer, flow])


class Office:
    """Platform with one agent, in a time that the test decides about."""

    def __init__(self, agent: object, *script: object) -> None:
        self.clock = FakeClock()
        self.ahead = 0.0
        self.store = MemoryStore(lambda: self.clock.time() + self.ahead)
        self.model = ScriptedModel(*(script or (ToolCall("pay", amount=3), "Paid.")))
        self.platform = Platform(self.model, store=self.store).register(agent)
        self.platform.services.clock = self.clock
        (self.name,) = self.platform.agents

    async def enqueue(self, seconds: float) -> str:
        deadline = datetime.fromtimestamp(self.clock.time() + seconds, UTC)
        return await self.platform.enqueue(self.name, "How much?", deadline=deadline)

    async def work(self) -> bool:
        return await Worker(self.platform).run_once()

    async def record(self, run_id: str) -> RunRecord:
        return await load_record(self.store, run_id)

    async def expect_missed(self, run_id: str) -> None:
        """Check that the run has ended because of its deadline."""
        record = await self.record(run_id)
        assert (record.status, record.header.failure) == (RunStatus.TERMINATED, MISSED)
        assert record.header.pending == ()
        assert await self.platform.list_waiting_runs() == []
        assert not await self.work(), "nothing claims it any more"


@KIND
async def test_a_run_that_waits_ends_when_its_deadline_passes(make: Callable[[], object]) -> None:
    office = Office(make())
    run_id = await office.enqueue(60)
    assert await office.work()
    record = await office.record(run_id)
    assert (record.status, record.wakes_at) == (RunStatus.WAITING, record.header.deadline)

    office.clock.advance(59)
    assert not await office.work()
    office.clock.advance(1)
    assert await office.work()

    await office.expect_missed(run_id)


@KIND
async def test_a_run_that_nobody_took_in_time_ends_without_a_call(make: Callable[[], object]) -> None:
    office = Office(make())
    run_id = await office.enqueue(60)
    office.clock.advance(60)

    assert await office.work()

    await office.expect_missed(run_id)
    assert office.model.calls == []


async def test_a_default_whose_deadline_is_earlier_counts_first() -> None:
    office = Office(Asker(timedelta(seconds=30)))
    run_id = await office.enqueue(60)
    await office.work()
    office.clock.advance(30)

    assert await office.work()

    assert (await office.record(run_id)).header.output == "they said nothing"


async def test_a_default_comes_too_late_when_the_run_itself_is_over() -> None:
    office = Office(agent := Asker(timedelta(seconds=90)))
    run_id = await office.enqueue(60)
    await office.work()
    office.clock.advance(90)

    assert await office.work()

    await office.expect_missed(run_id)
    assert agent.done == []


class TestAnswersAfterTheDeadline:
    async def test_a_process_ends(self) -> None:
        office = Office(agent := Asker())
        run_id = await office.enqueue(60)
        await office.work()
        (request,) = (await office.record(run_id)).header.pending
        office.clock.advance(60)

        process = expect_process(await office.platform.respond(run_id, request.id, "much"))

        assert (process.status, process.failure, process.pending) == (ProcessStatus.TERMINATED, MISSED, ())
        assert agent.done == []
        await office.expect_missed(run_id)

    async def test_any_other_run_raises_that_it_ends(self) -> None:
        office = Office(payer())
        run_id = await office.enqueue(60)
        await office.work()
        (request,) = (await office.record(run_id)).header.pending
        office.clock.advance(60)

        with pytest.raises(BudgetError, match=f"Payer: {MISSED}") as raised:
            await office.platform.respond(run_id, request.id, approve())

        assert raised.value.result.status is RunStatus.TERMINATED
        assert len(office.model.calls) == 1
        await office.expect_missed(run_id)

    @KIND
    async def test_resume_ends_it_too(self, make: Callable[[], object]) -> None:
        office = Office(make())
        run_id = await office.enqueue(60)
        await office.work()
        office.clock.advance(60)

        with suppress(BudgetError):  # of a run that is no process
            await office.platform.resume(run_id)

        await office.expect_missed(run_id)


async def test_a_process_that_no_store_has_ends_too() -> None:
    clock = FakeClock()
    context = RunContext.over(ScriptedModel(), clock=clock).with_deadline(clock.time() + 60)
    process = await PlannedAgent(Asker()).create_process("How much?", context=context).run()
    assert process.status is ProcessStatus.WAITING
    clock.advance(60)

    await process.respond(process.pending[0].id, "much")

    assert (process.status, process.failure, process.pending) == (ProcessStatus.TERMINATED, MISSED, ())


async def test_a_run_in_memory_that_is_resumed_too_late_ends() -> None:
    clock, model = FakeClock(), ScriptedModel(ToolCall("pay", amount=3), "Paid.")
    platform = Platform(model)
    platform.services.clock = clock
    agent = payer()
    result = await agent.run("pay", context=platform.context().with_deadline(clock.time() + 60))
    clock.advance(60)

    with pytest.raises(BudgetError, match=MISSED):
        await agent.resume(result.run_id, {result.pending[0].id: approve()}, context=platform.context())

    assert await platform.list_waiting_runs() == []


async def test_a_run_whose_deadline_passes_before_it_has_to_wait_ends_at_once() -> None:
    @tool
    def take_long() -> str:
        """Take a long time."""
        office.clock.advance(60)
        return "done"

    calls = ToolCall("pay", amount=3), ToolCall("take_long")
    office = Office(Agent("Payer", tools=[pay, take_long]), calls)
    run_id = await office.enqueue(60)

    assert await office.work()

    await office.expect_missed(run_id)


@KIND
async def test_a_fork_that_waits_ends_when_its_deadline_passes(make: Callable[[], object]) -> None:
    office = Office(make())
    source = await office.enqueue(60)
    await office.work()
    office.clock.advance(20)
    fork = await office.platform.fork(source)
    fork_id = fork.id if isinstance(fork, AgentProcess) else fork.run_id
    deadline = (await office.record(fork_id)).wakes_at
    assert deadline == pytest.approx(office.clock.time() + 60), "as long as the other run had at that step"
    await office.platform.kill(source)
    office.clock.advance(60)

    assert await office.work()

    await office.expect_missed(fork_id)


@KIND
async def test_whoever_makes_steps_is_woken_at_the_deadline(make: Callable[[], object]) -> None:
    office = Office(make())
    run_id = await office.enqueue(60)
    stepper, now = Stepper(office.platform), office.clock.time()
    while not (standing := await stepper.step(run_id, now)).pending:
        pass
    assert standing.wakes_at == now + 60

    # Only the time of the engine has moved on.
    assert await stepper.step(run_id, now + 60) == StepReport("terminated", has_ended=True)

    await office.expect_missed(run_id)


async def test_the_earlier_deadline_of_a_question_wakes_first() -> None:
    office = Office(Asker(timedelta(seconds=30)))
    run_id = await office.enqueue(60)
    stepper, now = Stepper(office.platform), office.clock.time()
    assert (await stepper.step(run_id, now)).wakes_at == now + 30


async def test_a_worker_whose_clock_is_behind_that_of_the_store_does_not_claim_a_run_again_and_again() -> None:
    office = Office(Asker())
    run_id = await office.enqueue(60)
    await office.work()
    worker = Worker(office.platform)
    office.ahead = 60

    assert await worker.run_once()
    assert not await worker.run_once()

    assert (await office.record(run_id)).status is RunStatus.WAITING
