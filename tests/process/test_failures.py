"""What is tried again, what ends a process, and who can end it from outside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import pytest

from tactician import (
    Blackboard,
    Budget,
    Platform,
    ProcessOptions,
    ProcessStatus,
    RunContext,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
)
from tactician.agents import PlannedAgent
from tactician.errors import ModelServerError, PermanentError, Replan, TransientError
from tactician.events import Event
from tactician.llm import Deployment, Features, ModelRequest, ModelResponse, ModelRetryPolicy, ModelRouter, UserMessage
from tactician.llm.model import Delta
from tactician.process import ActionRetryPolicy, AgentProcess, OperationContext, ProcessHandle, ProgressReported
from tactician.resilience.backoff import RetryRule
from tactician.testing import FakeClock, ScriptedModel
from tests.support.failures import without_lines
from tests.support.stored import JsonStore, resume


@dataclass
class Result:
    text: str


@planned_agent(description="fails at first")
class Flaky:
    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.keys: list[str] = []

    @achieves_goal("done")
    @action
    async def work(self, topic: UserInput, context: OperationContext) -> Result:
        self.keys.append(context.idempotency_key)
        if self.errors:
            raise self.errors.pop(0)
        return Result("done")


class DownModel:
    """A model that never answers."""

    name = "down"
    features = Features()

    def __init__(self) -> None:
        self.calls = 0

    async def generate(self, request: ModelRequest) -> ModelResponse:
        self.calls += 1
        raise ModelServerError("down", status=503)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        yield await self.generate(request)


async def run(agent: object, options: ProcessOptions | None = None) -> tuple[AgentProcess, FakeClock]:
    clock = FakeClock()
    context = RunContext.over(ScriptedModel(), clock=clock)
    process = PlannedAgent(agent).create_process("x", context=context, options=options)
    return await process.run(), clock


class TestRetries:
    @pytest.mark.parametrize("error", [TransientError("busy"), ModelServerError("down"), ConnectionError("reset")])
    async def test_failures_that_pass_are_tried_again(self, error: Exception) -> None:
        agent = Flaky(error)
        process, clock = await run(agent)

        assert process.status is ProcessStatus.COMPLETED
        assert clock.slept == [1.0]
        assert process.history[0].attempts == 2

    async def test_the_idempotency_key_is_the_same_for_all_attempts(self) -> None:
        agent = Flaky(TransientError("a"), TransientError("b"))
        process, _ = await run(agent)

        assert len(agent.keys) == 3
        assert set(agent.keys) == {f"{process.id}/work/1"}

    async def test_what_a_router_has_retried_is_not_retried_by_the_action(self) -> None:
        @planned_agent(description="asks a model")
        class Asking:
            @achieves_goal("done")
            @action
            async def work(self, topic: UserInput, context: OperationContext) -> Result:
                return Result(await context.ai.generate_text("hello"))

        clock, model = FakeClock(), DownModel()
        retries = ModelRetryPolicy(server=RetryRule(attempts=2, base=0.0))
        router = ModelRouter([Deployment("down", "m", model)], retries=retries, clock=clock)
        process = PlannedAgent(Asking()).create_process("x", context=RunContext.over(router, clock=clock))
        await process.run()

        assert isinstance(process.error, ModelServerError)
        assert (model.calls, process.history[0].attempts, clock.slept) == (2, 1, [])

    async def test_what_a_router_does_not_retry_is_retried_by_the_action(self) -> None:
        router = ModelRouter([Deployment("down", "m", DownModel())], retries=ModelRetryPolicy.with_attempts(1))
        with pytest.raises(ModelServerError) as raised:
            await router.generate(ModelRequest((UserMessage("hello"),)))
        process, _ = await run(Flaky(raised.value))

        assert process.history[0].attempts == 2

    @pytest.mark.parametrize("error", [ValueError("a bug"), PermanentError("no"), KeyError("x")])
    async def test_mistakes_and_permanent_failures_are_not(self, error: Exception) -> None:
        process, clock = await run(Flaky(error))

        assert process.status is ProcessStatus.FAILED
        assert process.error is error
        assert clock.slept == []

    async def test_when_the_attempts_are_used_up_the_process_has_failed(self) -> None:
        process, clock = await run(Flaky(*[TransientError("busy")] * 5))

        assert process.status is ProcessStatus.FAILED
        assert without_lines(process.failure) == "work raised TransientError: busy (after 3 attempts)"
        assert clock.slept == [1.0, 2.0]

    async def test_pauses_grow_up_to_the_longest(self) -> None:
        policy = ActionRetryPolicy(attempts=5, delay=1, factor=10, max_delay=50)
        _, clock = await run(Flaky(*[TransientError("busy")] * 4), ProcessOptions(retry=policy))

        assert clock.slept == [1, 10, 50, 50]

    async def test_other_exceptions_can_be_named(self) -> None:
        process, _ = await run(Flaky(KeyError("x")), ProcessOptions(retry=ActionRetryPolicy(on=(KeyError,))))

        assert process.status is ProcessStatus.COMPLETED


@dataclass
class Bought:
    what: str


@planned_agent(description="buys where there is one shop")
class Closed:
    def __init__(self, times: int) -> None:
        self.times = times

    @action
    def buy(self, topic: UserInput) -> Bought:
        self.times -= 1
        if self.times >= 0:
            raise Replan("the shop is closed")
        return Bought("bread")

    @achieves_goal("eaten")
    @action
    def eat(self, bought: Bought) -> Result:
        return Result(bought.what)


@planned_agent(description="waits for the shop")
class Patient(Closed):
    helped = 0

    async def handle_stuck(self, process: AgentProcess) -> bool:
        self.helped += 1
        return True


UNLIMITED = ProcessOptions(budget=Budget())


class TestReplanning:
    async def test_an_action_may_ask_to_plan_without_it(self) -> None:
        @planned_agent(description="has two ways")
        class TwoWays:
            @achieves_goal("done")
            @action(cost=0.9)
            def slowly(self, topic: UserInput) -> Result:
                return Result("slow")

            @achieves_goal("done")
            @action(cost=0.1)
            def quickly(self, topic: UserInput) -> Result:
                raise Replan("not today")

        process, _ = await run(TwoWays())

        assert process.last(Result) == Result("slow")
        assert [(entry.action, entry.error) for entry in process.history] == [
            ("quickly", "Replan: not today"),
            ("slowly", None),
        ]

    async def test_an_action_without_which_there_is_no_plan_is_tried_again(self) -> None:
        process, _ = await run(Closed(2))

        assert process.result == Result("bread")
        assert [entry.error for entry in process.history] == ["Replan: the shop is closed"] * 2 + [None, None]

    async def test_a_look_ahead_is_what_the_next_tick_does(self) -> None:
        process = PlannedAgent(Closed(7)).create_process(
            "x", context=RunContext.over(ScriptedModel()), options=UNLIMITED
        )
        while process.result is None and len(process.history) < 20:
            plan, before = await process.outlook(), len(process.history)
            await process.tick()
            assert (plan is None) == (process.status is ProcessStatus.STUCK)
            expected = [] if plan is None else [action.name for action in plan.actions[:1]]
            assert [entry.action for entry in process.history[before:]] == expected

        assert process.result == Result("bread")
        assert [entry.error is None for entry in process.history] == [False] * 7 + [True] * 2

    async def test_but_not_for_ever_and_the_reason_is_told(self) -> None:
        process, _ = await run(Closed(1000), UNLIMITED)

        assert process.status is ProcessStatus.STUCK
        assert process.failure == (
            "No plan reaches 'eat': 'Bought' is missing, as 'buy' asked to plan again (the shop is closed). "
            "On the blackboard: UserInput."
        )
        assert len(process.history) == 5
        assert (await process.run()).status is ProcessStatus.STUCK
        assert len(process.history) == 10

    async def test_each_time_that_the_handler_has_helped_it_is_tried_once_more(self) -> None:
        agent = Patient(7)
        process, _ = await run(agent, UNLIMITED)
        assert (process.result, agent.helped) == (Result("bread"), 3)

        agent = Patient(1000)
        process, _ = await run(agent, UNLIMITED)
        assert (process.status, agent.helped) == (ProcessStatus.STUCK, 10)

    @pytest.mark.parametrize(("times", "status"), [(2, ProcessStatus.COMPLETED), (1000, ProcessStatus.STUCK)])
    async def test_also_when_each_step_is_made_elsewhere(self, times: int, status: ProcessStatus) -> None:
        agent, store = Closed(times), JsonStore()

        def elsewhere() -> Platform:
            return Platform(ScriptedModel(), store=store).register(agent)

        process = await elsewhere().process(await elsewhere().enqueue("Closed", "x", options=UNLIMITED))
        for _ in range(20):
            process.pause()
            await process.run()
            process = await elsewhere().process(process.id)
            if process.status is not ProcessStatus.PAUSED:
                break
        assert process.status is status
        assert len(process.history) == {2: 4, 1000: 5}[times]

    async def test_the_other_way_is_taken_also_when_that_is_elsewhere(self) -> None:
        @planned_agent(description="has two ways")
        class TwoWays(Closed):
            @action(cost=0.9)
            def bake(self, topic: UserInput) -> Bought:
                return Bought("cake")

        store = JsonStore()
        first, second = (Platform(ScriptedModel(), store=store).register(TwoWays(1000)) for _ in range(2))
        process = await first.process(await first.enqueue("TwoWays", "x"))
        process.pause()
        await process.run()
        process = await resume(second, process.id)
        assert process.result == Result("cake")
        assert [entry.action for entry in process.history] == ["buy", "bake", "eat"]

    async def test_two_actions_that_wait_for_each_other_come_to_an_end(self) -> None:
        @planned_agent(description="has two shops")
        class TwoShops(Closed):
            @action
            def buy_elsewhere(self, topic: UserInput) -> Bought:
                raise Replan

        process, _ = await run(TwoShops(1000), UNLIMITED)
        assert process.status is ProcessStatus.STUCK
        assert process.failure is not None
        assert "'buy' asked to plan again (the shop is closed) and 'buy_elsewhere' asked" in process.failure
        assert process.history[1].error == "Replan"


@planned_agent(description="takes its time")
class Slow:
    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.was_cancelled = False

    @achieves_goal("done")
    @action
    async def work(self, topic: UserInput) -> Result:
        self.entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return Result("done")


class TestEndingFromOutside:
    async def test_kill_interrupts_and_is_final(self) -> None:
        agent = Slow()
        process = PlannedAgent(agent).create_process("x", context=RunContext.over(ScriptedModel()))
        task = asyncio.ensure_future(process.run())
        await agent.entered.wait()

        await process.kill("not needed any more")

        assert (await task) is process
        assert process.status is ProcessStatus.KILLED
        assert process.failure == "not needed any more"
        assert agent.was_cancelled
        await process.run()
        assert process.status is ProcessStatus.KILLED

    async def test_two_kills_at_once_end_it_once(self) -> None:
        agent = Slow()
        process = PlannedAgent(agent).create_process("x", context=RunContext.over(ScriptedModel()))
        task = asyncio.ensure_future(process.run())
        await agent.entered.wait()

        await asyncio.gather(process.kill("first"), process.kill("second"))

        assert (await task) is process
        assert process.failure == "first"

    async def test_a_kill_does_not_wait_for_what_comes_after_the_run(self) -> None:
        agent, may_end = Slow(), asyncio.Event()
        process = PlannedAgent(agent).create_process("x", context=RunContext.over(ScriptedModel()))

        async def run_and_do_more() -> None:
            await process.run()
            await may_end.wait()

        task = asyncio.create_task(run_and_do_more())
        await agent.entered.wait()

        async with asyncio.timeout(30):
            await process.kill("enough")

        assert agent.was_cancelled
        assert not task.done()
        may_end.set()
        await task

    async def test_a_cancellation_beside_a_kill_is_not_lost(self) -> None:
        agent = Slow()
        process = PlannedAgent(agent).create_process("x", context=RunContext.over(ScriptedModel()))
        task = asyncio.ensure_future(process.run())
        await agent.entered.wait()
        killing = asyncio.create_task(process.kill("enough"))
        await asyncio.sleep(0)

        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task
        await killing
        assert process.failure == "enough"

    async def test_a_cancelled_run_is_killed_and_still_raises(self) -> None:
        agent = Slow()
        process = PlannedAgent(agent).create_process("x", context=RunContext.over(ScriptedModel()))
        task = asyncio.ensure_future(process.run())
        await agent.entered.wait()

        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task
        assert process.status is ProcessStatus.KILLED

    async def test_pause_stops_after_the_action_and_run_goes_on(self) -> None:
        @planned_agent(description="pauses itself")
        class TwoSteps:
            @action
            def first(self, topic: UserInput, process: AgentProcess) -> Result:
                process.pause()
                return Result("first")

            @achieves_goal("done")
            @action
            def second(self, result: Result) -> Results:
                return Results([result])

        process, _ = await run(TwoSteps())
        assert process.status is ProcessStatus.PAUSED
        assert [entry.action for entry in process.history] == ["first"]

        assert (await process.run()).status is ProcessStatus.COMPLETED

    async def test_terminate_when(self) -> None:
        def at_once(process: ProcessHandle) -> str | None:
            return f"{process.name} is not wanted"

        process, _ = await run(Flaky(), ProcessOptions(terminate_when=at_once))

        assert (process.status, process.failure) == (ProcessStatus.TERMINATED, "Flaky is not wanted")

    @pytest.mark.parametrize("nothing", [None, "", False])
    async def test_terminate_when_says_nothing(self, nothing: str | None) -> None:
        process, _ = await run(Flaky(), ProcessOptions(terminate_when=lambda process: nothing))
        assert process.status is ProcessStatus.COMPLETED

    async def test_terminate_when_may_take_its_time(self) -> None:
        async def after_one(process: ProcessHandle) -> str | None:
            await asyncio.sleep(0)
            return "that is enough" if process.history else None

        process, _ = await run(Chain(), ProcessOptions(terminate_when=after_one))
        assert (process.status, process.failure) == (ProcessStatus.TERMINATED, "that is enough")
        assert len(process.history) == 1

    async def test_a_function_that_raises_is_named(self) -> None:
        def broken(process: ProcessHandle) -> str | None:
            raise ValueError("boo")

        process, _ = await run(Flaky(), ProcessOptions(terminate_when=broken))
        assert (process.status, without_lines(process.failure)) == (
            ProcessStatus.FAILED,
            "terminate_when raised ValueError: boo",
        )

        @planned_agent(description="cannot be helped")
        class Helpless(Closed):
            def handle_stuck(self, process: AgentProcess) -> bool:
                raise ValueError("bah")

        process, _ = await run(Helpless(1000))
        assert (process.status, without_lines(process.failure)) == (
            ProcessStatus.FAILED,
            "handle_stuck raised ValueError: bah",
        )

    @pytest.mark.parametrize("returned", [True, "a topic was missing"])
    async def test_handle_stuck_may_say_why_it_plans_again(self, returned: bool | str) -> None:
        @planned_agent(description="helps itself")
        class Helped:
            def handle_stuck(self, process: AgentProcess) -> bool | str:
                process.blackboard.add(Result("found"))
                return returned

            @achieves_goal("done")
            @action
            def finish(self, result: Result) -> Results:
                return Results([result])

        events: list[Event] = []
        context = RunContext.over(ScriptedModel(), events.append)
        process = await PlannedAgent(Helped()).create_process("x", context=context).run()
        assert process.status is ProcessStatus.COMPLETED
        reported = [event.text for event in events if isinstance(event, ProgressReported)]
        assert reported == ([returned] if isinstance(returned, str) else [])

    async def test_handle_stuck_that_forgets_to_return_true_is_the_reason(self) -> None:
        @planned_agent(description="helps itself")
        class Forgetful:
            def handle_stuck(self, process: AgentProcess) -> None:
                process.blackboard.add(Result("found"))

            @achieves_goal("done")
            @action
            def finish(self, result: Result) -> Results:
                return Results([result])

        process, _ = await run(Forgetful())
        assert process.status is ProcessStatus.STUCK
        assert process.failure is not None
        assert process.failure.startswith("handle_stuck has added an object, but has not returned True")
        assert "have run already" not in process.failure

    async def test_delays_between_actions(self) -> None:
        process, clock = await run(Chain(), ProcessOptions(delay=2.5))

        assert process.status is ProcessStatus.COMPLETED
        assert clock.slept == [2.5, 2.5]


@dataclass
class Results:
    results: list[Result]


@dataclass
class A:
    n: int


@dataclass
class B:
    n: int


@planned_agent(description="two steps")
class Chain:
    @action
    def a(self, topic: UserInput) -> A:
        return A(1)

    @achieves_goal("done")
    @action
    def b(self, a: A) -> B:
        return B(a.n)


class TestConcurrency:
    async def test_actions_that_do_not_depend_on_each_other_run_at_once(self) -> None:
        agent = Wide()
        process, _ = await run(agent, ProcessOptions(max_parallel=4))

        assert agent.most == 3
        assert process.last(Sum) == Sum(6)
        assert [entry.action for entry in process.history] == ["one", "two", "three", "add"]

    @pytest.mark.parametrize("most", [1, 2, 3])
    async def test_never_more_than_allowed_and_the_result_is_that_of_one_after_the_other(self, most: int) -> None:
        agent = Wide()
        process, _ = await run(agent, ProcessOptions(max_parallel=most))

        assert agent.most == most
        assert process.last(Sum) == Sum(6)
        assert [type(value).__name__ for value in process.blackboard.objects] == [
            "UserInput", "One", "Two", "Three", "Sum",
        ]  # fmt: skip

    async def test_one_that_fails_fails_the_process_and_the_others_are_kept(self) -> None:
        agent = Wide(fails=True)
        process, _ = await run(agent, ProcessOptions(max_parallel=4))

        assert process.status is ProcessStatus.FAILED
        assert without_lines(process.failure) == "two raised ValueError: no"
        assert process.last(One) is not None
        assert process.last(Three) is not None


@dataclass
class One:
    n: int = 1


@dataclass
class Two:
    n: int = 2


@dataclass
class Three:
    n: int = 3


@dataclass
class Sum:
    n: int


@planned_agent(description="adds three numbers")
class Wide:
    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.running = self.most = 0

    async def _work(self) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        for _ in range(5):
            await asyncio.sleep(0)
        self.running -= 1

    @action
    async def one(self, topic: UserInput) -> One:
        await self._work()
        return One()

    @action
    async def two(self, topic: UserInput) -> Two:
        await self._work()
        if self.fails:
            raise ValueError("no")
        return Two()

    @action
    async def three(self, topic: UserInput) -> Three:
        await self._work()
        return Three()

    @achieves_goal("added")
    @action
    def add(self, one: One, two: Two, three: Three) -> Sum:
        return Sum(one.n + two.n + three.n)


async def test_a_platform_keeps_its_processes() -> None:
    platform = Platform(models=ScriptedModel())
    process = await platform.start(Chain(), "x")

    assert await platform.processes() == [process]


class TestConcurrencyAndOrder:
    @pytest.mark.parametrize("most", [1, 4])
    async def test_an_action_that_would_take_what_another_gives_waits_for_it(self, most: int) -> None:
        @planned_agent(description="may use a one")
        class Takes:
            @action
            def one(self, topic: UserInput) -> One:
                return One()

            @action
            def two(self, topic: UserInput, one: One | None) -> Two:
                return Two(2 if one is None else 12)

            @achieves_goal("added")
            @action
            def add(self, one: One, two: Two) -> Sum:
                return Sum(one.n + two.n)

        process, _ = await run(Takes(), ProcessOptions(max_parallel=most))

        assert process.last(Sum) == Sum(13)

    @pytest.mark.parametrize("most", [1, 4])
    async def test_an_action_that_reads_the_blackboard_runs_alone(self, most: int) -> None:
        @planned_agent(description="counts what is there")
        class Counts:
            @action
            def one(self, topic: UserInput) -> One:
                return One()

            @action
            def two(self, topic: UserInput, board: Blackboard) -> Two:
                return Two(len(board))

            @achieves_goal("added")
            @action
            def add(self, one: One, two: Two) -> Sum:
                return Sum(two.n)

        process, _ = await run(Counts(), ProcessOptions(max_parallel=most))

        assert process.last(Sum) == Sum(2)
