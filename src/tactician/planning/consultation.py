"""Planning that asks back: what it needs to know comes from whoever runs it, at once or later."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from tactician.planning.model import Plan
from tactician.planning.world import UNKNOWN, ConditionValue, WorldState

if TYPE_CHECKING:
    from tactician.planning.session import Session

T = TypeVar("T")
Determine: TypeAlias = Callable[[str], bool | None]
Inquiry: TypeAlias = Generator[str | None, ConditionValue | None, T]
"""Yields the names of conditions, is sent whether they hold, and returns its result.

In a long search it also yields `None`, where it can be halted or given up.
"""


def settle(inquiry: Inquiry[T], determine: Determine | None) -> T:
    """The result of an inquiry whose questions are answered at once."""
    answer: bool | None = None
    while True:
        try:
            name = inquiry.send(answer)
        except StopIteration as done:
            result: T = done.value
            return result
        answer = determine(name) if determine and name is not None else None


class Consultation:
    """The search for the best plan, halted wherever it depends on a condition that is unknown, or takes long.

    For callers whose conditions take time, such as a call of an LLM:

        consultation = planner.consult(world, actions, goals)
        while (question := consultation.advance()) is not None:
            consultation.answer(await evaluate(question))
        plan = consultation.plan

    Those who have other things to do as well call `advance` with a time, until it `is_done`.

    Attributes:
        question: the condition to evaluate next, if one is open
        plan: the best plan, or None if there is none or it is not done
        world: the world with the answers so far
        is_done: whether the search has ended
    """

    def __init__(self, session: Session, inquiry: Inquiry[Plan | None]) -> None:
        """Prepare, without planning yet."""
        self.question: str | None = None
        self.plan: Plan | None = None
        self.is_done = False
        self._session = session
        self._inquiry = inquiry
        self._answer: ConditionValue | None = None
        session.meter.stop()

    @property
    def world(self) -> WorldState:
        """The world with the answers so far."""
        return self._session.world

    def answer(self, holds: ConditionValue | None) -> None:
        """Tell whether the condition in question holds, or None if that cannot be known.

        Raises:
            RuntimeError: there is no question
        """
        if self.question is None:
            raise RuntimeError("There is no question to answer: call advance() first")
        self.question, self._answer = None, UNKNOWN if holds is None else holds

    def advance(self, seconds: float | None = None) -> str | None:
        """Go on to the next question or the end, for so many seconds at most, and return the question.

        Raises:
            SearchLimitExceeded: a limit of planning was reached before there was a plan
        """
        meter = self._session.meter
        meter.start()
        until = None if seconds is None else meter.seconds + seconds
        try:
            while self.question is None and not self.is_done:
                answer, self._answer = self._answer, None
                self.question = self._inquiry.send(answer)
                if until is not None and meter.seconds >= until:
                    break
        except StopIteration as done:
            self.plan, self.is_done = done.value, True
        finally:
            meter.stop()
        return self.question
