"""What every Runnable of Tactician can do beside `run`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Generic

from typing_extensions import TypeVar

from tactician.events import Event
from tactician.llm import TraceMetadata
from tactician.runs import (
    Budget,
    Input,
    PendingRequest,
    Response,
    RunContext,
    RunResult,
    begin,
    go_on,
    pending_of,
    run_blocking,
    stream_events,
)
from tactician.tools import RunnableTool, Tool

if TYPE_CHECKING:
    from tactician.agents.boundary import Returns
    from tactician.blueprint import Blueprint

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True, default=str)


class BaseRunnable(ABC, Generic[T_co]):
    """Gives a class with `name`, `description` and `_work` all that a Runnable offers.

    `_work` is run again from the beginning after a pause. What it does has to be runs of other Runnables, in an order
    that depends on their results only: those that had ended give the same results again, without doing anything.
    """

    name: str
    description: str
    output_type: type[T_co] | None = None
    """What it gives, where that is known beforehand."""
    trace: TraceMetadata | None = None
    """What its requests belong to, and those of all that it runs, where these do not say otherwise."""

    @abstractmethod
    async def _work(self, input: Input, context: RunContext) -> RunResult[T_co]:
        """Does the work, in the context of this run."""

    async def run(
        self, input: Input, *, context: RunContext | None = None, budget: Budget | None = None
    ) -> RunResult[T_co]:
        """Does the work.

        Args:
            input: a string, a message, a conversation or any object that has a JSON form.
            context: the surroundings; the models of the environment by default.
            budget: how much it and all runs inside it may use; no limit by default.

        Returns:
            The result. Its status is `WAITING` when the run needs an approval or the caller first: see `resume`.

        Raises:
            RunError: when it fails; the error holds what was done so far.
            ModelError: when a model cannot be called.
        """
        return await begin(self.name, input, self._traced(context), budget, self._work)

    async def resume(
        self, run_id: str, responses: Mapping[str, Response], *, context: RunContext | None = None
    ) -> RunResult[T_co]:
        """Goes on with a run that waits, in this process or another one.

        Args:
            run_id: `run_id` of the result that the waiting run gave.
            responses: what it is told, by the ids of its pending requests: `approve()`, `reject("why")`, or what a tool
                gave. Those left out stay pending.
            context: the surroundings; they need the store of the run that waits.

        Raises:
            RunNotFoundError: when no run of this name waits with the id, or not for one of these requests.
            RunConflictError: when somebody else has taken it up.
            RunError: when it fails. It still waits then, with what it has done since.
        """
        return await go_on(self.name, run_id, responses, self._traced(context), self._work)

    async def pending(self, run_id: str, *, context: RunContext | None = None) -> tuple[PendingRequest, ...]:
        """What a run of this waits for.

        Raises:
            RunNotFoundError: when no run of this name waits with the id.
        """
        return await pending_of(self.name, run_id, context)

    def _traced(self, context: RunContext | None) -> RunContext | None:
        """The context, in which everything belongs to what this belongs to."""
        return context if self.trace is None else (context or RunContext.default()).traced(self.trace)

    def run_sync(self, input: Input) -> RunResult[T_co]:
        """`run`, for programs without an event loop.

        Raises:
            RuntimeError: when called inside a running event loop; use `await ... .run(...)` there.
        """
        return run_blocking(self.run(input))

    def stream(
        self, input: Input, *, context: RunContext | None = None, budget: Budget | None = None
    ) -> AsyncGenerator[Event]:
        """The events of a run as they happen, the answer in pieces; the last one is `RunCompleted`."""

        async def run(heard: RunContext) -> RunResult[object]:
            return await self.run(input, context=heard, budget=budget)

        return stream_events(run, context or RunContext.default())

    def as_tool(self, name: str | None = None, description: str | None = None) -> Tool:
        """This as a tool with one argument, `request`."""
        return RunnableTool(self, name, description)

    def to_blueprint(self, *, strict: bool = False) -> Blueprint:
        """This as data, with all that it is made of: see `Blueprint`.

        Args:
            strict: refuse to leave out tools that no import would find again; else a `BlueprintWarning` names them.

        Raises:
            BlueprintError: with everything that a blueprint cannot say.
        """
        from tactician.blueprint import Blueprint

        return Blueprint.of(self, strict=strict)

    def returns(self, wanted: type[T]) -> Returns[T]:
        """This, with an answer that is of the wanted type whoever gives it: see `Returns`."""
        from tactician.agents.boundary import Returns

        return Returns(self, wanted)
