"""Tests of the time limit that many calls share."""

import asyncio

import pytest

from tactician.llm.time_limit import LimitedCall, TimeLimit
from tactician.testing import FakeClock


async def wait_for_ever(limit: TimeLimit) -> None:
    with LimitedCall(limit):
        await asyncio.Event().wait()


async def expire(clock: FakeClock, seconds: float) -> None:
    await asyncio.sleep(0)  # what was created begins
    clock.advance(seconds)
    for _ in range(3):
        await asyncio.sleep(0)


async def test_each_call_expires_when_its_own_time_has_passed() -> None:
    clock = FakeClock()
    limit = TimeLimit(5, clock)
    first = asyncio.create_task(wait_for_ever(limit))
    await expire(clock, 3)
    second = asyncio.create_task(wait_for_ever(limit))
    await expire(clock, 2)
    assert isinstance(first.exception(), TimeoutError)
    assert not second.done()
    await expire(clock, 3)
    assert isinstance(second.exception(), TimeoutError)


async def test_a_call_that_ended_in_time_is_left_alone() -> None:
    clock = FakeClock()
    limit = TimeLimit(5, clock)
    with LimitedCall(limit) as call:
        await asyncio.sleep(0)
    await expire(clock, 10)
    assert not call.is_expired
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()


async def test_a_cancellation_from_outside_stays_one() -> None:
    clock = FakeClock()
    task = asyncio.create_task(wait_for_ever(TimeLimit(5, clock)))
    await asyncio.sleep(0)
    clock.advance(5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_inner_of_two_limits_ends_only_its_own_block() -> None:
    clock = FakeClock()
    outer, inner = TimeLimit(9, clock), TimeLimit(5, clock)

    async def nest() -> str:
        with LimitedCall(outer):
            try:
                await wait_for_ever(inner)
            except TimeoutError:
                await asyncio.sleep(0)
                return "went on"
        return "never"

    task = asyncio.create_task(nest())
    await asyncio.sleep(0)
    await expire(clock, 5)
    assert await task == "went on"


async def test_limits_that_pass_together_end_the_outer_block() -> None:
    clock = FakeClock()
    outer, inner = TimeLimit(5, clock), TimeLimit(5, clock)
    ended: list[str] = []

    async def nest() -> None:
        with LimitedCall(outer):
            try:
                await wait_for_ever(inner)
            finally:
                ended.append("inner")

    task = asyncio.create_task(nest())
    await asyncio.sleep(0)
    await expire(clock, 5)
    assert isinstance(task.exception(), TimeoutError)
    assert ended == ["inner"]


async def test_an_infinite_limit_sets_no_timer() -> None:
    clock = FakeClock()
    task = asyncio.create_task(wait_for_ever(TimeLimit(float("inf"), clock)))
    await asyncio.sleep(0)
    await expire(clock, 1e12)
    assert not task.done()
    task.cancel()
    await asyncio.wait([task])


def test_one_limit_serves_several_event_loops() -> None:
    limit = TimeLimit(0.0)
    for _ in range(2):
        with pytest.raises(TimeoutError):
            asyncio.run(wait_for_ever(limit))
