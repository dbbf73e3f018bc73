"""What every Runnable of Tactician can do beside `run`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic

from pydantic import BaseModel, ConfigDict, ValidationError
from typing_extensions import TypeVar

from tactician.errors import ToolError
from tactician.events import Event
from tactician.llm import ToolSpec
from tactician.runs import Input, RunContext, Runnable, RunResult, run_blocking, stream_events
from tactician.tools import Tool, as_text, problems_of

T_co = TypeVar("T_co", covariant=True, default=str)


class BaseRunnable(ABC, Generic[T_co]):
    """Gives a class with `name`, `description` and `run` the rest of what a Runnable offers."""

    name: str
    description: str

    @abstractmethod
    async def run(self, input: Input, *, context: RunContext | None = None) -> RunResult[T_co]:
        """Does the work."""

    def run_sync(self, input: Input) -> RunResult[T_co]:
        """`run`, for programs without an event loop.

        Raises:
            RuntimeError: when called inside a running event loop; use `await ... .run(...)` there.
        """
        return run_blocking(self.run(input))

    def stream(self, input: Input, *, context: RunContext | None = None) -> AsyncGenerator[Event]:
        """The events of a run as they happen, the answer in pieces; the last one is `RunCompleted`."""

        async def run(heard: RunContext) -> RunResult[object]:
            return await self.run(input, context=heard)

        return stream_events(run, context or RunContext.default())

    def as_tool(self, name: str | None = None, description: str | None = None) -> Tool:
        """This as a tool with one argument, `request`."""
        return RunnableTool(self, name, description)


class RunnableTool(Tool):
    """A Runnable that a model can call."""

    def __init__(self, runnable: Runnable, name: str | None = None, description: str | None = None) -> None:
        self._runnable = runnable
        schema = {
            "type": "object",
            "properties": {"request": {"type": "string", "description": "what is to be done, in full"}},
            "required": ["request"],
            "additionalProperties": False,
        }
        self._spec = ToolSpec(name or snake_case(runnable.name), description or runnable.description, schema)

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return self._spec

    async def call(self, arguments: str, context: RunContext) -> str:
        """Runs the Runnable, as a child of the run that calls it.

        Raises:
            ToolError: when `request` is missing.
        """
        try:
            request = _Request.model_validate_json(arguments).request
        except ValidationError as error:
            raise ToolError(f"The arguments are not valid: {problems_of(error)}") from error
        return as_text((await self._runnable.run(request, context=context)).output)


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")
    request: str


class FunctionRunnable(BaseRunnable[T_co]):
    """A function as a Runnable. Made by `runnable`."""

    def __init__(self, function: Callable[..., Awaitable[T_co]], name: str, description: str) -> None:
        self.name = name
        self.description = description
        self._function = function

    async def run(self, input: Input, *, context: RunContext | None = None) -> RunResult[T_co]:
        """Calls the function with the input."""
        child = (context or RunContext.default()).child(self.name)
        return RunResult(await self._function(input), tally=child.tally)


def runnable(
    function: Callable[..., Awaitable[T_co]], *, name: str | None = None, description: str | None = None
) -> FunctionRunnable[T_co]:
    """Makes a Runnable of any async function of one argument."""
    own_name = str(getattr(function, "__name__", type(function).__name__))
    return FunctionRunnable(function, name or own_name, description or (function.__doc__ or own_name).strip())


def snake_case(name: str) -> str:
    """`Code Writer` and `CodeWriter` as `code_writer`: a name that every provider accepts for a tool."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")[:64] or "agent"
