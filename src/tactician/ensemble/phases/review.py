"""`PhaseReview`: who decides on the outputs of a phase, and how often it may run again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias, get_args

from tactician.amounts import Seconds, Text
from tactician.ensemble.reviews.review import OnTimeout, find_timeout_mistakes
from tactician.ensemble.tasks.task import Task, TaskLike
from tactician.ensemble.values.argument_kinds import COUNT, TEXT, replace_strangers
from tactician.ensemble.values.errors import EnsembleDefinitionError
from tactician.ensemble.values.phase_decisions import PhaseDecision
from tactician.ensemble.values.task_input import TaskInput
from tactician.ensemble.work.composite import find_composite
from tactician.errors import Problem
from tactician.frozen import frozen
from tactician.suggestions import suggest_options

PhaseReviewer: TypeAlias = Callable[[TaskInput], PhaseDecision | str | Awaitable[PhaseDecision | str]]
"""Function that decides on a phase. Its argument has the outputs of the phase as `context_outputs`."""

DEFAULT_RETRIES: Final = 2
_OUTPUT_ATTEMPTS: Final = 1
"""How often a reviewer is asked once more for a decision that is none."""


@frozen
class PersonReview:
    """Person who decides on a phase.

    Attributes:
        role: the role that an answer needs; anybody may answer, when `None`.
        prompt: what is asked.
        timeout: seconds until `on_timeout` counts; the run waits for ever, when 0 or `None`.
        on_timeout: the effect of no decision in time, as of a `Review`.
    """

    role: Text | None
    prompt: str | None
    timeout: Seconds | None = None
    on_timeout: OnTimeout = "reject"


@suggest_options
class PhaseReview:
    """Review of a phase: it decides on the outputs once all tasks of the phase are completed.

    The reviewer answers with a `PhaseDecision`, or with its form as text.

    Args:
        reviewer: task that decides, or a loop, an ensemble or the like in its place, whose context is all tasks of the
            phase by default; or a function of a `TaskInput`, which may be async.
        max_retries: how often the phase may run again. After that the run fails.
        max_predecessor_retries: how often it may let each phase before it run again.

    Raises:
        EnsembleDefinitionError: with all mistakes.
    """

    def __init__(
        self,
        reviewer: TaskLike | PhaseReviewer,
        max_retries: int = DEFAULT_RETRIES,
        max_predecessor_retries: int = DEFAULT_RETRIES,
    ) -> None:
        task = reviewer.as_task() if isinstance(reviewer, TaskLike) else reviewer
        self._set_up(task, max_retries, max_predecessor_retries)

    @classmethod
    def by_person(
        cls,
        role: str | None = None,
        *,
        prompt: str | None = None,
        timeout: float | None = None,
        on_timeout: OnTimeout = "reject",
        max_retries: int = DEFAULT_RETRIES,
        max_predecessor_retries: int = DEFAULT_RETRIES,
    ) -> PhaseReview:
        """Return a review by a person, who answers with a `PhaseDecision`.

        The reviewer of the ensemble is asked first. Without its answer, the run waits until `platform.respond` brings
        one.

        Args:
            role: the role that an answer needs; anybody may answer, when `None`.
            prompt: what is asked, before the outputs of the phase; a question about the phase by default.
            timeout: seconds until `on_timeout` counts; the run waits for ever, when 0 or `None`.
            on_timeout: the effect of no decision in time: `"reject"` fails the phase, `"continue"` approves,
                `"exit_early"` ends the ensemble with the outputs so far.
            max_retries: how often the phase may run again.
            max_predecessor_retries: how often it may let each phase before it run again.

        Raises:
            EnsembleDefinitionError: with all mistakes.
        """
        review = cls.__new__(cls)
        review._set_up(PersonReview(role, prompt, timeout, on_timeout), max_retries, max_predecessor_retries)
        return review

    def _set_up(self, reviewer: Task | PhaseReviewer | PersonReview, retries: int, predecessor_retries: int) -> None:
        self.reviewer = reviewer
        self.max_retries = retries
        self.max_predecessor_retries = predecessor_retries
        if problems := [Problem(path, message) for path, message in _find_mistakes(self)]:
            raise EnsembleDefinitionError("PhaseReview", problems)

    def create_task(self, phase: str, tasks: tuple[Task, ...]) -> Task | None:
        """Return the task that decides on a phase; `None` for a person.

        Args:
            phase: the name of the phase.
            tasks: the tasks of the phase.
        """
        if isinstance(self.reviewer, PersonReview):
            return None
        if not isinstance(self.reviewer, Task):
            about = f"Review the phase {phase!r}"
            return Task(about, context=tasks, handler=self.reviewer, output_type=PhaseDecision)
        context = tasks if self.reviewer.context is None else self.reviewer.context
        if find_composite(self.reviewer) is not None:  # its own tasks have output types
            return replace(self.reviewer, context=context)
        retries = min(self.reviewer.max_output_retries, _OUTPUT_ATTEMPTS)
        return replace(self.reviewer, context=context, output_type=PhaseDecision, max_output_retries=retries)


def _find_mistakes(review: PhaseReview) -> Iterator[tuple[str, str]]:
    yield from replace_strangers(review, {"max_retries": COUNT, "max_predecessor_retries": COUNT})
    reviewer = review.reviewer
    if isinstance(reviewer, PersonReview):
        yield from _find_person_mistakes(reviewer)
    elif isinstance(reviewer, Task):
        if reviewer.output_type not in (None, str, PhaseDecision):
            yield "reviewer.output_type", f"{reviewer.output_type!r} is not PhaseDecision: leave it out"
    elif not callable(reviewer):
        yield "reviewer", f"{reviewer!r} is neither a Task nor a function; see PhaseReview.by_person for a person"
    for name in ("max_retries", "max_predecessor_retries"):
        if (number := getattr(review, name)) < 0:
            yield name, f"it must be >= 0, got: {number}"


def _find_person_mistakes(person: PersonReview) -> Iterator[tuple[str, str]]:
    yield from replace_strangers(person, {"role": TEXT.or_none(), "prompt": TEXT.or_none()})
    if person.role is not None and not person.role.strip():
        yield "role", "it must not be blank: write it, or leave it out for anybody"
    yield from (("timeout", mistake) for mistake in find_timeout_mistakes(person.timeout))
    if person.on_timeout not in get_args(OnTimeout):
        yield "on_timeout", f"{person.on_timeout!r} is not one of {', '.join(map(repr, get_args(OnTimeout)))}"
