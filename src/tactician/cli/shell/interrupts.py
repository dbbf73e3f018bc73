"""Ctrl-C in the shell: it cancels what a line does, and not the shell."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, TypeAlias

_MOST: Final = 3
"""Number of interruptions after which the program ends, as what it does takes no notice."""
_Handler: TypeAlias = Callable[[int, FrameType | None], object]


@contextmanager
def ignore_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C during the `with` block, as between two lines."""
    with _handle_interrupts(lambda number, frame: None):
        yield


@contextmanager
def cancel_at_interrupt(task: asyncio.Task[object]) -> Iterator[None]:
    """Cancel a task at Ctrl-C during the `with` block. At the third time the program ends."""
    loop, times = asyncio.get_running_loop(), 0

    def cancel(number: int, frame: FrameType | None) -> None:
        nonlocal times
        times += 1
        if times >= _MOST:
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(task.cancel)

    with _handle_interrupts(cancel):
        yield


@contextmanager
def _handle_interrupts(handler: _Handler) -> Iterator[None]:
    previous = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
