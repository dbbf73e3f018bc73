"""Processes of a store are gone on with by one at a time, whoever holds which copy, and are ended only once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated

import pytest

from tactician import (
    Platform,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    by_name,
    planned_agent,
)
from tactician.errors import (
    AgentNotFoundError,
    ResponseError,
    RunConflictError,
    RunNotFoundError,
    StoredStateError,
)
from tactician.events import Event
from tactician.platform import Worker
from tactician.process import AgentProcess, Blackboard, ProcessStarted
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.support.stored import expect_process


@dataclass
class Ticket:
    price: int


@dataclass
class Money:
    amount: int


@dataclass
class Budget:
    amount: int


@dataclass
class Undeclared:
    number: int


@planned_agent(description="buys tickets")
class Traveller:
    def __init__(self) -> None:
        self.done: list[str] = []

    @action
    def ask_price(self, wish: UserInput) -> Ticket:
        self.done.append("ask_price")
        return Ticket(30)

    @achieves_goal("bought")
    @action
    async def buy(self, ticket: Ticket, money: Money) -> str:
        self.done.append("buy")
        await asyncio.sleep(0)
        return f"bought for {ticket.price}"


@planned_agent(description="asks for a name")
class Asker:
    @achieves_goal("asked")
    @action
    async def ask(self, wish: UserInput) -> str:
        return await ask_human(str, wish.content)


@planned_agent(description="waits until it is let go")
class Slow:
    def __init__(self) -> None:
        self.entered, self.may_go_on = asyncio.Event(), asyncio.Event()

    @achieves_goal("done")
    @action
    async def work(self, wish: UserInput) -> str:
        self.entered.set()
        await self.may_go_on.wait()
        return "done"


def platform_over(store: MemoryStore, *agents: object) -> Platform:
    return Platform(ScriptedModel(), store=store).register(*agents)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


class TestCopies:
    """What `Platform.process` gives, and what `Platform.start` gave, may both be gone on with."""

    async def test_a_loaded_one_that_is_run_is_kept(self, store: MemoryStore) -> None:
        agent = Traveller()
        process = await platform_over(store, agent).start("Traveller", "Rome")
        other = platform_over(store, agent)

        copy = await other.process(process.id)
        copy.blackboard.add(Money(40))
        await copy.run()

        assert copy.status is ProcessStatus.COMPLETED
        (record,) = await RunStore(store).find()
        assert record.status == "completed"
        with pytest.raises(RunConflictError, match="has completed"):
            await other.resume(process.id)
        assert agent.done == ["ask_price", "buy"]

    async def test_a_loaded_one_that_is_answered_is_kept(self, store: MemoryStore) -> None:
        process = await platform_over(store, Asker()).start("Asker", "Who?")
        copy = await platform_over(store, Asker()).process(process.id)

        await copy.respond(copy.pending[0].id, "Lynda")

        assert copy.result == "Lynda"
        assert [record.status for record in await RunStore(store).find()] == ["completed"]

    async def test_one_that_has_gone_on_elsewhere_is_refused_and_stays_as_it_is(self, store: MemoryStore) -> None:
        first, second = platform_over(store, Asker()), platform_over(store, Asker())
        process = await first.start("Asker", "Who?")
        request = process.pending[0].id
        await second.respond(process.id, request, "Lynda")

        with pytest.raises(RunConflictError, match="has ended, or another worker"):
            await process.respond(request, "Bob")
        assert process.status is ProcessStatus.WAITING
        assert (await first.process(process.id)).result == "Lynda"

    async def test_one_that_somebody_has_changed_is_refused(self, store: MemoryStore) -> None:
        agent = Traveller()
        process = await platform_over(store, agent).start("Traveller", "Rome")
        await platform_over(store, agent).resume(process.id)  # it is stuck again

        with pytest.raises(RunConflictError, match="was continued by another worker since it was loaded"):
            await process.run()

        assert await RunStore(store).claim("w", 30, run_id=process.id) is not None, "nobody holds it"

    async def test_of_two_at_once_exactly_one_goes_on(self, store: MemoryStore) -> None:
        agent = Traveller()
        process = await platform_over(store, agent).start("Traveller", "Rome")
        process.blackboard.add(Money(40))
        other = platform_over(store, agent)

        done = await asyncio.gather(process.run(), other.resume(process.id, Money(50)), return_exceptions=True)

        assert sorted(type(one).__name__ for one in done) == ["AgentProcess", "RunConflictError"]
        assert [record.status for record in await RunStore(store).find()] == ["completed"]
        assert agent.done == ["ask_price", "buy"]

    async def test_a_lease_is_held_while_it_runs_and_given_back(self, store: MemoryStore) -> None:
        slow = Slow()
        platform = platform_over(store, slow)
        process_id = await platform.enqueue("Slow", "x")
        copy = await platform.process(process_id)

        running = asyncio.create_task(copy.run())
        await slow.entered.wait()
        with pytest.raises(RunConflictError, match="another worker is continuing it"):
            await platform.resume(process_id)
        slow.may_go_on.set()
        await running

        assert (await platform.process(process_id)).result == "done"


class TestStuck:
    async def test_what_it_lacks_is_given_after_a_restart(self, store: MemoryStore) -> None:
        process = await platform_over(store, Traveller()).start("Traveller", "Rome")
        assert process.status is ProcessStatus.STUCK

        done = expect_process(await platform_over(store, Traveller()).resume(process.id, Money(40)))

        assert done.result == "bought for 30"
        assert (await platform_over(store, Traveller()).process(process.id)).last(Money) == Money(40)

    async def test_without_a_store(self) -> None:
        platform = Platform(ScriptedModel())
        process = await platform.start(Traveller(), "Rome")

        assert await platform.resume(process.id, Money(40)) is process
        assert process.result == "bought for 30"
        with pytest.raises(RunConflictError, match="has completed"):
            await platform.resume(process.id, Money(50))
        assert process.blackboard.all(Money) == [Money(40)]

    async def test_under_a_name(self, store: MemoryStore) -> None:
        @planned_agent(description="spends")
        class Spender:
            @achieves_goal("spent")
            @action
            def spend(self, limit: Annotated[Budget, by_name]) -> str:
                return f"spent {limit.amount}"

        platform = platform_over(store, Spender())
        process = await platform.start("Spender", Budget(1))
        assert process.status is ProcessStatus.STUCK

        assert expect_process(await platform.resume(process.id, named={"limit": Budget(2)})).result == "spent 2"

    async def test_what_cannot_be_kept_changes_nothing(self, store: MemoryStore) -> None:
        platform = platform_over(store, Traveller())
        process = await platform.start("Traveller", "Rome")

        with pytest.raises(StoredStateError, match="`Undeclared` cannot be stored: nothing that Traveller"):
            await platform.resume(process.id, Undeclared(1))
        assert process.status is ProcessStatus.STUCK
        assert process.last(Undeclared) is None

        assert expect_process(await platform.resume(process.id, Money(40))).result == "bought for 30"


class TestWhatThePlatformHolds:
    """The object that `start` gave goes on itself, as it does without a store, as long as it is as it is kept."""

    async def test_it_is_answered(self, store: MemoryStore) -> None:
        platform = platform_over(store, Asker())
        process = await platform.start("Asker", "Who?")

        assert await platform.respond(process.id, process.pending[0].id, "Lynda") is process

        assert (process.status, process.result) == (ProcessStatus.COMPLETED, "Lynda")
        assert await platform.processes() == [process]
        assert [record.status for record in await RunStore(store).find()] == ["completed"]

    async def test_it_is_resumed(self, store: MemoryStore) -> None:
        platform = platform_over(store, Traveller())
        process = await platform.start("Traveller", "Rome")

        assert await platform.resume(process.id) is process, "it is stuck again"
        assert await platform.resume(process.id, Money(40)) is process

        assert (await platform_over(store, Traveller()).process(process.id)).result == "bought for 30"

    async def test_its_lease_is_given_back_and_renewed_as_before(self, store: MemoryStore) -> None:
        platform = platform_over(store, Traveller())
        process = await platform.start("Traveller", "Rome")
        await platform.resume(process.id)

        process.blackboard.add(Money(40))
        assert (await process.run()).result == "bought for 30"

    async def test_a_wrong_answer_leaves_it_waiting(self, store: MemoryStore) -> None:
        platform = platform_over(store, Asker())
        process = await platform.start("Asker", "Who?")

        with pytest.raises(ResponseError, match="does not wait for 'nothing'"):
            await platform.respond(process.id, "nothing", "Lynda")

        assert process.status is ProcessStatus.WAITING
        assert expect_process(await platform.respond(process.id, process.pending[0].id, "Lynda")).result == "Lynda"

    async def test_one_that_has_gone_on_elsewhere_is_read_again(self, store: MemoryStore) -> None:
        first, second = platform_over(store, Traveller()), platform_over(store, Traveller())
        process = await first.start("Traveller", "Rome")
        await second.resume(process.id)  # it is stuck again

        done = expect_process(await first.resume(process.id, Money(40)))

        assert done is not process
        assert (done.result, process.status) == ("bought for 30", ProcessStatus.STUCK)


@planned_agent(description="fails")
class Failing:
    @achieves_goal("done")
    @action
    def work(self, wish: UserInput) -> str:
        raise ValueError("no")


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize(("agent", "status"), [(Failing(), "has failed"), (Asker(), "was killed")])
async def test_what_has_ended_is_not_resumed(is_kept: bool, agent: object, status: str, store: MemoryStore) -> None:
    platform = Platform(ScriptedModel(), store=store if is_kept else None)
    process = await platform.start(agent, "Who?")
    await platform.kill(process.id)

    with pytest.raises(RunConflictError) as raised:
        await platform.resume(process.id, Money(1))

    remedy = (
        f" `await platform.fork('{process.id}')`, or `tactician fork {process.id}`, begins a new run that repeats only "
        "what failed."
    )
    said = f"The run {process.id} {status}: nothing continues it."
    assert str(raised.value) == said + (remedy if is_kept and status == "has failed" else "")
    assert process.last(Money) is None


class TestNotRegistered:
    async def test_one_that_was_started_here_goes_on_here(self, store: MemoryStore) -> None:
        platform = platform_over(store)
        process = await platform.start(Asker(), "Who?")

        done = expect_process(await platform.respond(process.id, process.pending[0].id, "Lynda"))

        assert done.result == "Lynda"
        assert "Asker" not in platform.agents, "only what is registered can be found by others"

    async def test_each_process_goes_on_with_its_own_instance(self, store: MemoryStore) -> None:
        platform = platform_over(store)
        first, second = Traveller(), Traveller()
        process = await platform.start(first, "Rome")
        await platform.start(second, "Rome")

        await platform.resume(process.id, Money(40))

        assert (first.done, second.done) == (["ask_price", "buy"], [])

    async def test_a_worker_of_the_same_platform_runs_it(self, store: MemoryStore) -> None:
        platform = platform_over(store)
        process_id = await platform.enqueue(Traveller(), "Rome")

        assert await Worker(platform).run_once()

        assert (await platform.process(process_id)).status is ProcessStatus.STUCK
        with pytest.raises(AgentNotFoundError):
            await platform_over(store).process(process_id)


class TestFailures:
    """Whoever cannot go on with a process leaves it to others."""

    async def test_where_the_agent_is_not_registered(self, store: MemoryStore) -> None:
        platform = platform_over(store, Asker())
        process = await platform.start("Asker", "Who?")
        with pytest.raises(AgentNotFoundError):
            await platform_over(store).respond(process.id, process.pending[0].id, "Bob")
        with pytest.raises(AgentNotFoundError):
            await platform_over(store).resume(process.id)

        assert expect_process(await platform.respond(process.id, process.pending[0].id, "Lynda")).result == "Lynda"

    async def test_where_the_answer_is_for_nothing(self, store: MemoryStore) -> None:
        platform = platform_over(store, Asker())
        process = await platform.start("Asker", "Who?")
        with pytest.raises(ResponseError):
            await platform.respond(process.id, "something else", "Bob")

        assert expect_process(await platform.respond(process.id, process.pending[0].id, "Lynda")).result == "Lynda"


class TestUndeclared:
    @pytest.mark.parametrize("given", [Undeclared(1), (1, 2)])
    async def test_an_object_that_nobody_could_read_again_is_refused(self, store: MemoryStore, given: object) -> None:
        platform = platform_over(store, Asker())
        refusal = f"`{type(given).__name__}` cannot be stored: nothing that Asker .* Name it as a parameter"

        with pytest.raises(StoredStateError, match=refusal):
            await platform.start("Asker", "Who?", given)

        assert await RunStore(store).find() == []
        assert await platform.processes() == []

    async def test_it_is_refused_before_it_is_enqueued(self, store: MemoryStore) -> None:
        with pytest.raises(StoredStateError, match="nothing that Asker declares names the type"):
            await platform_over(store, Asker()).enqueue("Asker", "Who?", Undeclared(1))
        assert await RunStore(store).find() == []

    async def test_one_that_an_action_adds_fails_the_process(self, store: MemoryStore) -> None:
        @planned_agent(description="adds something")
        class Adder:
            @achieves_goal("added")
            @action
            def add(self, wish: UserInput, blackboard: Blackboard) -> str:
                blackboard.add(Undeclared(1))
                return "x"

        process = await platform_over(store, Adder()).start("Adder", "x")

        assert process.status is ProcessStatus.FAILED
        assert [record.status for record in await RunStore(store).find()] == ["failed"]

    async def test_a_subclass_that_was_loaded_later_is_known(self, store: MemoryStore) -> None:
        @planned_agent(description="adds something")
        class Adder:
            @achieves_goal("added")
            @action
            def add(self, ticket: Ticket, blackboard: Blackboard) -> str:
                @dataclass
                class Return(Ticket):
                    back: int

                blackboard.add(Return(30, 20))
                return "x"

        platform = platform_over(store, Adder())
        process = await platform.start("Adder", Ticket(1))

        assert process.status is ProcessStatus.COMPLETED
        found = (await platform.process(process.id)).last(Ticket)
        assert (type(found).__name__, found) == ("Return", process.last(Ticket))


class TestEnding:
    async def test_one_that_has_ended_elsewhere_stays_as_it_ended(self, store: MemoryStore) -> None:
        first, second = platform_over(store, Asker()), platform_over(store, Asker())
        process = await first.start("Asker", "Who?")
        await second.respond(process.id, process.pending[0].id, "Lynda")

        assert await first.kill(process.id, "late") is ProcessStatus.COMPLETED

        (listed,) = await first.processes()
        assert (listed.status, listed.result) == (ProcessStatus.COMPLETED, "Lynda")

    async def test_a_copy_that_has_gone_on_elsewhere_cannot_be_killed(self, store: MemoryStore) -> None:
        process = await platform_over(store, Asker()).start("Asker", "Who?")
        await platform_over(store, Asker()).respond(process.id, process.pending[0].id, "Lynda")

        with pytest.raises(RunConflictError, match=r"`await platform.kill\(id\)` ends it there"):
            await process.kill()

        assert process.status is ProcessStatus.WAITING

    async def test_killing_is_told_on_every_platform(self, store: MemoryStore) -> None:
        first, second = platform_over(store, Asker()), platform_over(store, Asker())
        process = await first.start("Asker", "Who?")

        assert await second.kill(process.id, "enough") is ProcessStatus.KILLED
        assert await second.kill(process.id, "again") is ProcessStatus.KILLED

        (listed,) = await first.processes()
        assert (listed.status, listed.failure) == (ProcessStatus.KILLED, "enough")
        with pytest.raises(ResponseError, match="was killed"):
            await first.respond(process.id, process.pending[0].id, "Lynda")

    async def test_one_that_runs_here_is_interrupted_and_kept_as_it_ended(self, store: MemoryStore) -> None:
        slow = Slow()
        platform = platform_over(store, slow)
        process = await platform.spawn("Slow", "x")
        await slow.entered.wait()

        assert await platform.kill(process.id, "enough") is ProcessStatus.KILLED

        kept = await platform_over(store, Slow()).process(process.id)
        assert (kept.status, kept.failure, kept.history[0].error) == (ProcessStatus.KILLED, "enough", "cancelled")

    async def test_without_a_store_it_is_told_too(self) -> None:
        platform = Platform(ScriptedModel())
        process = await platform.start(Asker(), "Who?")
        done = await platform.start(Traveller(), "Rome", Money(40))

        assert await platform.kill(process.id) is ProcessStatus.KILLED
        assert await platform.kill(done.id) is ProcessStatus.COMPLETED
        with pytest.raises(RunNotFoundError):
            await platform.kill("x")

    async def test_one_whose_record_is_gone_is_not_listed(self, store: MemoryStore) -> None:
        platform = platform_over(store, Asker())
        process = await platform.start("Asker", "Who?")
        await RunStore(store).delete(process.id)

        assert await platform.processes() == []


async def test_a_listener_that_breaks_ends_no_worker(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    broken: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, ProcessStarted) and event.agent == "Traveller" and len(broken) < 2:
            broken.append(event.run_id)
            raise SystemExit(3)

    platform = Platform(ScriptedModel(), store=store, on_event=listen).register(Traveller(), Asker())
    process_id = await platform.enqueue("Traveller", "Rome", Money(40))
    stop = asyncio.Event()
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(Worker(platform, poll=0.01).run(stop))
        while (await platform.process(process_id)).status is not ProcessStatus.COMPLETED:  # noqa: ASYNC110
            await asyncio.sleep(0)
        stop.set()

    assert broken == [process_id] * 2, "it is tried again"
    assert caplog.text.count(f"the run {process_id} cannot continue here") == 2


async def test_a_process_that_is_killed_before_it_has_begun_does_not_begin(store: MemoryStore) -> None:
    slow = Slow()
    platform = platform_over(store, slow)
    process = await platform.spawn("Slow", "x")

    assert await platform.kill(process.id) is ProcessStatus.KILLED
    await asyncio.sleep(0)

    assert isinstance(process, AgentProcess)
    assert not slow.entered.is_set()
