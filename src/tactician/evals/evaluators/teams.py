"""Evaluators of work in teams: handoffs, tasks and reviews."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

from tactician.agents import RouteChosen
from tactician.ensemble import DelegationStarted, PhaseReviewed, ReviewDecided, TaskCompleted, TaskRestored
from tactician.evals.context import EvalContext, judge_problems, read_context
from tactician.evals.evaluators.plans import list_names
from tactician.loop import HandedOff
from tactician.suggestions import suggest_options


@suggest_options
@dataclass(repr=False)
class HandedTo(Evaluator[Any, Any, Any]):
    """Assertion that the work was handed to an agent: by a handoff, a router, a supervisor or a delegation.

    Attributes:
        name: name or role of the agent.
    """

    name: str

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        """Return whether the agent got work."""
        reached = list(dict.fromkeys(_list_targets(read_context(ctx))))
        shown = ", ".join(reached) or "nobody"
        return EvaluationReason(value=self.name in reached, reason=f"the work went to {shown}")


@dataclass(repr=False, init=False)
class TasksDone(Evaluator[Any, Any, Any]):
    """Assertion that these tasks of an ensemble were completed; `TasksDone("research", "report")`."""

    ids: tuple[str, ...]

    def __init__(self, *ids: str | Sequence[str]) -> None:
        self.ids = list_names("TasksDone", ids)

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        """Return whether all of them were completed."""
        context = read_context(ctx)
        done = {event.task_id for event in context.events if isinstance(event, TaskCompleted | TaskRestored)}
        shown = ", ".join(sorted(done)) or "no task"
        return judge_problems(
            f"{expected} was not completed, only {shown}" for expected in self.ids if expected not in done
        )


@suggest_options
@dataclass(repr=False)
class Reviewed(Evaluator[Any, Any, Any]):
    """Assertion that a review of a task or a phase took place.

    Attributes:
        decision: the decision of the last review, such as `"approve"`; any by default.
        subject: id of the task, or name of the phase; any by default.
    """

    decision: str | None = None
    subject: str | None = None

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        """Return whether there was such a review."""
        decisions = [
            decision for subject, decision in _list_reviews(read_context(ctx)) if self.subject in (None, subject)
        ]
        holds = bool(decisions) and self.decision in (None, decisions[-1])
        return EvaluationReason(value=holds, reason=f"reviews: {', '.join(decisions) or 'none'}")


def _list_reviews(context: EvalContext) -> Iterator[tuple[str, str]]:
    for event in context.events:
        if isinstance(event, ReviewDecided):
            yield event.task_id, str(event.decision)
        elif isinstance(event, PhaseReviewed):
            yield event.phase, str(event.decision)


def _list_targets(context: EvalContext) -> Iterator[str]:
    for event in context.events:
        yield from event.path[1:]
        if isinstance(event, HandedOff | RouteChosen):
            yield event.target
        elif isinstance(event, DelegationStarted):
            yield event.role
