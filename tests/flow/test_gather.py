"""Coroutines that run at once, some of which have to wait."""

from __future__ import annotations

import asyncio

import pytest

from tactician.flow.scheduler import gather_or_suspend
from tactician.runs import PendingRequest
from tactician.runs.outcomes.suspension import Suspended


async def says(text: str) -> str:
    return text


async def asks(request_id: str) -> str:
    raise Suspended(PendingRequest(request_id, "form", "?"))


async def asks_in_a_group(request_id: str) -> str:
    async with asyncio.TaskGroup() as group:
        await group.create_task(asks(request_id))
    return ""


async def fails() -> str:
    await asyncio.sleep(0)
    raise LookupError("gone")


@pytest.mark.parametrize("limit", [None, 1, 2])
async def test_the_results_are_in_the_order_of_the_coroutines(limit: int | None) -> None:
    first_may_end = asyncio.Event()

    async def slow() -> str:
        if limit != 1:
            await first_may_end.wait()
        return "slow"

    async def fast() -> str:
        first_may_end.set()
        return "fast"

    assert await gather_or_suspend(slow(), fast(), says("x"), max_concurrency=limit) == ["slow", "fast", "x"]


async def test_no_coroutines_give_no_results() -> None:
    assert await gather_or_suspend() == []


async def test_a_single_one_runs_in_the_task_of_the_caller() -> None:
    async def note() -> asyncio.Task[object] | None:
        return asyncio.current_task()

    assert await gather_or_suspend(note()) == [asyncio.current_task()]


@pytest.mark.parametrize("limit", [None, 1])
async def test_one_that_has_to_wait_lets_the_others_end(limit: int | None) -> None:
    done = []

    async def work() -> str:
        await asyncio.sleep(0)
        done.append("work")
        return ""

    with pytest.raises(Suspended) as caught:
        await gather_or_suspend(asks("1"), work(), asks_in_a_group("2"), max_concurrency=limit)
    assert [request.id for request in caught.value.pending] == ["1", "2"]
    assert done == ["work"]


async def test_a_group_of_suspensions_is_one_also_where_it_is_alone() -> None:
    with pytest.raises(Suspended):
        await gather_or_suspend(asks_in_a_group("1"))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("limit", [None, 1, 2])
async def test_one_that_fails_cancels_the_others_and_those_that_have_not_begun(limit: int | None) -> None:
    begun = []

    async def work(number: int) -> str:
        begun.append(number)
        await asyncio.Event().wait()
        return ""

    with pytest.raises(LookupError, match="gone"):
        await gather_or_suspend(fails(), work(1), work(2), work(3), max_concurrency=limit)
    assert begun == {None: [1, 2, 3], 1: [], 2: [1]}[limit]
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.filterwarnings("error")
async def test_a_cancellation_reaches_all() -> None:
    cancelled = []

    async def work(number: int) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(number)
            raise
        return ""

    gathering = asyncio.create_task(gather_or_suspend(*map(work, range(4)), max_concurrency=2))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    gathering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gathering
    assert cancelled == [0, 1]
