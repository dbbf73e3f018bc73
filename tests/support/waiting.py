"""Waiting for what other tasks do, without sleeping."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


async def eventually(holds: Callable[[], bool | Awaitable[bool]], seconds: float = 30.0) -> None:
    """Lets other tasks run until the condition holds; fails when it never does."""
    async with asyncio.timeout(seconds):
        while not await _is_so(holds()):  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.001)


async def _is_so(found: bool | Awaitable[bool]) -> bool:
    return found if isinstance(found, bool) else await found
