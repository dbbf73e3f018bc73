"""Planning that others run: they answer its questions, at once or later, and say how long it may take."""

from __future__ import annotations

from tactician.planning.inquiry import Inquiry
from tactician.planning.model import Plan
from tactician.planning.session import Session
from tactician.planning.world import UNKNOWN, ConditionValue, WorldState


class Consultation:
    """The search for the best plan, halted wherever it depends on a condition that is unknown, or takes long.

    For callers whose conditions take time, such as a call of an LLM:

        consultation = planner.consult(world, actions, goals)
        while (question := consultation.advance()) is not None:
            consultation.answer(await evaluate(question))
        plan = consultation.plan

    Those who have other things to do as well call `advance` with a time, until it `is_done`.

    Attributes:
        question: the condition to evaluate next, if any is open
        plan: the best plan, or None if no plan exists or the search is not done
        world: the world with the answers so far
        is_done: true when the search has ended
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
        return (
            self._session.world if self._session.view is None else self._session.view.restore_world(self._session.world)
        )

    def answer(self, holds: ConditionValue | None) -> None:
        """Tell whether the condition in question holds, or None if that cannot be known.

        Raises:
            RuntimeError: there is no question
        """
        if self.question is None:
            raise RuntimeError("There is no question to answer: call advance() first")
        self.question, self._answer = None, UNKNOWN if holds is None else holds

    def finish(self) -> None:
        """End the search now, with the best plan so far; a condition that is still open is not known.

        Raises:
            SearchLimitExceeded: there is no plan by now
        """
        self._session.meter.use_up()
        while not self.is_done:
            if self.advance() is not None:
                self.answer(None)

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
            plan: Plan | None = done.value
            self.plan, self.is_done = plan and self._session.restore(plan), True
        finally:
            meter.stop()
        return self.question
