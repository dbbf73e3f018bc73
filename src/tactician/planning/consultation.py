"""Planning that asks back: what it needs to know comes from whoever runs it, at once or later."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeAlias, TypeVar

from tactician.planning.model import Plan
from tactician.planning.world import UNKNOWN, ConditionValue, WorldState

T = TypeVar("T")
Determine: TypeAlias = Callable[[str], bool | None]
Inquiry: TypeAlias = Generator[str, ConditionValue | None, T]
"""Yields the names of conditions, is sent whether they hold, and returns its result."""


def settle(inquiry: Inquiry[T], determine: Determine | None) -> T:
    """The result of an inquiry whose questions are answered at once."""
    answer: bool | None = None
    while True:
        try:
            name = inquiry.send(answer)
        except StopIteration as done:
            result: T = done.value
            return result
        answer = determine(name) if determine else None


class Consultation:
    """The search for the best plan, halted wherever it depends on a condition that is unknown.

    For callers whose conditions take time, such as a call of an LLM:

        consultation = planner.consult(world, actions, goals)
        while consultation.question is not None:
            consultation.answer(await evaluate(consultation.question))
        plan = consultation.plan

    Attributes:
        question: the condition to evaluate next, or None at the end
        plan: the best plan, or None if there is none or a question is open
        world: the world with the answers so far
    """

    def __init__(self, world: WorldState, inquiry: Inquiry[Plan | None]) -> None:
        """Go on to the first question."""
        self.world = world
        self.question: str | None = None
        self.plan: Plan | None = None
        self._inquiry = inquiry
        self._go_on(None)

    def answer(self, holds: ConditionValue | None) -> None:
        """Tell whether the condition in question holds, or None if that cannot be known; go on to the next question.

        Raises:
            RuntimeError: there is no question
            SearchLimitExceeded: a search reached its limit before it knew the best plan
        """
        if self.question is None:
            raise RuntimeError("There is no question to answer: the plan is made")
        self.world = self.world.with_({self.question: UNKNOWN if holds is None else holds})
        self._go_on(holds)

    def _go_on(self, answer: ConditionValue | None) -> None:
        self.question = None
        try:
            self.question = self._inquiry.send(answer)
        except StopIteration as done:
            self.plan = done.value
