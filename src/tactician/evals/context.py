"""What evaluators see of a run: its output, and all that happened on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from pydantic_evals.evaluators import EvaluationReason, EvaluatorContext
from pydantic_evals.otel import SpanTree

from tactician.evals.span_trees import build_span_tree
from tactician.evals.summaries import WaitingCase
from tactician.events import Event
from tactician.llm.usage import UsageTally
from tactician.planning import Plan
from tactician.platform import Platform
from tactician.process import ActionStarted
from tactician.runs import RunContext
from tactician.trace import Trace

E = TypeVar("E", bound=Event)


@dataclass(kw_only=True)
class EvalContext(EvaluatorContext[Any, Any, Any]):
    """Context of an evaluator: what pydantic-evals knows of a case, and the run behind it.

    Attributes:
        run_id: the id of the run; empty for a plan that was not run.
        events: the events of the run and of all runs inside it, oldest first.
        tally: what the run used, model by model.
        run: the context for what evaluators run themselves, such as the calls of a judge.
        platform: the platform of the run.
        key: key of the run of the case, which no other has; empty when it is kept nowhere.
        waiting: what people have not judged yet.
        plan: the plan that was chosen, where only that was asked for.
        seed: number that is the same for the same case, repetition and seed of the evaluation.
    """

    run_id: str = ""
    events: tuple[Event, ...] = field(default=(), repr=False)
    tally: UsageTally = field(default_factory=UsageTally)
    run: RunContext | None = field(default=None, repr=False)
    platform: Platform | None = field(default=None, repr=False)
    key: str = ""
    waiting: list[WaitingCase] = field(default_factory=list)
    plan: Plan | None = None
    seed: int = 0

    @cached_property
    def trace(self) -> Trace:
        """The tree of all that the run did."""
        return Trace.from_events(self.events, is_whole=True)

    @property
    def span_tree(self) -> SpanTree:
        """The spans of the run as pydantic-evals reads them, also without OpenTelemetry."""
        return self._spans

    @cached_property
    def _spans(self) -> SpanTree:
        return build_span_tree(self.trace)

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """The actions that ran, or, where it was only planned, the actions of the plan."""
        if self.plan is not None:
            return tuple(action.name for action in self.plan.actions)
        return tuple(event.action for event in self.list_events(ActionStarted))

    def list_events(self, kind: type[E]) -> list[E]:
        """Return the events of a class, oldest first."""
        return [event for event in self.events if isinstance(event, kind)]


def read_context(context: EvaluatorContext[Any, Any, Any]) -> EvalContext:
    """Return the context with its run.

    Raises:
        TypeError: when the evaluator was not called by `tactician.evals.evaluate`.
    """
    if not isinstance(context, EvalContext):
        raise TypeError("this evaluator reads the run of a case: evaluate with `tactician.evals.evaluate`")
    return context


def judge_problems(problems: Iterator[str]) -> EvaluationReason:
    """Return an assertion that holds without problems, and otherwise says all of them."""
    listed = list(problems)
    return EvaluationReason(value=not listed, reason="; ".join(listed) or None)
