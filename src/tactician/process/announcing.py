"""What listeners hear of a process. Nothing is built when nobody listens."""

from __future__ import annotations

from tactician.planning import Plan
from tactician.process.events import ActionCompleted, ActionStarted, PlanMade, ProcessEnded, ProcessStarted
from tactician.process.history import ActionRun
from tactician.process.spec import ActionSpec, PlannedAgentSpec
from tactician.process.state import ProcessState
from tactician.process.status import ProcessStatus
from tactician.runs import PendingRequest, RunContext, RunPaused


class Announcer:
    """Tells the listeners of a process what happens in it."""

    __slots__ = ("_context",)

    def __init__(self, context: RunContext) -> None:
        self._context = context

    def started(self, agent: PlannedAgentSpec) -> None:
        """The process begins to work, or goes on."""
        context = self._context
        context.emit(ProcessStarted, agent=agent.name, goals=tuple(goal.name for goal in agent.goals))

    def planned(self, previous: Plan | None, plan: Plan) -> None:
        """There is a plan; told only when it is more than the rest of the last one."""
        context = self._context
        if context.is_observed and (previous is None or _names(previous)[1:] != _names(plan)):
            context.emit(PlanMade, plan=plan)

    def acting(self, action: ActionSpec) -> None:
        """An action is about to run."""
        context = self._context
        context.emit(ActionStarted, action=action.name, description=action.description)

    def acted(self, run: ActionRun) -> None:
        """An action has ended."""
        context = self._context
        context.emit(
            ActionCompleted,
            action=run.action,
            seconds=run.seconds,
            tally=run.tally,
            outputs=run.outputs,
            error=run.error,
        )

    def paused(self, pending: tuple[PendingRequest, ...]) -> None:
        """The process waits."""
        context = self._context
        context.emit(RunPaused, pending=pending)

    def ended(self, state: ProcessState, seconds: float) -> None:
        """The process has stopped working."""
        context = self._context
        context.emit(
            ProcessEnded,
            status=state.status,
            seconds=seconds,
            tally=context.tally,
            failure="it was interrupted" if state.status is ProcessStatus.RUNNING else state.failure,
        )


def _names(plan: Plan) -> list[str]:
    return [action.name for action in plan.actions]
