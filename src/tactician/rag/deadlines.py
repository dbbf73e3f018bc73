"""Time limits of work in threads, which nothing can stop from outside: long loops ask whether they may go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import monotonic
from typing import TypeVar

from tactician.grammar import format_count
from tactician.rag.errors import UnreadableDocumentError
from tactician.runs.context.threads import in_thread

T = TypeVar("T")


class Deadline:
    """End of the time for a document; it is reached early when the work is cancelled.

    Args:
        seconds: the time from now on.
    """

    def __init__(self, seconds: float = inf) -> None:
        self.seconds = seconds
        self._end = monotonic() + seconds
        self._is_cancelled = False

    @property
    def remaining(self) -> float:
        """Seconds until the end, at least a millisecond."""
        return max(0.001, self._end - monotonic())

    def check(self) -> None:
        """Raise an error when the work has to end.

        Raises:
            UnreadableDocumentError: when the time is over.
            CancelledError: when the work was cancelled.
        """
        if self._is_cancelled:
            raise asyncio.CancelledError
        if monotonic() > self._end:
            raise UnreadableDocumentError(f"reading it took more than {format_count(self.seconds, 'second')}")

    def cancel(self) -> None:
        """Let the work end at its next check."""
        self._is_cancelled = True


_deadline: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def limit_time(seconds: float) -> Iterator[Deadline]:
    """Set the deadline of the work inside of the context."""
    token = _deadline.set(Deadline(seconds))
    try:
        yield current_deadline()
    finally:
        _deadline.reset(token)


def current_deadline() -> Deadline:
    """Return the deadline of the running work, or one that is never reached."""
    return _deadline.get() or Deadline()


def check_deadline() -> None:
    """Raise an error when the running work has to end; see `Deadline.check`."""
    if (deadline := _deadline.get()) is not None:
        deadline.check()


async def run_cancellable(work: Callable[[], T]) -> T:
    """Return the result of work in a thread, which ends soon after a cancellation because it calls `check_deadline`."""
    deadline = current_deadline()
    token = _deadline.set(deadline)
    try:
        return await in_thread(work)
    except asyncio.CancelledError:
        deadline.cancel()
        raise
    finally:
        _deadline.reset(token)
