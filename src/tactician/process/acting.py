"""Runs actions of a process, and takes in what they gave."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError
from collections.abc import Sequence
from time import perf_counter, time
from typing import TYPE_CHECKING

from tactician.errors import Rejected
from tactician.process.announcing import Announcer
from tactician.process.errors import ProcessError
from tactician.process.groups import errors_in
from tactician.process.history import ActionRun
from tactician.process.performing import Outcome, operation_for, perform
from tactician.process.recording import record, record_nothing, record_rejection
from tactician.process.some_of import parts_of
from tactician.process.spec import ActionSpec
from tactician.process.state import ProcessState
from tactician.process.status import ProcessStatus
from tactician.runs import BudgetError, BudgetMeter, OutputError, Paused, RunContext

if TYPE_CHECKING:
    from tactician.process.process import AgentProcess


class Actor:
    """Runs the actions of one process.

    Attributes:
        error: what an action raised that ended the process.
        unanswered: the last action that got no valid answer of a model, and why, unless another has given something.
    """

    __slots__ = ("_announce", "_context", "_meter", "_process", "_state", "error", "unanswered")

    def __init__(
        self,
        process: AgentProcess,
        state: ProcessState,
        context: RunContext,
        meter: BudgetMeter,
        announce: Announcer,
    ) -> None:
        self.error: Exception | None = None
        self.unanswered: tuple[ActionSpec, OutputError] | None = None
        self._process = process
        self._state = state
        self._context = context
        self._meter = meter
        self._announce = announce

    async def act(self, actions: Sequence[ActionSpec]) -> None:
        """Runs actions, all at once, and records what they gave, in their order."""
        state = self._state
        state.declined = None
        with self._meter.acting(sum(not action.leads for action in actions)):
            for outcome in await self._outcomes(actions):
                self._take_in(outcome)
        if state.waiting and state.status is ProcessStatus.RUNNING:
            state.end(ProcessStatus.WAITING if state.pending else ProcessStatus.PAUSED)
            if state.pending:
                self._announce.paused(state.pending)

    async def act_inside(self, action: ActionSpec, context: RunContext) -> tuple[ActionRun, object]:
        """Runs an action as a part of the one that runs; how it ended, and what it gave.

        It is recorded like any other, but its failure is left to the one that runs it.

        Args:
            action: it.
            context: inside that of the one that runs.

        Raises:
            Paused: when it has to wait.
        """
        self._announce.acting(action)
        operation = operation_for(self._process, action, context)
        with self._meter.acting(1):
            outcome = await perform(operation, action, action.retry or self._process.options.retry)
        if outcome.waiting is not None:
            raise Paused(*outcome.waiting.pending)
        error = outcome.replan or outcome.error
        outputs, error = self._recorded(outcome) if error is None else ((), error)
        run = outcome.run(outputs, error)
        self._remember(run)
        return run, outcome.output

    async def _outcomes(self, actions: Sequence[ActionSpec]) -> list[Outcome]:
        if len(actions) == 1:
            return [await self._outcome(actions[0])]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._outcome(action)) for action in actions]
        return [task.result() for task in tasks]

    async def _outcome(self, action: ActionSpec) -> Outcome:
        state, waited = self._state, self._state.waiting.get(action.name)
        if waited is None:
            self._announce.acting(action)
        started_at, started = time(), perf_counter()
        operation = operation_for(self._process, action, self._context, waited, state.responses)
        try:
            return await perform(operation, action, action.retry or self._process.options.retry)
        except CancelledError:
            seconds, tally, inside = perf_counter() - started, operation.run.tally, operation.children
            self._remember(ActionRun(action.name, started_at, seconds, tally, error="cancelled", children=inside))
            raise

    def _take_in(self, outcome: Outcome) -> None:
        """Records how an action ended."""
        action, error, state = outcome.action, outcome.error, self._state
        if outcome.waiting is not None:
            state.wait(action.name, outcome.waiting)
            return
        state.forget_waiting(action.name)
        outputs: tuple[str, ...] = ()
        before = state.blackboard.size
        state.count(outcome.replan)
        if outcome.replan is not None:
            state.declined = action.plan
        elif isinstance(error, Rejected):
            outputs = record_rejection(state.blackboard, action, error)
            state.declined = action.plan
        elif isinstance(error, OutputError):
            record_nothing(state.blackboard, action)
            state.declined, self.unanswered = action.plan, (action, error)
        elif error is None:
            outputs, error = self._recorded(outcome)
            self.unanswered = None if outputs else self.unanswered
        state.order.take(action.name, state.blackboard, before)
        if error is not None and not isinstance(error, Rejected | OutputError):
            self.fail(action, error)
        self._remember(outcome.run(outputs, error))

    def _recorded(self, outcome: Outcome) -> tuple[tuple[str, ...], Exception | None]:
        """The names of what an action gave, which is on the blackboard then, or why that is not possible."""
        try:
            return self._record(outcome), None
        except TypeError as mismatch:
            return (), mismatch

    def _record(self, outcome: Outcome) -> tuple[str, ...]:
        """Puts onto the blackboard what an action gave. Giving nothing means: plan again without it."""
        process, action, output = self._process, outcome.action, outcome.output
        given = record(self._state.blackboard, process.agent, action, output, outcome.set_by_hand)
        if output is not None and not all(map(process.agent.knows, (output, *parts_of(output)))):
            process.agent = process.agent.renewed()  # an action may load modules, and give what they declare
        if output is None and action.output_types:
            self._state.declined = action.plan
        return given

    def fail(self, action: ActionSpec, error: Exception) -> None:
        """Ends the process because of what an action raised."""
        self.error = self.error or error
        if (limit := self._limit_in(error)) is not None:
            self._state.end(ProcessStatus.TERMINATED, limit)
            return
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
        self._state.end(ProcessStatus.FAILED, f"{action.name} raised {type(error).__name__}: {error}{notes}")

    def _limit_in(self, error: Exception) -> str | None:
        """Which limit an action has met; also one of this process that has ended a process inside the action."""
        if isinstance(error, BudgetError):
            return str(error)
        return self._meter.exceeded(acting=True) if all(map(_is_early_end, errors_in(error))) else None

    def _remember(self, run: ActionRun) -> None:
        self._state.history.append(run)
        self._meter.count_action()
        self._announce.acted(run)


def _is_early_end(error: BaseException) -> bool:
    """Whether a limit has ended what ran inside an action."""
    is_of_process = isinstance(error, ProcessError) and error.process.status is ProcessStatus.TERMINATED
    return is_of_process or isinstance(error, BudgetError)
