"""Child process that does what must not harm this process: with limits of time and memory, and without keys."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tactician.clock import Clock
from tactician.flow.timeout import run_with_timeout
from tactician.rag.child_program import ANSWER, REQUEST

_KEPT_VARIABLES: Final = ("PATH", "PYTHONPATH", "SYSTEMROOT", "LANG", "LC_ALL", "TMPDIR", "TEMP")
_MAX_ANSWER: Final = 200_000_000


class ChildProcess:
    """Process of a program that answers requests, started on first use and again after it was stopped.

    The process gets what is sent to it, and no keys of this process.

    Args:
        module: the module of the program, which calls `serve_requests`.
        arguments: its arguments, such as limits.
        clock: the clock of the time limits.
    """

    def __init__(self, module: str, arguments: Sequence[object], clock: Clock) -> None:
        # -P: a file of the working directory, which an agent may have written, is no module of the program.
        self._command = (sys.executable, "-P", "-m", module, *map(str, arguments))
        self._clock = clock
        self._process: Process | None = None

    async def ask(self, header: Mapping[str, object], body: bytes, seconds: float) -> dict[str, Any]:
        """Return the answer to a request. A process without an answer is stopped, also when this is cancelled.

        Raises:
            StepTimeoutError: when the time is over.
            OSError, EOFError, ValueError: when the process broke down.
        """
        try:
            return await run_with_timeout(self._exchange(header, body), seconds, self._clock, "the child process")
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop the process, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.kill()
        if process.stdin is not None:
            process.stdin.close()
        await asyncio.shield(process.communicate())

    async def _exchange(self, header: Mapping[str, object], body: bytes) -> dict[str, Any]:
        process = await self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        packed = json.dumps(header).encode()
        process.stdin.write(REQUEST.pack(len(packed), len(body)) + packed)
        process.stdin.write(body)
        await process.stdin.drain()
        (length,) = ANSWER.unpack(await process.stdout.readexactly(ANSWER.size))
        if length > _MAX_ANSWER:
            raise ValueError("the answer is too long")
        answer: dict[str, Any] = json.loads(await process.stdout.readexactly(length))
        return answer

    async def _start(self) -> Process:
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=_create_environment()
            )
        return self._process


def _create_environment() -> dict[str, str]:
    """Return the variables of the process, which finds this package where this process has found it."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    root = Path(__file__).resolve().parents[2]
    if root.name not in ("site-packages", "dist-packages"):
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, (kept.get("PYTHONPATH"), str(root))))
    return kept
