"""Tests of the clocks: the helpers that wait by one, and the clock that tests control."""

import asyncio

import pytest

from tactician.clock import SYSTEM_CLOCK, Clock, Timeout, pause, wait_for_event
from tactician.testing import FakeClock


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


@pytest.fixture(params=["fake", "system"])
def clock(request: pytest.FixtureRequest) -> Clock:
    return FakeClock(sleeps_wait=True) if request.param == "fake" else SYSTEM_CLOCK


async def pass_time(clock: Clock, seconds: float) -> None:
    if isinstance(clock, FakeClock):
        await clock.run_for(seconds)
    else:
        await asyncio.sleep(seconds)


class TestTimeout:
    async def test_work_that_takes_too_long_is_cancelled(self, clock: Clock) -> None:
        async def work() -> None:
            with Timeout(0.01, clock):
                await wait_for_ever()

        task = asyncio.create_task(work())
        await pass_time(clock, 0.02)
        with pytest.raises(TimeoutError):
            await task
        assert not task.cancelled()

    async def test_work_in_time_is_left_alone(self, clock: Clock) -> None:
        with Timeout(60, clock) as limit:
            await asyncio.sleep(0)
        await pass_time(clock, 0.001)
        assert not limit.is_expired

    async def test_a_limit_of_no_time_cancels_at_the_first_wait(self, clock: Clock) -> None:
        with pytest.raises(TimeoutError), Timeout(0, clock):
            await wait_for_ever()

    async def test_without_a_limit_it_waits_for_any_time(self) -> None:
        clock = FakeClock()
        task = asyncio.create_task(wait_for_event(event := asyncio.Event(), None, clock))
        await clock.run_for(1e9)
        event.set()
        assert await task

    async def test_a_cancellation_by_others_stays_one(self) -> None:
        clock = FakeClock()

        async def work() -> None:
            with Timeout(5, clock):
                await wait_for_ever()

        task = asyncio.create_task(work())
        await clock.run_for(1)
        clock.advance(5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def test_a_timeout_error_of_the_work_is_its_own(self) -> None:
        limit = Timeout(5, FakeClock())
        with pytest.raises(TimeoutError, match="mine"), limit:
            raise TimeoutError("mine")
        assert not limit.is_expired

    async def test_a_lifted_limit_does_not_expire(self) -> None:
        clock = FakeClock()
        with Timeout(5, clock) as limit:
            limit.lift()
            await clock.run_for(60)
        assert not limit.is_expired


async def test_an_event_that_comes_in_time_is_seen(clock: Clock) -> None:
    event = asyncio.Event()
    task = asyncio.create_task(wait_for_event(event, 60, clock))
    await pass_time(clock, 0.001)
    event.set()
    assert await task


async def test_an_event_that_does_not_come_is_not_waited_for_longer(clock: Clock) -> None:
    task = asyncio.create_task(wait_for_event(asyncio.Event(), 0.01, clock))
    await pass_time(clock, 0.02)
    assert not await task


class TestFakeClock:
    async def test_a_sleep_moves_the_time_on(self) -> None:
        clock = FakeClock(start=0)
        await clock.sleep(3)
        assert (clock.monotonic(), clock.slept) == (3, [3])

    async def test_a_pause_of_a_loop_in_the_background_does_not(self) -> None:
        clock = FakeClock(start=0)
        task = asyncio.create_task(pause(3, clock))
        await asyncio.sleep(0)
        assert (task.done(), clock.monotonic()) == (False, 0)
        await clock.run_for(3)
        assert task.done()

    async def test_sleeps_that_wait_pass_together(self) -> None:
        clock = FakeClock(start=0, sleeps_wait=True)
        ends = dict[float, float]()

        async def sleep(seconds: float) -> None:
            await clock.sleep(seconds)
            ends[seconds] = clock.monotonic()

        async with asyncio.TaskGroup() as group:
            for seconds in (60, 3600, 1):
                group.create_task(sleep(seconds))
            await clock.run_for(7200)
        assert list(ends.items()) == [(1, 1), (60, 60), (3600, 3600)]
        assert clock.monotonic() == 7200

    async def test_a_loop_runs_as_often_as_the_time_has_room_for(self) -> None:
        clock, times = FakeClock(start=0), list[float]()

        async def beat() -> None:
            while True:
                await pause(10, clock)
                times.append(clock.monotonic())

        task = asyncio.create_task(beat())
        await clock.run_for(3600)
        task.cancel()
        assert times == [10 * number for number in range(1, 361)]

    def test_callbacks_see_the_time_at_which_they_are_due(self) -> None:
        clock, times = FakeClock(start=0), list[float]()
        for seconds in (5, 2):
            clock.call_later(seconds, lambda: times.append(clock.monotonic()))
        clock.advance(9)
        assert (times, clock.monotonic()) == ([2, 5], 9)

    async def test_a_callback_that_was_cancelled_does_not_run(self) -> None:
        clock, calls = FakeClock(), list[int]()
        for seconds in (0, 5):
            clock.call_later(seconds, lambda: calls.append(1)).cancel()
        await clock.run_for(10)
        assert not calls

    async def test_a_task_that_is_always_ready_does_not_hold_up_the_time(self) -> None:
        clock = FakeClock(start=0)

        async def spin() -> None:
            while True:  # noqa: ASYNC110
                await asyncio.sleep(0)

        task = asyncio.create_task(spin())
        await clock.run_for(5)
        task.cancel()
        assert clock.monotonic() == 5
