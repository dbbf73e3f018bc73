"""Work that a cancellation does not interrupt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

T = TypeVar("T")


async def run_to_completion(work: Coroutine[object, object, None]) -> None:
    """Run a coroutine to its end. A cancellation of the caller takes effect after that."""
    task, is_cancelled = asyncio.ensure_future(work), False
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            is_cancelled = True
    task.result()
    if is_cancelled:
        raise asyncio.CancelledError


async def run_or_undo(work: Coroutine[object, object, T], undo: Callable[[T], Coroutine[object, object, None]]) -> T:
    """Run a coroutine to its end, and return its result. When the caller is cancelled, nobody gets it: undo it.

    Args:
        work: the coroutine.
        undo: function that undoes what was done, given the result.
    """
    results: list[T] = []

    async def run() -> None:
        results.append(await work)

    try:
        await run_to_completion(run())
    except asyncio.CancelledError:
        for result in results:
            await run_to_completion(undo(result))
        raise
    return results[0]
