"""What is raised in the tasks of an action means the same as in the action itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tactician import (
    Budget,
    OperationContext,
    Platform,
    ProcessOptions,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
)
from tactician.errors import PermanentError, Rejected, Replan, TransientError
from tactician.process import ActionRetryPolicy, AgentProcess, Rejection
from tactician.testing import ScriptedModel
from tests.agents.running import started, steps
from tests.support.failures import without_lines

Raise = Callable[[], Exception]


@dataclass
class Page:
    text: str


@dataclass
class Book:
    text: str


async def fail(error: Exception) -> None:
    raise error


@planned_agent(description="reads two pages at once, or looks for another way")
class Reader:
    def __init__(self, *errors: Raise, attempts_that_fail: int = 9, asks: bool = False) -> None:
        self.errors = errors
        self.asks = asks
        self.attempts_that_fail = attempts_that_fail

    @action(cost=0.1, retry=ActionRetryPolicy(attempts=3, delay=0, on=(KeyError,)))
    async def read(self, topic: UserInput) -> Page:
        self.attempts_that_fail -= 1
        async with asyncio.TaskGroup() as outer:
            if self.asks:
                outer.create_task(ask_human(str, "which page?"))
            if self.attempts_that_fail >= 0:
                outer.create_task(self.inside())
        return Page("read")

    async def inside(self) -> None:
        async with asyncio.TaskGroup() as group:
            for error in self.errors:
                group.create_task(fail(error()))

    @action(cost=5)
    def invent(self, topic: UserInput, rejection: Rejection | None = None) -> Page:
        return Page("invented" if rejection is None else f"invented: {rejection.reason}")

    @achieves_goal("written")
    @action
    def write(self, page: Page) -> Book:
        return Book(page.text)


async def read(*errors: Raise, attempts_that_fail: int = 9, asks: bool = False) -> AgentProcess:
    return await started(Reader(*errors, attempts_that_fail=attempts_that_fail, asks=asks), "frogs")


def replan() -> Exception:
    return Replan("no page")


def transient() -> Exception:
    return TransientError("busy")


def rejected() -> Exception:
    return Rejected("a page?", "closed")


@pytest.mark.parametrize("number", [1, 2])
async def test_all_ask_to_plan_again(number: int) -> None:
    process = await read(*[replan] * number)

    assert process.result == Book("invented")
    assert process.history[0].error == "Replan: no page"


@pytest.mark.parametrize("number", [1, 2])
async def test_all_were_rejected(number: int) -> None:
    process = await read(*[rejected] * number)

    assert process.result == Book("invented: closed")
    assert process.history[0].outputs == ("Rejection",)


@pytest.mark.parametrize("errors", [(transient,), (transient, lambda: KeyError("x")), (transient, ConnectionError)])
async def test_what_passes_is_tried_again(errors: tuple[Raise, ...]) -> None:
    process = await read(*errors, attempts_that_fail=2)

    assert process.result == Book("read")
    assert process.history[0].attempts == 3


async def test_in_the_end_the_only_one_is_the_failure() -> None:
    process = await read(transient)

    assert without_lines(process.failure) == "read raised TransientError: busy (after 3 attempts)"


@pytest.mark.parametrize("other", [lambda: PermanentError("gone"), lambda: ValueError("x"), replan, rejected])
async def test_one_that_does_not_pass_is_enough_to_fail(other: Raise) -> None:
    process = await read(transient, other)

    assert process.status is ProcessStatus.FAILED
    assert process.history[0].attempts == 1
    assert isinstance(process.error, ExceptionGroup)


async def test_where_one_waits_and_another_passes_all_is_tried_again() -> None:
    process = await read(transient, attempts_that_fail=1, asks=True)
    assert process.status is ProcessStatus.WAITING

    process = await process.respond(process.pending[0].id, "the first")
    assert process.result == Book("read")


async def test_a_limit_that_ends_several_agents_ends_the_process() -> None:
    @planned_agent(description="has two readers at work")
    class Readers:
        @achieves_goal("written")
        @action
        async def write(self, topic: UserInput, context: OperationContext) -> str:
            async with asyncio.TaskGroup() as group:
                for _ in range(2):
                    group.create_task(context.run_agent(Reader(), Book))
            return "written"

    options = ProcessOptions(budget=Budget(actions=3))
    process = await Platform(ScriptedModel()).start(Readers(), "frogs", options=options)

    assert (process.status, process.failure) == (ProcessStatus.TERMINATED, "the budget of 3 actions is used up")
    assert steps(process) == ["write"]
