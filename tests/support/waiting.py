"""Waiting for what other tasks do, without sleeping."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    """Lets other tasks run until the condition holds; fails when it never does."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.001)
