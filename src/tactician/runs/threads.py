"""Functions of users that wait without `await`, beside the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


async def in_thread(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """What a function gives that runs in a thread.

    Raises:
        RuntimeError: for a `StopIteration`, as from every coroutine.
        BaseException: whatever else it raises.
    """

    def ended() -> R:
        try:
            return function(*args, **kwargs)
        except StopIteration as error:  # no future takes it: who waits for it would wait for ever
            raise RuntimeError(f"{getattr(function, '__qualname__', function)} raised StopIteration") from error

    return await asyncio.to_thread(ended)
