"""The same work for several items at once, inside an action."""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from typing import TypeVar

from tactician.errors import ConfigurationError
from tactician.process.people import asking_for
from tactician.runs import RunContext, settle

T = TypeVar("T")
V = TypeVar("V")
_branch: ContextVar[tuple[RunContext, RunContext] | None] = ContextVar("the item that is worked on", default=None)


def run_of(run: RunContext) -> RunContext:
    """The context of an action, or of the item that is worked on in it: what that runs is found again after a pause,
    whichever item comes first then."""
    branch = _branch.get()
    return branch[1] if branch is not None and branch[0] is run else run


async def mapped(
    run: RunContext, items: Iterable[T], function: Callable[[T], Awaitable[V]], max_concurrency: int
) -> list[V]:
    """What the function gives for each item, in their order.

    Raises:
        ConfigurationError: when `max_concurrency` is less than 1.
    """
    if max_concurrency < 1:
        raise ConfigurationError(f"max_concurrency is {max_concurrency}; it has to be at least 1")
    free, step = Semaphore(max_concurrency), run_of(run).step("map")

    async def work(number: int, item: T) -> V:
        async with free:
            inside = step.at(str(number))
            _branch.set((run, inside))  # each is a task, with a context of its own
            with asking_for(inside):
                return await function(item)

    return await settle(*(work(number, item) for number, item in enumerate(items, start=1)))
