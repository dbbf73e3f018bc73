"""Predicates of users over outputs: the conditions of tasks, the ends of loops, and the edges of graphs."""

from __future__ import annotations

import inspect

from tactician.ensemble.values.errors import PredicateError
from tactician.ensemble.values.outcomes import OutputPredicate, TaskOutputs
from tactician.ensemble.values.results import EnsembleResult
from tactician.runs import RunContext
from tactician.text import describe_error


async def evaluate_predicate(
    predicate: OutputPredicate, outputs: TaskOutputs, subject: str, result: EnsembleResult, context: RunContext
) -> bool:
    """Return the value of a predicate.

    Args:
        predicate: the predicate.
        outputs: its argument.
        subject: the predicate in messages, with its place.
        result: what the run has done so far, for the error.
        context: the context in which it runs.

    Raises:
        PredicateError: when it raises.
    """
    try:
        with context.as_internal().enter():
            answer = predicate(outputs)
            return bool(await answer if inspect.isawaitable(answer) else answer)
    except Exception as error:
        raise PredicateError(f"{subject} failed: {describe_error(error)}", result) from error


def describe_predicate(predicate: OutputPredicate) -> str:
    """Return the name of a predicate, for messages and drawings; a lambda has none."""
    name = str(getattr(predicate, "__name__", type(predicate).__name__))
    return "a lambda" if name == "<lambda>" else name
