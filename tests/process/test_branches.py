"""Branches of a plan that run side by side: none waits for the other, whatever happens in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from tactician import (
    Budget,
    PlannedAgent,
    Platform,
    ProcessOptions,
    ProcessStatus,
    RunContext,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    condition,
    planned_agent,
)
from tactician.errors import Replan
from tactician.events import Event
from tactician.process import ActionCompleted, ActionStarted, AgentProcess, PlanMade
from tactician.runs import PendingRequest
from tactician.runs.outcomes.suspension import Suspended
from tactician.stores import MemoryStore
from tactician.testing import FakeClock, ScriptedModel
from tests.agents.running import started, steps
from tests.support.failures import without_lines
from tests.support.stored import expect_process
from tests.support.waiting import eventually

TWO = ProcessOptions(max_parallel=2)


@dataclass
class Other:
    text: str = "other"


@dataclass
class One:
    pass


@dataclass
class Two:
    pass


@dataclass
class Done:
    text: str


async def nothing() -> None:
    """Do nothing."""


Work = Callable[[], Awaitable[object]]


@planned_agent(description="does one thing beside a chain of two")
class Branches:
    def __init__(self, other: Work = nothing, one: Work = nothing, two: Work = nothing) -> None:
        self._other, self._one, self._two = other, one, two

    @action
    async def other(self, topic: UserInput) -> Other | None:
        return None if await self._other() == "nothing" else Other()

    @action
    async def one(self, topic: UserInput) -> One | None:
        return None if await self._one() == "nothing" else One()

    @action
    async def two(self, one: One) -> Two | None:
        return None if await self._two() == "nothing" else Two()

    @achieves_goal("done")
    @action
    def finish(self, other: Other, two: Two) -> Done:
        return Done(other.text)


def raises(error: Exception, *, once: bool = True) -> Work:
    raised: list[Exception] = []

    async def work() -> None:
        if not (once and raised):
            raised.append(error)
            raise error

    return work


class TestNoBranchWaitsForTheOther:
    async def test_the_next_step_of_a_chain_starts_while_another_action_runs(self) -> None:
        two_has_begun = asyncio.Event()

        async def begin_two() -> None:
            two_has_begun.set()

        async with asyncio.timeout(30):
            process = await started(Branches(two_has_begun.wait, two=begin_two), "go", options=TWO)
        assert steps(process) == ["one", "two", "other", "finish"]
        assert list(map(type, process.blackboard.objects)) == [UserInput, Other, One, Two, Done]

    async def test_a_chain_of_two_beside_a_slow_action_takes_as_long_as_the_slow_one(self) -> None:
        clock = HeldClock()

        def takes(seconds: float) -> Work:
            return lambda: clock.sleep(seconds)

        agent, context = PlannedAgent(Branches(takes(0.4), takes(0.2), takes(0.2))), RunContext.over(ScriptedModel())
        process = agent.create_process("go", context=context, options=TWO)
        running = asyncio.create_task(process.run())
        while not running.done():
            await let_others_run()
            clock.advance_to_next()
        assert process.status is ProcessStatus.COMPLETED
        assert clock.monotonic() == pytest.approx(0.4)

    async def test_the_plan_is_made_once(self) -> None:
        events: list[Event] = []
        await started(Branches(), "go", options=ProcessOptions(max_parallel=2, on_event=events.append))
        assert len([event for event in events if isinstance(event, PlanMade)]) == 1

    async def test_with_a_delay_between_actions_nothing_starts_beside_others(self) -> None:
        clock, events = FakeClock(), list[Event]()
        options = ProcessOptions(max_parallel=2, delay=3, on_event=events.append)
        agent = PlannedAgent(Branches(lambda: clock.sleep(1), two=lambda: clock.sleep(1)))
        await agent.run("go", context=RunContext.over(ScriptedModel(), clock=clock), options=options)
        seen = [(type(event), event.action) for event in events if isinstance(event, ActionStarted | ActionCompleted)]
        assert {action for _, action in seen[:4]} == {"other", "one"}
        assert clock.slept.count(3) == 3, "after the two, after `two` and after `finish`"

    async def test_a_step_starts_what_can_start_now_and_no_more(self) -> None:
        process = PlannedAgent(Branches()).create_process("go", context=RunContext.over(ScriptedModel()), options=TWO)
        seen = []
        for _ in range(4):
            await process.tick()
            seen.append(sorted(steps(process)))
        assert seen[:3] == [["one", "other"], ["one", "other", "two"], ["finish", "one", "other", "two"]]
        assert process.status is ProcessStatus.COMPLETED


class HeldClock(FakeClock):
    """A clock that moves on when the test says so: several may sleep at once."""

    def __init__(self) -> None:
        super().__init__(start=0.0)
        self._due: list[float] = []

    async def sleep(self, seconds: float) -> None:
        waking = asyncio.get_running_loop().create_future()
        self._due.append(self.monotonic() + seconds)
        self.call_later(seconds, lambda: waking.set_result(None))
        await waking

    def advance_to_next(self) -> None:
        """Move the time on to when the next one wakes."""
        now = self.monotonic()
        self.advance(min((due for due in self._due if due > now), default=now) - now)


async def let_others_run() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


class TestSaving:
    async def test_each_action_is_saved_as_it_ends_and_only_the_other_runs_again(self) -> None:
        store, ran = MemoryStore(), list[str]()

        def noted(name: str, work: Work = nothing) -> Work:
            async def run() -> None:
                ran.append(name)
                await work()

            return run

        first = Branches(noted("other", asyncio.Event().wait), noted("one"), noted("two"))
        platform = Platform(ScriptedModel(), store=store).register(first)
        process = await platform.process(await platform.enqueue("Branches", "go", options=TWO))
        running = asyncio.create_task(process.run())
        reader = Platform(ScriptedModel(), store=store).register(Branches())

        async def are_saved() -> bool:
            return steps(await reader.process(process.id)) == ["one", "two"]

        await eventually(are_saved)
        assert ran == ["other", "one", "two"]

        running.cancel()  # as when the machine dies: the store has what was saved before
        await asyncio.gather(running, return_exceptions=True)
        second = Branches(noted("other"), noted("one"), noted("two"))
        done = await Platform(ScriptedModel(), store=store).register(second).resume(process.id)
        assert done.status is ProcessStatus.COMPLETED
        assert ran == ["other", "one", "two", "other"]

    async def test_an_action_is_saved_also_while_a_condition_takes_its_time(self) -> None:
        asked, may_tell, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

        @planned_agent(description="asks a slow condition")
        class Careful(Branches):
            @condition
            async def ready(self, one: One) -> bool:
                asked.set()
                await may_tell.wait()
                return True

            @action(pre=["ready"])
            async def two(self, one: One) -> Two | None:
                return Two()

        agent = PlannedAgent(Careful(may_end.wait))
        process = agent.create_process("go", context=RunContext.over(ScriptedModel()), options=TWO)
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            group.create_task(process.run())
            await asked.wait()
            may_end.set()
            await eventually(lambda: sorted(steps(process)) == ["one", "other"])
            may_tell.set()
        assert process.status is ProcessStatus.COMPLETED


async def ask() -> None:
    await ask_human(str, "Well?")


def platform_over(store: MemoryStore, agent: object) -> Platform:
    return Platform(ScriptedModel(), store=store).register(agent)


class TestAPersonIsAsked:
    async def test_the_other_branch_goes_on_to_its_end(self) -> None:
        store = MemoryStore()
        process = await platform_over(store, Branches(ask)).start("Branches", "go", options=TWO)
        assert process.status is ProcessStatus.WAITING
        assert steps(process) == ["one", "two"]

        done = expect_process(
            await platform_over(store, Branches(ask)).respond(process.id, process.pending[0].id, "yes")
        )
        assert done.status is ProcessStatus.COMPLETED
        assert steps(done) == ["one", "two", "other", "finish"]
        assert list(map(type, done.blackboard.objects)) == [UserInput, Other, One, Two, Done]

    async def test_one_action_at_a_time_waits(self) -> None:
        process = await started(Branches(ask), "go")
        assert (process.status, steps(process)) == (ProcessStatus.WAITING, [])

    async def test_what_depends_on_the_answer_does_not_go_on(self) -> None:
        process = await started(Branches(one=ask), "go", options=TWO)
        assert (process.status, steps(process)) == (ProcessStatus.WAITING, ["other"])

    async def test_step_by_step(self) -> None:
        process = PlannedAgent(Branches(ask)).create_process(
            "go", context=RunContext.over(ScriptedModel()), options=TWO
        )
        await process.tick()
        assert (process.status, steps(process)) == (ProcessStatus.RUNNING, ["one"])
        assert process.pending
        await process.tick()
        assert (process.status, steps(process)) == (ProcessStatus.WAITING, ["one", "two"])
        await process.tick()
        assert (process.status, steps(process)) == (ProcessStatus.WAITING, ["one", "two"])

    async def test_nothing_is_planned_around_the_person(self) -> None:
        @planned_agent(description="could do without the person, for a price")
        class Dear(Branches):
            @action(cost=0.9)
            def guess(self, topic: UserInput) -> Other:
                raise AssertionError("the person is asked already")

        process = await started(Dear(ask), "go", options=TWO)
        assert (process.status, steps(process)) == (ProcessStatus.WAITING, ["one", "two"])

    async def test_after_a_crash_the_other_branch_goes_on_and_the_person_is_not_asked_again(self) -> None:
        store, asked, has_begun = MemoryStore(), list[str](), asyncio.Event()

        async def ask_noted() -> None:
            asked.append("Well?")
            await ask_human(str, "Well?")

        async def hang() -> None:
            has_begun.set()
            await asyncio.Event().wait()

        platform = platform_over(store, Branches(ask_noted, two=hang))
        process = await platform.process(await platform.enqueue("Branches", "go", options=TWO))
        running = asyncio.create_task(process.run())
        await has_begun.wait()
        await eventually(lambda: bool(process.pending))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

        left = expect_process(await platform_over(store, Branches(ask_noted)).resume(process.id))
        assert (left.status, steps(left)) == (ProcessStatus.WAITING, ["one", "two"])
        assert asked == ["Well?"]

    async def test_an_answer_that_comes_meanwhile_is_taken_up(self) -> None:
        two_may_end, answered = asyncio.Event(), list[str]()

        async def ask_and_note() -> None:
            answered.append(await ask_human(str, "Well?"))
            two_may_end.set()

        async def slow() -> None:
            await eventually(lambda: bool(process.pending))
            process.answer(process.pending[0].id, "yes")

        agent = PlannedAgent(Branches(ask_and_note, slow, two_may_end.wait))
        process = agent.create_process("go", context=RunContext.over(ScriptedModel()), options=TWO)
        async with asyncio.timeout(30):
            await process.run()
        assert process.status is ProcessStatus.COMPLETED
        assert answered == ["yes"]

    @pytest.mark.parametrize("most", [1, 2])
    async def test_an_answer_that_is_of_no_use_does_not_make_it_ask_for_ever(self, most: int) -> None:
        async def never_hear() -> None:
            raise Suspended(PendingRequest("1", "form", "Well?"))

        process = await started(Branches(never_hear), "go", options=ProcessOptions(max_parallel=most))
        for _ in range(2):
            async with asyncio.timeout(30):
                await process.respond("1", "yes")
            assert process.status is ProcessStatus.WAITING

    async def test_both_branches_may_ask(self) -> None:
        process = await started(Branches(ask, two=ask), "go", options=TWO)
        assert (process.status, steps(process)) == (ProcessStatus.WAITING, ["one"])
        assert len(process.pending) == 2
        await process.respond(process.pending[1].id, "yes")
        assert (process.status, steps(process)) == (ProcessStatus.WAITING, ["one", "two"])
        await process.respond(process.pending[0].id, "yes")
        assert process.status is ProcessStatus.COMPLETED


class TestTheOtherBranchAsksToPlanAgain:
    @pytest.mark.parametrize("others_end", ["before", "after"])
    async def test_the_others_end_and_it_is_tried_again_where_there_is_no_other_way(self, others_end: str) -> None:
        has_asked, has_ended = asyncio.Event(), asyncio.Event()
        asks = 0

        async def other() -> None:
            nonlocal asks
            asks += 1
            if asks == 1:
                if others_end == "before":
                    await has_ended.wait()
                has_asked.set()
                raise Replan("not yet")

        async def one() -> None:
            if others_end == "after":
                await has_asked.wait()
                await let_others_run()
            has_ended.set()

        async with asyncio.timeout(30):
            process = await started(Branches(other, one), "go", options=TWO)
        assert process.status is ProcessStatus.COMPLETED, process.failure
        assert steps(process).count("one") == 1

    @pytest.mark.parametrize("most", [1, 2])
    async def test_another_way_is_taken_where_there_is_one(self, most: int) -> None:
        @planned_agent(description="has another way, for a price")
        class Dear(Branches):
            @action(cost=0.9)
            def guess(self, topic: UserInput) -> Other:
                return Other("guessed")

        agent = Dear(raises(Replan("not today"), once=False))
        process = await started(agent, "go", options=ProcessOptions(max_parallel=most))
        assert process.result == Done("guessed")

    async def test_one_that_always_asks_is_stuck_as_if_it_were_alone(self) -> None:
        failures = []
        for most in (1, 2):
            agent = Branches(raises(Replan("never"), once=False))
            process = await started(agent, "go", options=ProcessOptions(max_parallel=most))
            assert process.status is ProcessStatus.STUCK
            failures.append(str(process.failure).partition(" On the blackboard")[0])
        assert failures[0] == failures[1]

    async def test_one_that_gives_nothing_lets_the_others_end(self) -> None:
        async def give_nothing() -> str:
            return "nothing"

        process = await started(Branches(give_nothing, let_others_run), "go", options=TWO)
        assert (process.status, steps(process)) == (ProcessStatus.STUCK, ["other", "one"])


class TestEnds:
    async def test_when_one_fails_the_others_end_and_nothing_more_starts(self) -> None:
        store = MemoryStore()
        agent = Branches(raises(ValueError("no")), let_others_run)
        process = await platform_over(store, agent).start("Branches", "go", options=TWO)
        assert without_lines(process.failure) == "other raised ValueError: no"
        assert steps(process) == ["other", "one"]
        assert process.last(One) == One()
        assert steps(await platform_over(store, Branches()).process(process.id)) == ["other", "one"]

    async def test_a_pause_lets_the_others_end_and_starts_nothing(self) -> None:
        async def pause() -> None:
            process.pause()

        agent = PlannedAgent(Branches(let_others_run, pause))
        process = agent.create_process("go", context=RunContext.over(ScriptedModel()), options=TWO)
        await process.run()
        assert (process.status, sorted(steps(process))) == (ProcessStatus.PAUSED, ["one", "other"])
        await process.run()
        assert process.status is ProcessStatus.COMPLETED

    async def test_a_kill_interrupts_all(self) -> None:
        has_begun = asyncio.Event()

        async def hang() -> None:
            has_begun.set()
            await asyncio.Event().wait()

        agent = PlannedAgent(Branches(asyncio.Event().wait, two=hang))
        process = agent.create_process("go", context=RunContext.over(ScriptedModel()), options=TWO)
        running = asyncio.create_task(process.run())
        await has_begun.wait()
        await process.kill("enough")
        await running
        assert process.status is ProcessStatus.KILLED
        assert [run.action for run in process.history if run.error == "cancelled"] == ["other", "two"]

    @pytest.mark.parametrize(("actions", "ran"), [(2, ["one", "other"]), (3, ["one", "other", "two"])])
    async def test_the_budget_holds_beside_others_too(self, actions: int, ran: list[str]) -> None:
        options = ProcessOptions(max_parallel=2, budget=Budget(actions=actions))
        process = await started(Branches(let_others_run), "go", options=options)
        assert (process.status, sorted(steps(process))) == (ProcessStatus.TERMINATED, ran)

    async def test_a_limit_that_is_met_meanwhile_lets_the_others_end(self) -> None:
        def stop(process: object) -> str | None:
            assert isinstance(process, AgentProcess)
            return "enough" if process.last(One) else None

        options = ProcessOptions(max_parallel=2, terminate_when=stop)
        process = await started(Branches(let_others_run), "go", options=options)
        assert (process.status, process.failure) == (ProcessStatus.TERMINATED, "enough")
        assert sorted(steps(process)) == ["one", "other"]

    async def test_a_condition_that_raises_meanwhile_lets_the_others_end(self) -> None:
        @planned_agent(description="has a condition that raises")
        class Unsure(Branches):
            @condition
            def ready(self, one: One) -> bool:
                raise ValueError("who knows?")

            @action(pre=["ready"])
            async def two(self, one: One) -> Two | None:
                return Two()

        process = await started(Unsure(let_others_run), "go", options=TWO)
        assert process.failure is not None
        assert "who knows?" in process.failure
        assert sorted(steps(process)) == ["one", "other"]


class TestRunsThatMeet:
    async def test_a_run_during_a_step_goes_on_after_it_to_the_end(self) -> None:
        may_end, has_begun = asyncio.Event(), asyncio.Event()

        async def slow() -> None:
            has_begun.set()
            await may_end.wait()

        process = PlannedAgent(Branches(slow)).create_process("go", context=RunContext.over(ScriptedModel()))
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            group.create_task(process.tick())
            await has_begun.wait()
            running = group.create_task(process.run())
            await let_others_run()
            assert not running.done()
            may_end.set()
        assert process.status is ProcessStatus.COMPLETED
        assert steps(process) == ["other", "one", "two", "finish"]

    async def test_two_runs_end_together(self) -> None:
        process = PlannedAgent(Branches(let_others_run)).create_process("go", context=RunContext.over(ScriptedModel()))
        done = await asyncio.gather(process.run(), process.run())
        assert [one.status for one in done] == [ProcessStatus.COMPLETED] * 2
        assert steps(process) == ["other", "one", "two", "finish"]

    async def test_steps_come_one_after_the_other(self) -> None:
        process = PlannedAgent(Branches(let_others_run)).create_process("go", context=RunContext.over(ScriptedModel()))
        await asyncio.gather(process.tick(), process.tick())
        assert steps(process) == ["other", "one"]

    @pytest.mark.parametrize("most", [1, 2])
    async def test_an_action_that_runs_its_own_process_does_not_wait_for_itself(self, most: int) -> None:
        async def run_itself() -> None:
            await process.run()
            await asyncio.create_task(process.tick())

        options = ProcessOptions(max_parallel=most)
        agent = PlannedAgent(Branches(run_itself))
        process = agent.create_process("go", context=RunContext.over(ScriptedModel()), options=options)
        async with asyncio.timeout(30):
            await process.run()
        assert process.status is ProcessStatus.COMPLETED

    async def test_a_run_that_waits_for_another_can_be_cancelled(self) -> None:
        may_end = asyncio.Event()
        process = PlannedAgent(Branches(may_end.wait)).create_process("go", context=RunContext.over(ScriptedModel()))
        first, second = asyncio.create_task(process.run()), asyncio.create_task(process.run())
        await let_others_run()
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        may_end.set()
        assert (await first).status is ProcessStatus.COMPLETED
