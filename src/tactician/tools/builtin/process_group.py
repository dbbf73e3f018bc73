"""Process groups: a program and all that it starts, with a bounded life and output."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from typing_extensions import override

from tactician.clock import Clock
from tactician.errors import ToolError
from tactician.flow.timeout import StepTimeoutError, run_with_timeout
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.tools.builtin.process_watch import ProcessWatch
from tactician.tools.builtin.program_limits import ProgramLimits, limit_command

_OUTPUT_GRACE: Final = 1.0
"""Seconds to wait for the end of outputs: a program that has left its group keeps them open."""
_EXIT_GRACE: Final = 10.0
"""Seconds to wait for the end of a program that was killed: nothing but the system can hold it up."""
_OUTPUT, _ERRORS = 1, 2


@frozen
class Program:
    """Program to run.

    Attributes:
        arguments: the program and its arguments.
        folder: the folder in which it starts; the current folder, when `None`.
        environment: its environment variables.
        input: its standard input.
        name: its name in messages; the first argument, when `None`.
    """

    arguments: Sequence[str]
    folder: Path | None
    environment: Mapping[str, str]
    input: bytes = b""
    name: str | None = None

    @property
    def label(self) -> str:
        """The name in messages."""
        return repr((self.name or self.arguments[0])[:200])


@frozen
class ProgramResult:
    """Result of a program.

    Attributes:
        exit_code: 0 when it succeeded; negative, when a signal ended it.
        output: its standard output.
        errors: its standard error.
    """

    exit_code: int
    output: str
    errors: str = ""


async def run_process_group(program: Program, limits: ProgramLimits, clock: Clock) -> ProgramResult:
    """Run a program to its end, and kill whatever it leaves behind.

    Args:
        program: the program.
        limits: its limits. A cancellation kills it too.
        clock: the time.

    Raises:
        ToolError: when it cannot be started, takes too long, or uses too much memory or too many processes.
    """
    transport, protocol = await _start(program, limits)
    group = transport.get_pid()
    watch = ProcessWatch(group, limits)
    try:
        with watch.watch():
            protocol.feed(program.input)
            await run_with_timeout(protocol.exited.wait(), limits.timeout, clock, program.label)
        _kill(group)  # what was left behind would keep the outputs open
        await _wait(protocol.closed, _OUTPUT_GRACE)
        if watch.problem is not None:
            raise ToolError(f"{program.label} was killed, as {watch.problem}.")
        return ProgramResult(transport.get_returncode() or 0, protocol.read(_OUTPUT), protocol.read(_ERRORS))
    except StepTimeoutError as error:
        raise ToolError(
            f"{program.label} was killed, as it took longer than {format_count(limits.timeout, 'second')}."
        ) from error
    finally:
        _kill(group)
        try:
            await _wait(
                protocol.exited, _EXIT_GRACE
            )  # else closing asks for the end too, and asyncio warns of a lost process
        finally:
            transport.close()


async def _start(program: Program, limits: ProgramLimits) -> tuple[asyncio.SubprocessTransport, _ProgramProtocol]:
    try:
        started = await asyncio.get_running_loop().subprocess_exec(
            lambda: _ProgramProtocol(limits.output),
            *limit_command(program.arguments, limits),
            cwd=program.folder,
            env=program.environment,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ToolError(f"{program.label} cannot be started: {reason}.") from error
    return started


class _ProgramProtocol(asyncio.SubprocessProtocol):
    """Outputs of a program. More than the limit is read and dropped, so that the program can go on."""

    def __init__(self, max_output: int) -> None:
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()
        self._limit = max_output
        self._kept = {_OUTPUT: bytearray(), _ERRORS: bytearray()}
        self._dropped = {_OUTPUT: 0, _ERRORS: 0}
        self._open = {_OUTPUT, _ERRORS}
        self._transport: asyncio.SubprocessTransport | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    @override
    def pipe_data_received(self, fd: int, data: bytes) -> None:
        room = self._limit - len(self._kept[fd])
        self._kept[fd] += data[:room]
        self._dropped[fd] += max(0, len(data) - room)

    @override
    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self.closed.set()

    @override
    def process_exited(self) -> None:
        self.exited.set()

    def feed(self, input: bytes) -> None:
        """Write the standard input, and close it."""
        assert self._transport is not None
        pipe = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        pipe.write(input)
        pipe.close()

    def read(self, fd: int) -> str:
        """Return what is kept of an output."""
        text = self._kept[fd].decode(errors="replace")
        return f"{text}\n[cut: {format_count(self._dropped[fd], 'more byte')}]" if self._dropped[fd] else text


def _kill(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
