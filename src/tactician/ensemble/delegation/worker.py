"""Workers of delegations: agents, other Runnables, and handlers of tasks."""

from __future__ import annotations

from collections.abc import Iterable

from typing_extensions import TypeForm

from tactician.agents import Agent, BaseRunnable
from tactician.agents.base import TypedRunnable
from tactician.frozen import frozen
from tactician.llm import ModelLike
from tactician.runs import Runnable


@frozen
class TeamWorker:
    """Worker of a team.

    Attributes:
        role: the role, by which others name the worker.
        runnable: the worker.
        purpose: purpose of the worker, for those who delegate.
        is_handler: true when it reads a `TaskInput` and no prompt.
        model: the model, if it has none; the model of the context, when `None`.
    """

    role: str
    runnable: Runnable
    purpose: str
    is_handler: bool = False
    model: ModelLike | None = None

    @property
    def output_type(self) -> TypeForm[object] | None:
        """The declared type of its output; `None` for text, or without a declaration."""
        declared: TypeForm[object] | None = getattr(self.runnable, "output_type", None)
        return None if declared is str else declared

    def expect(self, kind: TypeForm[object] | None, attempts: int) -> Runnable:
        """Return the worker for a task whose output has a type.

        Args:
            kind: the type; the type of the worker, when `None`.
            attempts: number of attempts at a valid output.
        """
        if kind is not None and isinstance(self.runnable, Agent):
            return self.runnable.with_defaults(kind, max_attempts=attempts)
        return expect_type(self.runnable, kind)


def describe_workers(workers: Iterable[TeamWorker]) -> str:
    """Return workers as text for those who delegate to them."""
    return "\n".join(f"- {worker.role}: {worker.purpose}" for worker in workers)


def expect_type(runnable: Runnable, kind: TypeForm[object] | None) -> Runnable:
    """Return a Runnable whose output is validated as the type, unless the type is `None`."""
    if kind is None or getattr(runnable, "output_type", None) is kind:
        return runnable
    if isinstance(runnable, BaseRunnable):
        return runnable.with_output_type(kind)
    return TypedRunnable(runnable, kind)
