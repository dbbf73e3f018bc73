"""`Review`: a gate before or after a task, and the policy that says which tasks have reviews."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final, Literal, TypeAlias, get_args

from tactician.amounts import Delay, Text
from tactician.clock import LONGEST_WAIT
from tactician.ensemble.values.argument_kinds import TEXT, replace_strangers
from tactician.errors import DeclarationError
from tactician.frozen import frozen

ReviewTiming: TypeAlias = Literal["before", "after", "skip"]
OnTimeout: TypeAlias = Literal["exit_early", "continue", "reject"]
DEFAULT_TIMEOUT: Final = 300.0


class ReviewPolicy(StrEnum):
    """Tasks of an ensemble that are reviewed when they do not say so themselves."""

    NEVER = "never"
    """None."""
    AFTER_EVERY_TASK = "after_every_task"
    """All, each after it has run."""
    AFTER_LAST_TASK = "after_last_task"
    """The last task in the list, after it has run."""


@frozen
class Review:
    """Gate of a task, at which somebody decides how it goes on. Make a review with `before`, `after` or `skip`.

    Attributes:
        timing: `"before"` or `"after"` the task; `"skip"` for a task without the gate that the policy asks for.
        prompt: the question for the reviewer; a question about the task by default.
        timeout: seconds to wait for a decision; 0 or `None` waits for ever.
        on_timeout: the effect of no decision in time: `"exit_early"` ends the ensemble with the outputs so far,
            `"continue"` approves, `"reject"` fails the task.
        required_role: the role that the reviewer must have; any, when `None`.

    Raises:
        DeclarationError: with all mistakes.
    """

    timing: ReviewTiming
    prompt: str | None = None
    timeout: Delay | None = DEFAULT_TIMEOUT
    on_timeout: OnTimeout = "exit_early"
    required_role: Text | None = None

    def __post_init__(self) -> None:
        if problems := list(_find_mistakes(self)):
            raise DeclarationError("Review", problems)

    @classmethod
    def before(
        cls,
        prompt: str | None = None,
        *,
        timeout: float | None = DEFAULT_TIMEOUT,
        on_timeout: OnTimeout = "exit_early",
        required_role: str | None = None,
    ) -> Review:
        """Return a gate before the task runs."""
        return cls("before", prompt, timeout, on_timeout, required_role)

    @classmethod
    def after(
        cls,
        prompt: str | None = None,
        *,
        timeout: float | None = DEFAULT_TIMEOUT,
        on_timeout: OnTimeout = "exit_early",
        required_role: str | None = None,
    ) -> Review:
        """Return a gate after the task has its output."""
        return cls("after", prompt, timeout, on_timeout, required_role)

    @classmethod
    def skip(cls) -> Review:
        """Return the setting of a task that has no gate, whatever the policy of the ensemble is."""
        return cls("skip")


def _find_mistakes(review: Review) -> Iterator[str]:
    kinds = {"prompt": TEXT.or_none(), "required_role": TEXT.or_none()}
    yield from (f"{place}: {mistake}" for place, mistake in replace_strangers(review, kinds))
    if review.timing not in get_args(ReviewTiming):
        yield f"timing is {review.timing!r}: use Review.before(), Review.after() or Review.skip()"
    if review.prompt is not None and not review.prompt.strip():
        yield f"prompt is {review.prompt!r}: write the question, or leave it out"
    yield from find_timeout_mistakes(review.timeout)
    if review.on_timeout not in get_args(OnTimeout):
        yield f"on_timeout is {review.on_timeout!r}: use one of {', '.join(map(repr, get_args(OnTimeout)))}"
    if review.required_role is not None and not review.required_role.strip():
        yield "required_role is blank: name the role, or leave it out"


def find_timeout_mistakes(timeout: object) -> Iterator[str]:
    """Yield what is wrong with the time to wait for a person."""
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 <= timeout <= LONGEST_WAIT:
        yield f"timeout is {timeout!r}: write the seconds, from 0 to 100 years; 0 or None waits for ever"
