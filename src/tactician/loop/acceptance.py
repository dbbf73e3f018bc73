"""Acceptance of answers: valid, and without an objection of a guardrail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from tactician.grammar import format_count
from tactician.guardrails.checks import Objection, find_first_objection
from tactician.guardrails.guardrail import CheckedOutput
from tactician.llm import UserMessage
from tactician.loop.events import OutputRejected
from tactician.loop.output import InvalidOutput, OutputType
from tactician.loop.policy import AnswerAttempts, TurnPolicy
from tactician.loop.state import TurnState
from tactician.loop.tool_runner import Refused
from tactician.runs import OutputError, RunContext, RunResult

if TYPE_CHECKING:
    from tactician.planning.ruling.calls import RuleGuard

T = TypeVar("T")


class Acceptance(Generic[T]):
    """Check of the answers of a run. After a rejected answer the model gets the reason, while attempts remain.

    Args:
        name: the name of the agent.
    """

    __slots__ = ("_context", "_name", "_output", "_policy", "_state")

    def __init__(
        self, name: str, output: OutputType[T], context: RunContext, policy: TurnPolicy, state: TurnState
    ) -> None:
        self._name = name
        self._output = output
        self._context = context
        self._policy = policy
        self._state = state

    async def accept_text(self, text: str) -> RunResult[T] | None:
        """Return the result if the text is a valid answer that passes the guardrails.

        Raises:
            OutputError: when it does not, and was the last attempt.
            Refused: when a guardrail stops the run.
        """
        try:
            value = self._output.parse(text)
        except InvalidOutput as error:
            self.reject(text, error)
            return None
        return await self.accept_value(value, text)

    async def accept_value(self, value: T, text: str) -> RunResult[T] | None:
        """Return the result if the value passes the output guardrails.

        Raises:
            OutputError: when it does not, and was the last attempt.
            Refused: when a guardrail stops the run.
        """
        if self._state.guard is not None and not self._state.is_accepted and self._find_debt(self._state.guard, text):
            return None
        guards = () if self._state.is_accepted else self._policy.guards.output
        if guards and (objection := await self._find_objection(CheckedOutput(text, value))):
            if not objection.wants_retry:
                raise Refused(objection)
            self.reject(text, objection.reason)
            return None
        if self._context.is_saved and not self._state.is_accepted:
            self._state.is_accepted = True
            await self._context.save_step("output", self._name, text)
        return self._state.create_result(value, self._context)

    def _find_debt(self, guard: RuleGuard, text: str) -> bool:
        """Return whether the rules ask for something before the run may end; the model is told.

        Raises:
            OutputError: when it was told too often, or a rule is broken and nothing can mend it.
        """
        from tactician.loop.rule_guard import describe_debt

        now = self._context.clock.time()
        if broken := guard.find_broken(now):
            message = f"{self._name}: the rule {broken[0]} is broken, so no answer counts"
            raise OutputError(message, self._state.create_failed_result(self._context), text)
        if (debt := describe_debt(guard, now)) is None:
            return False
        self.reject(text, debt)
        return True

    async def _find_objection(self, answer: CheckedOutput) -> Objection | None:
        with self._context.enter():
            return await find_first_objection(self._policy.guards.output, answer, self._context)

    def reject(self, text: str, why: InvalidOutput | str) -> None:
        """Tell the model what is wrong with its answer.

        Raises:
            OutputError: when it was the last attempt.
        """
        state, name = self._state, self._output.name
        state.rejections += 1
        reason = f"it was cut off after max_tokens; {why}" if state.cut_off else str(why)
        self._emit_rejection(reason)
        if state.rejections >= self._count_attempts():
            raise OutputError(
                f"{self._name}: no valid {name} in {format_count(state.rejections, 'attempt')}: {reason}",
                state.create_failed_result(self._context),
                text,
            )
        wrong = f"That is not a valid {name}" if isinstance(why, InvalidOutput) else "That answer is not accepted"
        sentence = f"{wrong}: {reason.removesuffix('.')}."
        state.conversation.append(UserMessage(f"{sentence} Answer again with the whole, corrected."))

    def _count_attempts(self) -> int:
        policy_attempts = self._policy.max_attempts
        return (
            self._context.services.find(AnswerAttempts).settings.attempts
            if policy_attempts is None
            else policy_attempts
        )

    def _emit_rejection(self, reason: str) -> None:
        context, state = self._context, self._state
        context.emit(OutputRejected, attempt=state.rejections, message=state.last_reply, reason=reason)
