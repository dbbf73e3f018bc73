"""The actions of a process: they are run, and their results recorded on the blackboard."""

from __future__ import annotations

from asyncio import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tactician.errors import Rejected, StoredStateError
from tactician.llm import AssistantMessage
from tactician.process.acting.performing import (
    Outcome,
    create_inner_operation,
    create_operation,
    iterate_errors,
    perform,
)
from tactician.process.acting.recording import record_nothing, record_output, record_rejection
from tactician.process.agent.spec import ActionSpec, PlannedAgentSpec
from tactician.process.objects import get_parts
from tactician.process.state.conversation import ProcessConversation
from tactician.process.state.errors import describe_failure
from tactician.process.state.events import ActionCompleted, ActionResumed, ActionStarted, ActionSuspended
from tactician.process.state.handle import ProcessHandle
from tactician.process.state.options import ProcessOptions
from tactician.process.state.state import PLAN_DECISION, REVIEW, ActionRun, ProcessState, ProcessStatus
from tactician.runs import BudgetError, OutputError, RunContext, RunError, RunSuspended
from tactician.runs.outcomes.budget import BudgetMeter
from tactician.runs.outcomes.errors import is_limit
from tactician.runs.outcomes.suspension import Suspended

if TYPE_CHECKING:
    from tactician.planning import Plan


class PlanReviewer(Protocol):
    """Reviewer of the plans of a process, which asks in an action of its own."""

    action: ActionSpec

    def review(self, plan: Plan) -> bool:
        """Return whether a person has to decide on a plan first."""


@dataclass(slots=True)
class Execution:
    """Everything that the steps of a process work with.

    Attributes:
        process: the process, for its actions.
        agent: description of the agent; refreshed when an action gives objects of classes that it has loaded.
        state: state of the process.
        options: settings of the process.
        context: context of all that runs inside the process.
        meter: meter of its budget.
        reviewer: reviewer of its plans; `None` without reviews.
        is_to_pause: True when the process stops after this step.
    """

    process: ProcessHandle
    agent: PlannedAgentSpec
    state: ProcessState
    options: ProcessOptions
    context: RunContext
    meter: BudgetMeter
    reviewer: PlanReviewer | None = None
    is_to_pause: bool = False

    @property
    def conversation(self) -> ProcessConversation | None:
        """Messages of the process in its conversation; `None` when it takes part in none."""
        return self.context.find(ProcessConversation) if self.options.conversation_id is not None else None


class Actor:
    """Runner of the actions of a process.

    Attributes:
        error: exception of an action that ended the process.
    """

    __slots__ = ("_execution", "_state", "error")

    def __init__(self, execution: Execution) -> None:
        self.error: Exception | None = None
        self._execution = execution
        self._state = execution.state

    def suspend(self) -> None:
        """End the run of a process whose actions wait: for answers, or for a paused process inside.

        The process itself ends when its deadline has passed meanwhile.
        """
        state = self._state
        # Before the status: a process whose deadline has passed would wait for an answer that nobody may use.
        if (missed := self._execution.context.find_missed_deadline()) is not None:
            state.end(ProcessStatus.TERMINATED, missed)
        if state.status is ProcessStatus.RUNNING:
            state.end(ProcessStatus.WAITING if state.pending else ProcessStatus.PAUSED)
            if state.pending:
                if (conversation := self._execution.conversation) is not None:
                    conversation.ask(state.pending)
                self._execution.context.emit(RunSuspended, pending=state.pending)

    async def act_inside(self, action: ActionSpec, context: RunContext) -> tuple[ActionRun, object]:
        """Run an action inside the current action; return how it ended, and its output.

        The action is recorded like any other, but its failure is left to the action that runs it.

        Args:
            action: the action.
            context: context inside the context of the action that runs.

        Raises:
            Suspended: when the action has to wait.
        """
        execution = self._execution
        execution.context.emit(ActionStarted, action=action.name, description=action.description)
        operation = create_inner_operation(execution.process, action, context)
        with execution.meter.count_actions(1):
            outcome = await perform(operation, action, action.retry or execution.options.retry)
        if outcome.waiting is not None:
            execution.context.emit(ActionSuspended, action=action.name)
            raise Suspended(*outcome.waiting.pending)
        error = outcome.replan or outcome.error
        # An output that cannot be stored is a failure of the action, not of the process around it.
        outputs, error = self._try_record_output(outcome) if error is None else ((), error)
        run = outcome.to_run(outputs, error)
        self._append(run)
        return run, outcome.output

    async def perform(self, action: ActionSpec) -> Outcome:
        """Run an action. Its exception is in the outcome; only a cancellation passes, and is recorded."""
        execution, waited = self._execution, self._state.waiting.get(action.name)
        if waited is None:
            execution.context.emit(ActionStarted, action=action.name, description=action.description)
        else:
            execution.context.emit(ActionResumed, action=action.name)
        clock = execution.context.clock
        started_at, started = clock.time(), clock.monotonic()
        operation = create_operation(execution.process, action, execution.context, self._state.responses)
        try:
            return await perform(operation, action, action.retry or execution.options.retry)
        except CancelledError:
            seconds, tally, inside = clock.monotonic() - started, operation.run.tally, operation.children
            self._append(ActionRun(action.name, started_at, seconds, tally, error="cancelled", children=inside))
            raise

    def record(self, outcome: Outcome) -> None:
        """Record how an action ended: in the history, and on the blackboard, at its place in the order of the plan."""
        action, error, state = outcome.action, outcome.error, self._state
        if outcome.waiting is not None:
            state.wait(action.name, outcome.waiting)
            self._execution.context.emit(ActionSuspended, action=action.name)
            return
        state.forget_waiting(action.name)
        self._forget_progress(outcome)
        outputs: tuple[str, ...] = ()
        # Counted before the output is recorded: `order.take` moves what came after it to its place in the plan.
        before = state.blackboard.size
        state.count(outcome.replan)
        if outcome.replan is not None:
            state.declined = action.plan
        elif isinstance(error, Rejected):
            outputs = record_rejection(state.blackboard, action, error)
            state.declined = action.plan
        elif isinstance(error, OutputError):
            record_nothing(state.blackboard, action)
            state.declined, state.unanswered = action.plan, (action.name, error)
        elif error is None:
            outputs, error = self._try_record_output(outcome)
            state.unanswered = None if outputs and action.name != REVIEW else state.unanswered
        # Before a failure ends the process: the blackboard of a failed process is in the order of the plan, too.
        state.order.take(action.name, state.blackboard, before)
        if error is not None and not isinstance(error, Rejected | OutputError):
            self.fail(action, error)
        # Last, since the event of the end tells listeners that blackboard and status are up to date.
        self._append(outcome.to_run(outputs, error))

    def _forget_progress(self, outcome: Outcome) -> None:
        """Drop the checkpoint of an action that has ended."""
        run_checkpoint, operation_checkpoint = self._execution.context.checkpoint, outcome.operation.checkpoint
        if run_checkpoint is not None and operation_checkpoint is not None:
            run_checkpoint.drop(operation_checkpoint.keys[-1])

    def _try_record_output(self, outcome: Outcome) -> tuple[tuple[str, ...], Exception | None]:
        """Record the output of an action; return the names of its types, or why it cannot be recorded."""
        try:
            return self._record_output(outcome), None
        except (TypeError, StoredStateError) as refusal:
            return (), refusal

    def _record_output(self, outcome: Outcome) -> tuple[str, ...]:
        """Put the output of an action onto the blackboard. No output means: plan again without the action."""
        execution, action, output = self._execution, outcome.action, outcome.output
        if action.name == REVIEW:
            return (PLAN_DECISION,)  # what the agent knows is as before, also what is the newest object
        agent = execution.agent
        outputs = record_output(self._state.blackboard, agent, action, output, outcome.set_by_hand)
        if output is not None and not all(map(agent.knows, (output, *get_parts(output)))):
            execution.agent = agent.refresh()  # an action may load modules, and give what they declare
        if isinstance(output, AssistantMessage) and (conversation := execution.conversation) is not None:
            conversation.say(output)
        if output is None and action.output_types:
            self._state.declined = action.plan
        return outputs

    def fail(self, action: ActionSpec, error: Exception) -> None:
        """End the process because of the exception of an action; in a conversation it rests."""
        is_in_conversation = self._execution.conversation is not None
        # Of several actions that fail at once the first counts; a conversation shows the newest.
        self.error = error if is_in_conversation else self.error or error
        if (limit := self._find_limit(error)) is not None:
            self._state.end(ProcessStatus.TERMINATED, limit)
            return
        status = ProcessStatus.RESTING if is_in_conversation else ProcessStatus.FAILED
        self._state.end(status, f"{action.name} raised {describe_failure(error)}")

    def _find_limit(self, error: Exception) -> str | None:
        """Return the limit that an action has met, directly or in what runs inside it."""
        if isinstance(error, BudgetError):
            return str(error)
        errors = [*iterate_errors(error)]
        if not all(map(is_limit, errors)):
            return None
        # A process inside may have used up a budget of its own, which is a failure of the action.
        is_of_runs = all(isinstance(error, RunError) for error in errors)
        return self._execution.context.find_limit(acting=True) or (str(errors[0]) if is_of_runs else None)

    def _append(self, run: ActionRun) -> None:
        self._state.history.append(run)
        self._execution.meter.count_action()
        self._execution.context.emit(
            ActionCompleted,
            action=run.action,
            seconds=run.seconds,
            tally=run.tally,
            outputs=run.outputs,
            error=run.error,
        )
