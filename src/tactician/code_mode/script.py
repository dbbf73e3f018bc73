"""Script of a model in a sandbox: its calls of tools become calls of functions of this program."""

from __future__ import annotations

import atexit
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import cache
from time import sleep
from typing import TYPE_CHECKING, Final, TypeAlias

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, from_json, to_json

from tactician.code_mode.limits import CodeLimits
from tactician.code_mode.signatures import ScriptFunction
from tactician.errors import ToolError
from tactician.flow.scheduler import gather_or_suspend
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.llm import ToolResult
from tactician.suggestions import did_you_mean

if TYPE_CHECKING:
    from pydantic_monty import (
        AsyncFunctionSnapshot,
        AsyncFutureSnapshot,
        AsyncMontySession,
        AsyncSnapshot,
        CollectString,
        ExternalSettledResult,
    )

CallTool: TypeAlias = Callable[[int, str, str], Awaitable[ToolResult]]
"""Function that calls a tool: the number of the call, the name of the function, and the arguments as JSON."""
_CONCURRENT: Final = re.compile(r"\b(gather|create_task|TaskGroup)\s*\(")
_FILE: Final = re.compile(r"<python-input-\d+>")
_TOO_LONG: Final = re.compile(r"feed time limit exceeded: \S+ > (\S+)")
_LONGEST_ARGUMENTS: Final = 1_000_000
_REST: Final = 0.1
"""Seconds between the last script and the end of the program."""


@frozen
class Sandbox:
    """Surroundings of a script that are the same whenever it runs again.

    Attributes:
        limits: its limits.
        now: the time that it sees.
        seed: the seed of its random numbers.
        state: the variables of scripts before it, or `None`.
    """

    limits: CodeLimits
    now: datetime
    seed: str
    state: bytes | None = None


@frozen
class ScriptOutput:
    """Output of a script: what it printed, the value of its last line as JSON, and its variables."""

    printed: str
    value: str
    state: bytes


async def run_script(
    code: str, functions: Mapping[str, ScriptFunction], call: CallTool, sandbox: Sandbox
) -> ScriptOutput:
    """Run a script to its end. It may await its calls, also several at once.

    Everything that it can observe but the results of its calls is the same when it runs again.

    Args:
        code: the script.
        functions: its functions by their names.
        call: function that calls a tool.
        sandbox: its surroundings.

    Raises:
        ToolError: when it fails, with the line, or reaches a limit.
    """
    from pydantic_monty import AsyncMonty, CollectString, MontyError

    _wait_at_exit()
    printed = CollectString(sandbox.limits.output)
    runner = _ScriptRunner(functions, call, sandbox.limits, is_concurrent=_CONCURRENT.search(code) is not None)
    try:
        async with (
            AsyncMonty(min_processes=1, max_processes=1) as pool,
            pool.checkout(
                limits=sandbox.limits.to_monty(),
                os_policy={
                    "datetime": sandbox.now,
                    "sleep": "zero",
                    "process_time": "zero",
                    "random_start": {"seed": sandbox.seed},
                },
            ) as session,
        ):
            if sandbox.state is not None:
                await session.load_session(sandbox.state)
            value = await runner.run(session, code, printed)
            state = await session.dump()
    except MontyError as error:
        raise ToolError(_describe(error, printed.output)) from error
    return ScriptOutput(printed.output, _write_value(value), state)


@cache
def _wait_at_exit() -> None:
    """Let the threads of Monty come to rest before the interpreter ends.

    A thread of Monty 1.4 that lets go of an object while Python is about to end aborts the program: it did so in every
    tenth program that ended right after a script.
    """
    atexit.register(sleep, _REST)


class _ScriptRunner:
    def __init__(
        self, functions: Mapping[str, ScriptFunction], call: CallTool, limits: CodeLimits, *, is_concurrent: bool
    ) -> None:
        self._functions = functions
        self._call = call
        self._limits = limits
        self._is_concurrent = is_concurrent
        self._calls = 0
        self._open: dict[int, tuple[str, str]] = {}

    async def run(self, session: AsyncMontySession, code: str, printed: CollectString) -> object:
        """Run the script, and return the value of its last line.

        Raises:
            ToolError: when the script has not awaited all of its calls.
        """
        from pydantic_monty import AsyncFunctionSnapshot, AsyncNameLookupSnapshot, MontyComplete

        names = dict.fromkeys(self._functions, _stand_in)
        snapshot: AsyncSnapshot = await session.feed_start(code, external_lookup=names, print_callback=printed)
        while not isinstance(snapshot, MontyComplete):
            if isinstance(snapshot, AsyncFunctionSnapshot):
                snapshot = await self._answer_call(snapshot)
            elif isinstance(snapshot, AsyncNameLookupSnapshot):
                snapshot = await snapshot.resume_auto()
            else:
                snapshot = await self._answer_open_calls(snapshot)
        if self._open:
            uncalled = ", ".join(dict.fromkeys(name for name, _ in self._open.values()))
            raise ToolError(f"Not called, as nothing awaits it: {uncalled}. Await each call where asyncio is used.")
        value: object = snapshot.output
        return value

    async def _answer_call(self, snapshot: AsyncFunctionSnapshot) -> AsyncSnapshot:
        name = str(snapshot.function_name)
        if snapshot.is_os_function:
            return await snapshot.resume({"exception": PermissionError("a script has no files and no system")})
        if name not in self._functions:
            hint = did_you_mean(name, self._functions)
            return await snapshot.resume({"exception": NameError(f"there is no function {name!r}.{hint}")})
        self._calls += 1
        if self._calls > self._limits.calls:
            return await snapshot.resume(
                {"exception": RuntimeError(f"the limit of {format_count(self._limits.calls, 'call')} is used up")}
            )
        try:
            arguments = _write_arguments(self._functions[name].parameters, snapshot.args, snapshot.kwargs)
        except TypeError as error:
            return await snapshot.resume({"exception": TypeError(f"{name}: {error}")})
        if self._is_concurrent or snapshot.allow_eager_await:
            self._open[snapshot.call_id] = (name, arguments)
            return await snapshot.resume({"future": ...})
        return await snapshot.resume(await self._answer(snapshot.call_id, name, arguments))

    async def _answer(self, number: int, name: str, arguments: str) -> ExternalSettledResult:
        return _create_answer(await self._call(number, name, arguments), self._functions[name])

    async def _answer_open_calls(self, snapshot: AsyncFutureSnapshot) -> AsyncSnapshot:
        """Call the tools that the script waits for, all at once, and answer in a fixed order."""
        ids = sorted(snapshot.pending_call_ids)
        answers = await gather_or_suspend(*(self._answer(number, *self._open.pop(number)) for number in ids))
        return await snapshot.resume(dict(zip(ids, answers, strict=True)))


def _stand_in() -> None:
    """Stand for a function: calls of it are answered by the runner."""


def _write_arguments(parameters: tuple[str, ...], positional: tuple[object, ...], named: Mapping[str, object]) -> str:
    """Return the arguments of a call as JSON.

    Raises:
        TypeError: when they do not fit the parameters, or have no JSON form.
    """
    if len(positional) > len(parameters):
        raise TypeError(f"takes {len(parameters)} arguments, not {len(positional)}")
    values = dict(zip(parameters, positional, strict=False))
    if twice := values.keys() & named.keys():
        raise TypeError(f"got two values for {', '.join(sorted(twice))}")
    try:
        text = to_json({**values, **named}).decode()
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise TypeError(f"arguments must be JSON values: {error}") from error
    if len(text) > _LONGEST_ARGUMENTS:
        raise TypeError("the arguments are too long")
    return text


def _create_answer(result: ToolResult, function: ScriptFunction) -> ExternalSettledResult:
    """Return the answer to a call: a value where the result is JSON, else its text; for an error, an exception."""
    if result.is_error:
        return {"exception": RuntimeError(result.content)}
    if function.gives_text:
        return {"return_value": result.content}
    try:
        value: JsonValue = from_json(result.content)
    except ValueError:
        value = result.content
    return {"return_value": value}


def _write_value(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else to_json(value, fallback=str).decode()


def _describe(error: Exception, printed: str) -> str:
    """Return why a script failed, with the line, for the model."""
    display = getattr(error, "display", None)
    text = _FILE.sub("script", str(display() if display is not None else error))
    text = _TOO_LONG.sub(r"time limit exceeded: the script computed for more than \1", text)
    return f"{text}\n\nPrinted before:\n{printed}" if printed else text
