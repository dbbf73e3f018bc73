"""Makers of tasks in a run: functions, and tasks whose templates are filled in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from typing_extensions import TypeVar

from tactician.ensemble.tasks.task import Task, TaskLike
from tactician.ensemble.values.task_input import Values
from tactician.ensemble.values.template import fill_template
from tactician.ensemble.work.composite import Casting
from tactician.tools.tool import as_text

V = TypeVar("V")
W = TypeVar("W", default=object)
TaskMaker: TypeAlias = Callable[[V], TaskLike[W]] | Task[W]
"""Function that returns the task for a value, or a task in whose templates the value stands."""


def is_task_maker(value: object) -> bool:
    """Return whether a value makes tasks."""
    return isinstance(value, Task) or callable(value)


def prepare_task(
    maker: TaskMaker[V], value: V, name: str | None, values: Values, casting: Casting
) -> Callable[[], TaskLike]:
    """Return a function without arguments that makes the task for a value.

    Args:
        maker: the maker.
        value: the value.
        name: name of the value in templates; `None` when templates cannot name it.
        values: the values of the run for templates.
        casting: the agents that a model has chosen.
    """
    if not isinstance(maker, Task):
        return partial(maker, value)
    named_values = values if name is None else {**values, name: as_text(value)}
    return partial(_fill_in, casting.find(maker), named_values)


def _fill_in(template: Task, values: Values) -> Task:
    """Return the task of a template. Without an id of its own, it is named by its description."""
    return replace(
        template,
        id=template.id if template.id != template.description else "",
        description=fill_template(template.description, values),
        expected_output=fill_template(template.expected_output, values),
    )
