"""Input of a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from tactician.ensemble.learning.reflection import TaskReflection
from tactician.ensemble.learning.scopes import ScopeEntry
from tactician.ensemble.values.task_output import TaskOutput
from tactician.frozen import frozen

Values: TypeAlias = Mapping[str, str]
"""Values for templates, by name."""


@frozen
class Revision:
    """Feedback for a task that runs again because its output was not good enough.

    Attributes:
        attempt: number of the attempt that begins, from 2.
        feedback: what has to change.
        previous: the output of the attempt before.
    """

    attempt: int
    feedback: str = ""
    previous: str = ""


@frozen(enforced=False)
class TaskInput:
    """Input of a task, as its handler gets it.

    Attributes:
        task_id: the id of the task.
        description: its description, with the templates filled in.
        expected_output: its expected output, with the templates filled in.
        context_outputs: the outputs of its context tasks, in the order in which the task names them.
        values: the values for templates with which the ensemble runs.
        text: the text of the caller, for the first tasks of an ensemble.
        revision: the feedback on the attempt before, and its output; `None` in the first attempt.
        earlier_outputs: what earlier iterations of the loop gave, as far as its memory goes; empty for a task with
            memory scopes, which recalls it from there.
        forgotten_outputs: what other earlier iterations gave, which the task does not recall.
        memory: the entries that the task has recalled, by memory scope.
        reflections: the reflections on earlier runs of the task, newest first.
        shows_text: true when the prompt of the task has the text; false when a template names `{input}` instead.
    """

    task_id: str
    description: str
    expected_output: str = ""
    context_outputs: tuple[TaskOutput, ...] = ()
    values: Values = field(default_factory=dict)
    text: str = ""
    revision: Revision | None = None
    earlier_outputs: tuple[TaskOutput, ...] = ()
    forgotten_outputs: tuple[TaskOutput, ...] = ()
    memory: Mapping[str, tuple[ScopeEntry, ...]] = field(default_factory=dict)
    reflections: tuple[TaskReflection, ...] = ()
    shows_text: bool = True
