"""Standard error of the programs of servers: in the log of this program, and its end in errors."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TextIO

from typing_extensions import override

from tactician.loggers import get_logger

_KEPT = 2_000

_logger = get_logger(__name__)


@asynccontextmanager
async def capture_errors(redact: Callable[[str], str]) -> AsyncIterator[TextIO]:
    """Open a file for what a program writes to its standard error; an error inside has its end as a note.

    Args:
        redact: function that removes secrets from a text.
    """
    if sys.platform == "win32":
        with open(os.devnull, "w") as nowhere:  # noqa: ASYNC230, PTH123 - its event loop reads no pipes of this kind
            yield nowhere
        return
    reading, writing = os.pipe()
    reader = _Tail(redact)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: reader, os.fdopen(reading, "rb", 0))
    try:
        with os.fdopen(writing, "w") as file:
            yield file
    except BaseException as error:
        await asyncio.sleep(0)  # what the program has written is read
        if text := reader.text:
            error.add_note(f"It wrote: {text}")
        raise
    finally:
        transport.close()


class _Tail(asyncio.Protocol):
    """End of what is read, which is logged besides."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._bytes = b""

    @property
    def text(self) -> str:
        """The last two thousand bytes as text."""
        return self._redact(self._bytes.decode(errors="replace")).strip()

    @override
    def data_received(self, data: bytes) -> None:
        self._bytes = (self._bytes + data)[-_KEPT:]
        if _logger.isEnabledFor(logging.DEBUG):
            _logger.debug("%s", self._redact(data.decode(errors="replace")).rstrip())
