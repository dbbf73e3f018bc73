"""Phases of an ensemble in their order: each starts once those before it are completed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tactician.ensemble.phases.events import PhaseFailed
from tactician.ensemble.phases.plan import PhasePlan
from tactician.ensemble.phases.running import PhaseRuns
from tactician.ensemble.values.early_exit import EarlyExit
from tactician.ensemble.values.errors import INTERRUPTIONS, PhaseReviewError, TaskFailedError, describe_cause
from tactician.ensemble.values.results import EnsembleResult, ExitReason, PhaseOutput, get_end
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.work.environment import TaskEnvironment
from tactician.ensemble.work.running import note_begin
from tactician.flow.scheduler import Scheduler
from tactician.flow.steps import FlowStep, StepCompleted, StepOutcome, StepSkipped, StepSuspended
from tactician.grammar import format_count
from tactician.runs import RunContext
from tactician.runs.outcomes.errors import is_final
from tactician.runs.outcomes.suspension import Suspended
from tactician.text import describe_error


@dataclass(slots=True)
class _PhaseOutcomes:
    completed: list[str] = field(default_factory=list)
    failed: dict[str, Exception] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def add(self, outcome: StepOutcome[PhaseOutput], context: RunContext) -> None:
        """Add the outcome of a phase.

        Raises:
            TacticianError: the error of a run that was interrupted.
        """
        if isinstance(outcome, StepCompleted):
            self.completed.append(outcome.key)
        elif isinstance(outcome, StepSkipped):
            self.skipped[outcome.key] = f"the phase {outcome.cause!r} before it failed"
        elif isinstance(outcome, StepSuspended):
            self.skipped[outcome.key] = "its phase waits for an answer"
        elif isinstance(outcome.error, INTERRUPTIONS) or not isinstance(outcome.error, Exception):
            raise outcome.error
        else:
            self.failed[outcome.key] = outcome.error
            context.emit(PhaseFailed, phase=outcome.key, error=describe_error(outcome.error))


async def run_phases(name: str, plan: PhasePlan, environment: TaskEnvironment, context: RunContext) -> EnsembleResult:
    """Run the phases of an ensemble, and return its result.

    A phase that fails skips those that come after it, and no others.

    Args:
        name: the name of the ensemble.
        plan: the phases.
        environment: what the tasks begin with.
        context: the context of the run.

    Raises:
        TaskFailedError: when a phase fails.
        Suspended: when phases wait for answers, and none has failed or the plan continues on errors.
    """
    began = note_begin(context)
    ending = EarlyExit(context)
    runs, outcomes = PhaseRuns(plan, environment, context, ending), _PhaseOutcomes()
    scheduler: Scheduler[PhaseOutput] = Scheduler(on_error="continue", clock=context.clock)
    try:
        async with scheduler:
            scheduler.add(*(_create_step(planned.name, planned.direct_predecessors, runs) for planned in plan.phases))
            async for outcome in scheduler:
                outcomes.add(outcome, context)
    except Suspended:
        if ending.reason is None and (not outcomes.failed or plan.on_error == "continue"):
            runs.record_failures()
            raise
    outputs = {phase: await runs.collect(phase) for phase in outcomes.completed}
    duration = max(0.0, context.clock.time() - began)
    if outcomes.failed:
        raise _create_error(name, plan, outcomes, outputs, duration, context) from next(iter(outcomes.failed.values()))
    completed = {output.task_id: output for phase in outputs.values() for output in phase.task_outputs}
    skipped = {task_id: reason for phase in outputs.values() for task_id, reason in phase.skipped.items()}
    return _create_result(outputs, plan, completed, skipped, duration, context, ending.reason or ExitReason.COMPLETED)


def _create_step(name: str, predecessors: tuple[str, ...], runs: PhaseRuns) -> FlowStep[PhaseOutput]:
    async def work(outputs: Mapping[str, PhaseOutput]) -> PhaseOutput:
        return await runs.run(name)

    return FlowStep(name, work, predecessors)


def _create_result(
    outputs: Mapping[str, PhaseOutput],
    plan: PhasePlan,
    completed: Mapping[str, TaskOutput],
    skipped: Mapping[str, str],
    duration: float,
    context: RunContext,
    exit_reason: ExitReason,
) -> EnsembleResult:
    """Return the result of a run, with the output of the last task of the last phase.

    When a review has ended the ensemble, the last completed task gives the output.
    """
    phases = (plan.last,) if exit_reason is ExitReason.COMPLETED else plan.phases
    ids = [task.id for planned in phases for task in planned.list_from_first_to_last() if task.id in completed]
    last = completed[ids[-1]] if ids else None
    result = EnsembleResult.create(
        sorted(completed.values(), key=get_end), last, context, duration, exit_reason=exit_reason, skipped=skipped
    )
    names = [planned.name for planned in plan.phases if planned.name in outputs]
    has_ended = exit_reason in (ExitReason.EXIT_EARLY, ExitReason.TIMEOUT)
    result.phase_outputs = {name: outputs[name] for name in names if outputs[name].task_outputs or not has_ended}
    return result


def _create_error(
    name: str,
    plan: PhasePlan,
    outcomes: _PhaseOutcomes,
    outputs: Mapping[str, PhaseOutput],
    duration: float,
    context: RunContext,
) -> TaskFailedError:
    """Return the error of a run: of the first phase that failed, with what all others have done."""
    errors = [error for error in outcomes.failed.values() if isinstance(error, TaskFailedError)]
    completed: dict[str, TaskOutput] = {}
    failed: dict[str, Exception] = {}
    skipped: dict[str, str] = {}
    for phase in outputs.values():
        completed |= {output.task_id: output for output in phase.task_outputs}
        skipped |= phase.skipped
    for error in errors:
        completed.update(error.completed)
        failed.update(error.failed)
        skipped.update(error.skipped)
    for planned in plan.phases:
        if (reason := outcomes.skipped.get(planned.name)) is not None:
            skipped |= {task.id: reason for task in planned.phase.own_tasks}
    result = _create_result(outputs, plan, completed, skipped, duration, context, ExitReason.FAILED)
    places = ((f"phase {phase!r}", error) for phase, error in outcomes.failed.items())
    reasons = "; ".join(f"{place}: {describe_cause(place, error)}" for place, error in places)
    counts = f"{len(outcomes.completed)} completed, {len(outcomes.skipped)} skipped"
    message = (
        f"{name}: {len(outcomes.failed)} of {format_count(len(plan.phases), 'phase')} failed ({counts}): {reasons}"
    )
    first = errors[0] if errors else None
    parts = (message, result, completed, failed, skipped)
    raised = TaskFailedError(*parts, cause=(name, reasons))
    if isinstance(first, PhaseReviewError):
        raised = PhaseReviewError(*parts, phase=first.phase, review=first.review)
    raised.is_final = any(map(is_final, errors))
    return raised
