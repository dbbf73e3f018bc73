"""Reflection on tasks: settings, and the notes that a run leaves for later ones."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import field, replace
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Final, TypeAlias

from pydantic import AwareDatetime, Field, TypeAdapter

from tactician.amounts import Positive
from tactician.ensemble.learning.bounds import bound_text
from tactician.errors import ConfigurationError
from tactician.events.event import new_id
from tactician.frozen import frozen
from tactician.grammar import add_article

_MOST_TEXT: Final = 4_000
_MOST_NOTE: Final = 500
_MOST_NOTES: Final = 10
_MOST_LABEL: Final = 200
_Text: TypeAlias = Annotated[str, Field(max_length=_MOST_TEXT)]
_Notes: TypeAlias = Annotated[tuple[Annotated[str, Field(max_length=_MOST_NOTE)], ...], Field(max_length=_MOST_NOTES)]


@frozen(kw_only=True)
class TaskReflection:
    """Notes of a run on how the instructions of a task could be better. The task itself stays as it is.

    Attributes:
        refined_description: a clearer description of the task; empty, when nothing is to be changed.
        refined_expected_output: a clearer description of the output.
        observations: what the run has shown.
        suggestions: improvements for later runs.
        failure: why the run could not be reflected on; then there are no notes.
        created_at: the time, by the clock of the run.
        id: unique among the reflections on a task. A reflection whose id is stored already is not stored again.
    """

    refined_description: _Text = ""
    refined_expected_output: _Text = ""
    observations: _Notes = ()
    suggestions: _Notes = ()
    failure: _Text = ""
    created_at: AwareDatetime = field(default_factory=lambda: datetime.now(UTC))
    id: Annotated[str, Field(max_length=_MOST_LABEL)] = field(default_factory=new_id)

    @property
    def notes(self) -> tuple[str, ...]:
        """All notes, without those that are blank."""
        texts = (self.refined_description, self.refined_expected_output, *self.observations, *self.suggestions)
        return tuple(text for text in texts if text.strip())

    def with_bounds(self) -> TaskReflection:
        """Return the reflection with at most ten notes of each kind, and texts cut off where they are too long."""
        return replace(
            self,
            refined_description=bound_text(self.refined_description, _MOST_TEXT),
            refined_expected_output=bound_text(self.refined_expected_output, _MOST_TEXT),
            observations=_bound_notes(self.observations),
            suggestions=_bound_notes(self.suggestions),
            failure=bound_text(self.failure, _MOST_TEXT),
            id=bound_text(self.id, _MOST_LABEL),
        )


@frozen
class ReflectionInput:
    """Accepted output of a task, for a strategy that reflects on it.

    Attributes:
        task_id: the id of the task.
        description: the description of the task, with its templates filled in.
        expected_output: its expected output, with its templates filled in.
        output: the output as text.
        prior: the reflections that the prompt of the task had, newest first.
    """

    task_id: str
    description: str
    expected_output: str
    output: str
    prior: tuple[TaskReflection, ...] = ()


Improvement: TypeAlias = TaskReflection | str | None
"""Result of a strategy: a reflection, or a suggestion as text, or `None` when there is nothing to improve."""
ReflectionStrategy: TypeAlias = Callable[[ReflectionInput], Improvement | Awaitable[Improvement]]
"""Sync or async function that finds improvements of a task's instructions in its output."""


@frozen
class Reflection:
    """Settings of the reflection on a task.

    Attributes:
        max_reflections: number of reflections in the prompt of the task, the newest ones; all that are stored, when
            `None`.
        strategy: function that reflects; by default the model of the task does.

    Raises:
        ConfigurationError: when `max_reflections` is not positive, or the strategy is not a function.
    """

    max_reflections: Positive | None = None
    strategy: ReflectionStrategy | None = None

    def __post_init__(self) -> None:
        if self.max_reflections is not None and self.max_reflections < 1:
            raise ConfigurationError(f"max_reflections must be > 0, got: {self.max_reflections}")
        if self.strategy is not None and not callable(self.strategy):
            raise ConfigurationError(f"strategy: {self.strategy!r} is not a function of a ReflectionInput")


async def apply_strategy(strategy: ReflectionStrategy, input: ReflectionInput) -> TaskReflection | None:
    """Return the reflection of a strategy; `None` when there is nothing to improve.

    Raises:
        TypeError: when the strategy returns anything else.
        Exception: any that the strategy raised.
    """
    improvement = strategy(input)
    if inspect.isawaitable(improvement):
        improvement = await improvement
    if isinstance(improvement, str):
        improvement = TaskReflection(suggestions=(improvement,))
    if improvement is None or isinstance(improvement, TaskReflection):
        return improvement if improvement is not None and improvement.notes else None
    kind = type(improvement).__name__
    raise TypeError(f"a reflection strategy returns a TaskReflection, a text or None, and not {add_article(kind)}")


@cache
def reflection_adapter() -> TypeAdapter[TaskReflection]:
    """Return the reader and writer of reflections as JSON."""
    return TypeAdapter(TaskReflection)


def _bound_notes(notes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(bound_text(note, _MOST_NOTE) for note in notes[:_MOST_NOTES])
