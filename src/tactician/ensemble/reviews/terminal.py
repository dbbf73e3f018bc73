"""Terminal at which people answer: lines that are read without a thread that nobody could stop."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from asyncio import AbstractEventLoop
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import cache
from typing import TypeAlias
from weakref import WeakKeyDictionary

from tactician.runs.context.threads import in_thread

ReadLine: TypeAlias = Callable[[str], str | Awaitable[str]]
"""Function of a prompt that returns a line without its end. It raises `EOFError` at the end of the input."""
Rest: TypeAlias = Callable[[], AbstractContextManager[None]]
_REST: ContextVar[Rest] = ContextVar("rest while somebody is asked", default=nullcontext)


@contextmanager
def rest_while_asking(rest: Rest) -> Iterator[None]:
    """Let something rest while somebody is asked at the terminal by a run that begins in the `with` block.

    Args:
        rest: function that returns the context of each question, such as one in which a drawing at the terminal rests.
    """
    token = _REST.set(rest)
    try:
        yield
    finally:
        _REST.reset(token)


def begin_rest() -> AbstractContextManager[None]:
    """Return the context of a question at the terminal."""
    return _REST.get()()


class Terminal:
    """Terminal that asks its questions in turn, also for several reviewers.

    A question that is cancelled, as at its timeout, leaves nothing behind that would take the line for the next.
    What somebody has typed for it is no answer to the next question, which they had not seen.

    Args:
        read: function that reads a line; from the standard input by default.
    """

    def __init__(self, read: ReadLine | None = None) -> None:
        self._read = read
        self._turns: WeakKeyDictionary[AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
        self._line = bytearray()
        self._has_late_input = False

    @property
    def turn(self) -> asyncio.Lock:
        """The lock that the current asker holds."""
        return self._turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    async def read(self, prompt: str) -> str:
        """Return the next line.

        Raises:
            EOFError: at the end of the input.
        """
        if self._read is not None:
            if inspect.iscoroutinefunction(self._read):
                return str(await self._read(prompt))
            line = await in_thread(self._read, prompt)
            return line if isinstance(line, str) else await line
        sys.stdout.write(prompt)
        sys.stdout.flush()
        try:
            return await self._read_standard_input()
        except asyncio.CancelledError:
            self._has_late_input = True
            raise

    async def _read_standard_input(self) -> str:
        loop, stream = asyncio.get_running_loop(), sys.stdin
        try:
            descriptor = stream.fileno()
            if self._has_late_input:
                self._forget_late_input(descriptor)
            done: asyncio.Future[bytes] = loop.create_future()
            loop.add_reader(descriptor, self._read_byte, descriptor, done)
        except (AttributeError, OSError, ValueError, NotImplementedError):  # a file, a notebook, or Windows
            return _strip(await in_thread(input if stream is None else stream.readline))
        try:
            return _strip((await done).decode(stream.encoding or "utf-8", "replace"))
        finally:
            loop.remove_reader(descriptor)

    def _read_byte(self, descriptor: int, done: asyncio.Future[bytes]) -> None:
        """Read no further than the end of the line, since what follows may be for others."""
        if done.done():
            return
        byte = os.read(descriptor, 1)
        self._line += byte
        if byte in (b"", b"\n"):
            done.set_result(bytes(self._line))
            self._line.clear()

    def _forget_late_input(self, descriptor: int) -> None:
        """Forget what was typed for a question that was cancelled. Lines of a program are not late."""
        self._has_late_input = False
        if os.isatty(descriptor):
            self._line.clear()
            with suppress(ImportError):
                import termios

                termios.tcflush(descriptor, termios.TCIFLUSH)


@cache
def open_terminal() -> Terminal:
    """Return the terminal of the program."""
    return Terminal()


def _strip(line: str) -> str:
    """Return a line without its end.

    Raises:
        EOFError: when the input has ended.
    """
    if not line:
        raise EOFError
    return line.removesuffix("\n").removesuffix("\r")
