"""Functions of users that wait without `await`, beside the event loop, and coroutines where no loop runs."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_outer_loop: ContextVar[AbstractEventLoop | None] = ContextVar("the loop that waits for this thread", default=None)


async def in_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a thread, and return its result.

    Raises:
        RuntimeError: for a `StopIteration`, as from every coroutine.
        BaseException: whatever else it raises.
    """
    loop = asyncio.get_running_loop()

    def call() -> T:
        _outer_loop.set(loop)  # in this thread's copy of the context
        try:
            return function(*args, **kwargs)
        except StopIteration as error:  # no future takes it: who waits for it would wait for ever
            raise RuntimeError(f"{getattr(function, '__qualname__', function)} raised StopIteration") from error

    return await asyncio.to_thread(call)


def run_blocking(coroutine: Coroutine[object, object, T]) -> T:
    """Run a coroutine to its end: in the event loop that waits for this thread, if any, else in a new loop.

    Raises:
        RuntimeError: when called inside a running event loop; `await` there instead.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        loop = _outer_loop.get()
        if loop is None:
            return asyncio.run(coroutine)
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result()
    coroutine.close()
    raise RuntimeError("this is a running event loop: await the method without `_sync` instead")
