"""Work that a cancellation does not interrupt."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


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
