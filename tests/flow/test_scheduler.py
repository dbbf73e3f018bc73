"""The scheduler of steps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar

import pytest

from tactician.errors import ConfigurationError, DeclarationError, TransientError
from tactician.flow.scheduler import Scheduler, run_steps
from tactician.flow.steps import FlowStep, StepCompleted, StepFailed, StepOutcome, StepSkipped, StepSuspended
from tactician.flow.timeout import StepTimeoutError
from tactician.process import ActionRetryPolicy
from tactician.runs import PendingRequest
from tactician.runs.outcomes.suspension import Suspended
from tactician.testing import FakeClock

Work = Callable[[Mapping[str, str]], Awaitable[str]]


def says(text: str) -> Work:
    async def work(results: Mapping[str, str]) -> str:
        return " ".join((*results.values(), text))

    return work


def raises(error: BaseException) -> Work:
    async def work(results: Mapping[str, str]) -> str:
        raise error

    return work


def asks(request_id: str) -> Suspended:
    return Suspended(PendingRequest(request_id, "form", f"{request_id}?"))


async def let_others_run() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


class Gate:
    """Work that ends when the test says so, and notes what happens to it."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.is_cancelled = False

    async def __call__(self, results: Mapping[str, str]) -> str:
        self.begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.is_cancelled = True
            raise
        return "passed"


class TestDependencies:
    async def test_a_step_gets_the_results_of_what_it_depends_on(self) -> None:
        steps = [
            FlowStep("c", says("c"), depends_on=("a", "b")),
            FlowStep("a", says("a")),
            FlowStep("b", says("b"), depends_on=("a",)),
        ]
        outcomes = await run_steps(steps)
        assert outcomes == {
            "c": StepCompleted("c", "a a b c"),
            "a": StepCompleted("a", "a"),
            "b": StepCompleted("b", "a b"),
        }

    async def test_the_order_is_that_of_the_steps_whichever_ends_first(self) -> None:
        slow = Gate()

        async def fast(results: Mapping[str, str]) -> str:
            slow.may_end.set()
            return "fast"

        outcomes = await run_steps([FlowStep("slow", slow), FlowStep("fast", fast)])
        assert list(outcomes) == ["slow", "fast"]

    async def test_a_step_does_not_wait_for_steps_that_it_does_not_depend_on(self) -> None:
        slow, last = Gate(), Gate()
        steps = [FlowStep("slow", slow), FlowStep("one", says("one")), FlowStep("two", last, depends_on=("one",))]
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            group.create_task(run_steps(steps))
            await last.begun.wait()
            last.may_end.set()
            slow.may_end.set()

    async def test_a_step_starts_also_while_the_caller_is_busy_with_an_outcome(self) -> None:
        second = Gate()
        async with asyncio.timeout(30), Scheduler[str]() as scheduler:
            scheduler.add(FlowStep("first", says("first")), FlowStep("second", second, depends_on=("first",)))
            async for outcome in scheduler:
                if outcome.key == "first":
                    await second.begun.wait()
                    second.may_end.set()

    async def test_steps_may_be_added_after_each_outcome(self) -> None:
        async with Scheduler[str]() as scheduler:
            scheduler.add(FlowStep("1", says("1")))
            async for outcome in scheduler:
                if (number := int(outcome.key)) < 4:
                    scheduler.add(FlowStep(f"{number + 1}", says(f"{number + 1}"), depends_on=(outcome.key,)))
        assert scheduler.outcomes["4"] == StepCompleted("4", "1 2 3 4")

    async def test_a_step_may_add_steps(self) -> None:
        scheduler: Scheduler[str] = Scheduler()

        async def plan(results: Mapping[str, str]) -> str:
            scheduler.add(FlowStep("planned", says("planned"), depends_on=("plan",)))
            return "plan"

        async with scheduler:
            scheduler.add(FlowStep("plan", plan))
            assert [outcome.key async for outcome in scheduler] == ["plan", "planned"]

    async def test_without_steps_it_ends_at_once(self) -> None:
        assert await run_steps([]) == {}


class TestMistakes:
    async def test_all_are_named_and_nothing_was_added(self) -> None:
        async with Scheduler[str]() as scheduler:
            scheduler.add(FlowStep("load", says("load")))
            with pytest.raises(DeclarationError) as caught:
                scheduler.add(FlowStep("load", says("x")), FlowStep("count", says("count"), depends_on=("laod",)))
            assert [outcome.key async for outcome in scheduler] == ["load"]
        assert caught.value.problems == (
            "two steps have the key 'load': give each a key of its own",
            "the step 'count' depends on 'laod', which is not a step of the flow. Did you mean 'load'?",
        )

    @pytest.mark.parametrize(
        ("dependencies", "cycles"),
        [
            ({"a": ("a",)}, {"'a' -> 'a'"}),
            ({"a": ("b",), "b": ("a",)}, {"'a' -> 'b' -> 'a'", "'b' -> 'a' -> 'b'"}),
            (
                {"start": (), "a": ("start", "c"), "b": ("a",), "c": ("b",)},
                {"'a' -> 'c' -> 'b' -> 'a'", "'b' -> 'a' -> 'c' -> 'b'", "'c' -> 'b' -> 'a' -> 'c'"},
            ),
        ],
    )
    async def test_a_cycle_is_shown(self, dependencies: Mapping[str, tuple[str, ...]], cycles: set[str]) -> None:
        steps = [FlowStep(key, says(key), depends_on=needed) for key, needed in dependencies.items()]
        with pytest.raises(DeclarationError, match="depend on each other in a cycle") as caught:
            await run_steps(steps)
        (problem,) = caught.value.problems
        assert any(turn in problem for turn in cycles)

    @pytest.mark.parametrize("limit", [0, -1, 1.5, True])
    def test_a_limit_is_a_whole_number_from_1_up(self, limit: int) -> None:
        with pytest.raises(ConfigurationError, match="max_concurrency"):
            Scheduler[str](max_concurrency=limit)

    def test_a_timeout_is_a_number_from_0_up(self) -> None:
        with pytest.raises(ConfigurationError, match=r"FlowStep\.timeout"):
            FlowStep("a", says("a"), timeout=-1)


class TestOneAtATime:
    async def test_steps_run_in_the_task_of_the_caller(self) -> None:
        tasks = []

        async def note(results: Mapping[str, str]) -> str:
            tasks.append(asyncio.current_task())
            return ""

        await run_steps([FlowStep("a", note), FlowStep("b", note)], max_concurrency=1)
        assert tasks == [asyncio.current_task()] * 2

    async def test_of_several_that_could_start_the_first_does(self) -> None:
        steps = [
            FlowStep("last", says("last"), depends_on=("b",)),
            FlowStep("a", says("a")),
            FlowStep("b", says("b")),
            FlowStep("c", says("c")),
        ]
        async with Scheduler[str](max_concurrency=1) as scheduler:
            scheduler.add(*steps)
            assert [outcome.key async for outcome in scheduler] == ["a", "b", "last", "c"]

    async def test_nothing_begins_after_a_failure(self) -> None:
        begun = Gate()
        with pytest.raises(LookupError):
            await run_steps([FlowStep("a", raises(LookupError())), FlowStep("b", begun)], max_concurrency=1)
        assert not begun.begun.is_set()


class TestFailures:
    async def test_the_first_error_is_raised_and_the_others_are_cancelled(self) -> None:
        other, dependent = Gate(), Gate()

        async def fail(results: Mapping[str, str]) -> str:
            await other.begun.wait()
            raise LookupError("gone")

        steps = [FlowStep("a", fail), FlowStep("b", other), FlowStep("c", dependent, depends_on=("a",))]
        with pytest.raises(LookupError, match="gone"):
            await run_steps(steps)
        assert other.is_cancelled
        assert not dependent.begun.is_set()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    async def test_the_others_are_cancelled_also_while_the_caller_is_busy(self) -> None:
        other = Gate()

        async def fail(results: Mapping[str, str]) -> str:
            raise LookupError("gone")

        async with Scheduler[str]() as scheduler:
            scheduler.add(FlowStep("a", says("a")), FlowStep("b", fail, depends_on=("a",)), FlowStep("c", other))
            async for _ in scheduler:
                await let_others_run()
                assert other.is_cancelled
                break

    async def test_what_has_ended_before_is_known(self) -> None:
        ended = []
        scheduler: Scheduler[str] = Scheduler()

        async def consume() -> None:
            async with scheduler:
                scheduler.add(FlowStep("a", says("a")), FlowStep("b", raises(LookupError()), depends_on=("a",)))
                async for outcome in scheduler:
                    ended.append(outcome.key)
                    await let_others_run()

        with pytest.raises(LookupError):
            await consume()
        assert ended == ["a"]
        assert scheduler.outcomes["a"] == StepCompleted("a", "a")
        assert isinstance(scheduler.outcomes["b"], StepFailed)

    async def test_with_drain_what_runs_ends_and_nothing_else_starts(self) -> None:
        running, failing = Gate(), Gate()

        async def fail(results: Mapping[str, str]) -> str:
            await failing(results)
            raise LookupError("gone")

        steps = [
            FlowStep("fails", fail),
            FlowStep("runs", running),
            FlowStep("after", says("after"), depends_on=("runs",)),
            FlowStep("ready", says("ready")),
        ]
        async with asyncio.timeout(30), Scheduler[str](on_error="drain", max_concurrency=2) as scheduler:
            scheduler.add(*steps)
            await running.begun.wait()
            failing.may_end.set()
            outcomes = []
            async for outcome in scheduler:
                outcomes.append(outcome)
                running.may_end.set()
                if outcome.key == "fails":
                    scheduler.add(FlowStep("late", says("late")))
        assert [type(outcome) for outcome in scheduler.outcomes.values()] == [
            StepFailed, StepCompleted, StepSkipped, StepSkipped, StepSkipped,
        ]  # fmt: skip
        assert [outcome.key for outcome in outcomes] == ["fails", "ready", "after", "late", "runs"]
        assert not running.is_cancelled

    async def test_with_continue_only_what_depends_on_it_is_skipped(self) -> None:
        error = LookupError("gone")
        steps = [
            FlowStep("a", raises(error)),
            FlowStep("b", says("b"), depends_on=("a",)),
            FlowStep("c", says("c"), depends_on=("b", "d")),
            FlowStep("d", says("d")),
        ]
        reason = "the step 'a' failed with LookupError: gone"
        assert await run_steps(steps, on_error="continue") == {
            "a": StepFailed("a", error),
            "b": StepSkipped("b", "a", reason),
            "c": StepSkipped("c", "a", reason),
            "d": StepCompleted("d", "d"),
        }

    async def test_a_step_that_is_added_after_its_dependency_has_failed_is_skipped(self) -> None:
        async with Scheduler[str](on_error="continue") as scheduler:
            scheduler.add(FlowStep("a", raises(LookupError())))
            seen: list[StepOutcome[str]] = []
            async for outcome in scheduler:
                seen.append(outcome)
                if outcome.key == "a":
                    scheduler.add(FlowStep("b", says("b"), depends_on=("a",)))
                if outcome.key == "b":
                    scheduler.add(FlowStep("c", says("c"), depends_on=("b",)))
        reason = "the step 'a' failed with LookupError"
        assert seen[1:] == [StepSkipped("b", "a", reason), StepSkipped("c", "a", reason)]

    @pytest.mark.parametrize("error", [SystemExit(), BaseExceptionGroup("x", [KeyError(), SystemExit()])])
    async def test_what_is_no_exception_ends_all(self, error: BaseException) -> None:
        steps = [FlowStep("a", raises(error)), FlowStep("b", Gate())]
        with pytest.raises(type(error)):
            await run_steps(steps, on_error="continue")

    async def test_a_function_that_raises_before_it_is_awaited_has_failed_as_well(self) -> None:
        def work(results: Mapping[str, str]) -> Awaitable[str]:
            raise LookupError("gone")

        (outcome,) = (await run_steps([FlowStep("a", work)], on_error="continue")).values()
        assert isinstance(outcome, StepFailed)


class TestSuspension:
    async def test_all_that_does_not_depend_on_it_goes_on(self) -> None:
        done: list[StepOutcome[str]] = []
        steps = [
            FlowStep("ask", raises(asks("1"))),
            FlowStep("use", says("use"), depends_on=("ask",)),
            FlowStep("a", says("a")),
            FlowStep("b", says("b"), depends_on=("a",)),
            FlowStep("ask too", raises(asks("2")), depends_on=("b",)),
        ]

        async def consume() -> None:
            async with Scheduler[str]() as scheduler:
                scheduler.add(*steps)
                async for outcome in scheduler:
                    done.append(outcome)  # noqa: PERF401 - those before the suspension count

        with pytest.raises(Suspended) as caught:
            await consume()
        assert [request.id for request in caught.value.pending] == ["1", "2"]
        assert [outcome.key for outcome in done if isinstance(outcome, StepCompleted)] == ["a", "b"]
        assert [outcome.key for outcome in done if isinstance(outcome, StepSuspended)] == ["ask", "ask too"]

    async def test_the_requests_are_in_the_order_of_the_steps(self) -> None:
        first = Gate()

        async def ask_late(results: Mapping[str, str]) -> str:
            await first(results)
            raise asks("1")

        async def ask_early(results: Mapping[str, str]) -> str:
            first.may_end.set()
            raise asks("2")

        with pytest.raises(Suspended) as caught:
            await run_steps([FlowStep("a", ask_late), FlowStep("b", ask_early)])
        assert [request.id for request in caught.value.pending] == ["1", "2"]

    async def test_a_group_of_suspensions_is_one(self) -> None:
        group = BaseExceptionGroup("tasks", [asks("1"), BaseExceptionGroup("more", [asks("2")])])
        with pytest.raises(Suspended) as caught:
            await run_steps([FlowStep("a", raises(group)), FlowStep("b", says("b"))])
        assert [request.id for request in caught.value.pending] == ["1", "2"]

    async def test_a_failure_counts_for_more(self) -> None:
        with pytest.raises(LookupError):
            await run_steps([FlowStep("a", raises(asks("1"))), FlowStep("b", raises(LookupError()))])

    async def test_with_continue_a_failure_does_not_hide_it(self) -> None:
        with pytest.raises(Suspended):
            await run_steps(
                [FlowStep("a", raises(LookupError())), FlowStep("b", raises(asks("1")))], on_error="continue"
            )


class TestCancellation:
    @pytest.mark.parametrize("limit", [1, None])
    async def test_a_cancellation_cancels_the_steps_and_waits_for_their_end(self, limit: int | None) -> None:
        cleaning, is_clean = Gate(), False

        async def work(results: Mapping[str, str]) -> str:
            nonlocal is_clean
            try:
                await Gate()(results)
            finally:
                await cleaning(results)
                is_clean = True
            return ""

        flow = asyncio.create_task(run_steps([FlowStep("a", work), FlowStep("b", Gate())], max_concurrency=limit))
        await let_others_run()
        flow.cancel()
        await cleaning.begun.wait()
        await let_others_run()
        assert not flow.done()
        cleaning.may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await flow
        assert is_clean
        assert asyncio.all_tasks() == {asyncio.current_task()}

    async def test_leaving_the_block_cancels_what_runs(self) -> None:
        gate = Gate()
        async with Scheduler[str]() as scheduler:
            scheduler.add(FlowStep("a", says("a")), FlowStep("b", gate), FlowStep("c", says("c"), depends_on=("b",)))
            async for _ in scheduler:
                break
        assert gate.is_cancelled
        assert list(scheduler.outcomes) == ["a"]

    async def test_an_error_in_the_block_is_raised_as_it_is(self) -> None:
        gate = Gate()

        async def consume() -> None:
            async with Scheduler[str]() as scheduler:
                scheduler.add(FlowStep("a", gate))
                await gate.begun.wait()
                raise LookupError("of the caller")

        with pytest.raises(LookupError, match="of the caller"):
            await consume()
        assert gate.is_cancelled

    @pytest.mark.parametrize("limit", [1, None])
    async def test_a_step_that_cancels_itself_ends_all(self, limit: int | None) -> None:
        steps = [FlowStep("a", raises(asyncio.CancelledError())), FlowStep("b", Gate())]
        with pytest.raises(asyncio.CancelledError):
            await run_steps(steps, on_error="continue", max_concurrency=limit)


async def test_what_a_step_sets_stays_its_own() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="of nobody")
    variable.set("of the caller")

    async def change(results: Mapping[str, str]) -> str:
        found = variable.get()
        variable.set("of a step")
        return found

    steps = [FlowStep("a", change), FlowStep("b", change, depends_on=("a",)), FlowStep("c", change)]
    outcomes = await run_steps(steps)
    assert [getattr(outcome, "result", None) for outcome in outcomes.values()] == ["of the caller"] * 3
    assert variable.get() == "of the caller"


class TestRetries:
    async def test_what_passes_is_tried_again(self) -> None:
        clock, attempts = FakeClock(), 0

        async def work(results: Mapping[str, str]) -> str:
            nonlocal attempts
            attempts += 1
            if attempts < 3:
                raise TransientError("busy")
            return "done"

        step = FlowStep("a", work, retry=ActionRetryPolicy(attempts=3, delay=1, factor=2))
        assert await run_steps([step], clock=clock) == {"a": StepCompleted("a", "done")}
        assert clock.slept == [1, 2]

    async def test_the_last_error_counts(self) -> None:
        step = FlowStep("a", raises(TransientError("busy")), retry=ActionRetryPolicy(attempts=2, delay=0))
        with pytest.raises(TransientError) as caught:
            await run_steps([step], clock=FakeClock())
        assert caught.value.__notes__ == ["after 2 attempts"]

    async def test_a_suspension_is_no_failure(self) -> None:
        with pytest.raises(Suspended):
            await run_steps([FlowStep("a", raises(asks("1")), retry=ActionRetryPolicy())], clock=FakeClock())


class TestTimeouts:
    @pytest.mark.parametrize("limit", [1, None])
    async def test_a_step_that_takes_too_long_is_cancelled(self, limit: int | None) -> None:
        clock = FakeClock()

        async def slow(results: Mapping[str, str]) -> str:
            await clock.sleep(5)
            return "late"

        with pytest.raises(StepTimeoutError, match=r"The step 'a' has not ended within 3 seconds"):
            await run_steps([FlowStep("a", slow, timeout=3)], clock=clock, max_concurrency=limit)
        task = asyncio.current_task()
        assert task is not None
        assert not task.cancelling()

    async def test_each_attempt_has_its_own(self) -> None:
        clock, attempts = FakeClock(), 0

        async def work(results: Mapping[str, str]) -> str:
            nonlocal attempts
            attempts += 1
            await clock.sleep(5 if attempts == 1 else 2)
            return "in time"

        retry = ActionRetryPolicy(delay=0, on=(StepTimeoutError,))
        outcomes = await run_steps([FlowStep("a", work, timeout=3, retry=retry)], clock=clock)
        assert outcomes == {"a": StepCompleted("a", "in time")}

    async def test_one_that_ends_in_time_is_not_disturbed_later(self) -> None:
        clock = FakeClock()
        await run_steps([FlowStep("a", says("a"), timeout=3)], clock=clock, max_concurrency=1)
        clock.advance(10)
        await let_others_run()

    async def test_a_cancellation_from_outside_is_no_timeout(self) -> None:
        clock, gate = FakeClock(), Gate()
        flow = asyncio.create_task(run_steps([FlowStep("a", gate, timeout=3)], clock=clock, max_concurrency=1))
        await gate.begun.wait()
        flow.cancel()
        clock.advance(5)
        with pytest.raises(asyncio.CancelledError):
            await flow
