"""Decisions on the outputs of a phase: by a task, a function or a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from tactician.agents import Agent
from tactician.ensemble.phases.plan import PlannedPhase
from tactician.ensemble.phases.review import PersonReview
from tactician.ensemble.reviews.consultation import PersonAnswer, PersonConsultation, Question
from tactician.ensemble.reviews.reviewers import Reviewer
from tactician.ensemble.values.early_exit import EarlyExit
from tactician.ensemble.values.inputs import EnsembleInput
from tactician.ensemble.values.outcomes import SkippedTask, TaskOutcome, collect_context
from tactician.ensemble.values.phase_decisions import FORMS, PhaseDecision, UndecidedError
from tactician.ensemble.values.results import ExitReason
from tactician.ensemble.values.task_input import Revision
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.work.assignment import Assignment
from tactician.ensemble.work.environment import TaskEnvironment
from tactician.ensemble.work.execution import TaskRunner
from tactician.ensemble.work.task_plan import create_plan
from tactician.ensemble.work.task_reviews import ReviewSettings
from tactician.grammar import format_count
from tactician.loop import output_type
from tactician.loop.output import InvalidOutput
from tactician.process.people.forms import build_form
from tactician.runs import OutputError, RunContext, RunResult, RunStatus
from tactician.runs.outcomes.suspension import Approval, Response
from tactician.runs.requests.answers import StoredAnswer

_AGAIN = f"Your answer was no decision. Answer with one: {FORMS}."


async def ask_person(
    person: PersonReview,
    phase: str,
    outputs: Iterable[TaskOutput],
    place: RunContext,
    check: Callable[[PhaseDecision], PhaseDecision],
    reviewer: Reviewer | None,
) -> PersonAnswer[PhaseDecision] | None:
    """Return what a person has decided; `None` when nobody has decided in time.

    Args:
        person: who decides, and until when.
        phase: the name of the phase.
        outputs: the outputs of its tasks.
        place: the context of the review.
        check: function that completes a decision; it raises an `UndecidedError` when the decision cannot be followed.
        reviewer: the reviewer of the ensemble.

    Raises:
        Suspended: when nobody has decided yet, or the answer is no decision.
        InvalidOutput: when the reviewer gives no decision after several tries.
    """

    def read(response: Response) -> PhaseDecision:
        try:
            return check(read_decision(response))
        except UndecidedError as error:
            raise InvalidOutput(str(error)) from error

    shown = "\n\n---\n\n".join(f"### {output.role}: {output.description}\n\n{output.raw}" for output in outputs)
    asked = person.prompt or f"Is the phase {phase!r} good enough?"
    question = Question(
        "person",
        f"{asked}\n\n{shown}",
        build_form(PhaseDecision),
        read,
        _encode,
        _decode,
        person.timeout,
        person.role,
        person.on_timeout,
    )
    return await PersonConsultation(question, place, reviewer).ask()


def read_decision(response: Response) -> PhaseDecision:
    """Return the decision that an answer means: a `PhaseDecision`, its JSON, or its form as text.

    Raises:
        InvalidOutput: when it means none.
        StoredStateError: when another object was stored.
    """
    match response:
        case StoredAnswer():
            response = response.restore(PhaseDecision)
        case True:
            response = PhaseDecision.approve()
        case Approval(granted, reason) | {"granted": bool(granted), "reason": str(reason)}:
            response = PhaseDecision.approve() if granted else PhaseDecision.reject(reason or "no reason was given")
    try:
        return output_type(PhaseDecision).accept(response)
    except InvalidOutput as error:
        problem = f"it is no decision ({error}). Answer with a PhaseDecision, or with {FORMS}"
        raise InvalidOutput(problem) from error


def _encode(decision: PhaseDecision) -> JsonValue:
    saved: JsonValue = to_jsonable_python(decision)
    return saved


def _decode(saved: object) -> PhaseDecision:
    return output_type(PhaseDecision).accept(saved)


async def decide(
    planned: PlannedPhase,
    outcomes: Mapping[str, TaskOutcome],
    input: EnsembleInput,
    place: RunContext,
    exit: EarlyExit,
    reviewer: Reviewer | None,
) -> PersonAnswer[PhaseDecision]:
    """Return the decision on a phase. A decision that runs another phase again names that phase.

    Args:
        planned: the phase.
        outcomes: the outcomes of the tasks of the phase, and of those before it, by task id.
        input: the input of the run.
        place: the context of the review.
        exit: the early end of the run, which a gate of the reviewing task, or nobody's decision in time, may ask for.
        reviewer: the reviewer of the ensemble.

    Raises:
        UndecidedError: when the reviewer gives no decision, or names a phase that does not run right before.
        Suspended: when a person has not answered yet.
        Exception: any that the agent or function of the review raised.
    """
    review = planned.phase.review
    if review is None:
        return PersonAnswer(PhaseDecision.approve())
    complete = partial(find_predecessor, predecessors=planned.direct_predecessors)
    if isinstance(review.reviewer, PersonReview):
        shown = collect_context([job.task.id for job in planned.jobs], outcomes.values())
        answer = await ask_person(review.reviewer, planned.name, shown, place, complete, reviewer)
        return _decide_in_time(review.reviewer, exit) if answer is None else answer
    assert planned.reviewer is not None
    settings = ReviewSettings(reviewer=reviewer)
    return PersonAnswer(complete(await _run_reviewer(planned.reviewer, outcomes, input, place, exit, settings)))


def _decide_in_time(person: PersonReview, exit: EarlyExit) -> PersonAnswer[PhaseDecision]:
    """Return the decision on a phase on which nobody has decided in time."""
    if person.on_timeout == "reject":
        return PersonAnswer(
            PhaseDecision.reject(f"nobody has decided within {format_count(person.timeout or 0, 'second')}")
        )
    if person.on_timeout == "exit_early":
        exit.request(ExitReason.TIMEOUT)
    return PersonAnswer(PhaseDecision.approve())


def find_predecessor(decision: PhaseDecision, predecessors: tuple[str, ...]) -> PhaseDecision:
    """Return a decision in which the phase that runs again has its name.

    Raises:
        UndecidedError: when no such phase runs right before, or several do and none is named.
    """
    if decision.verdict != "retry_predecessor" or decision.phase in predecessors:
        return decision
    listed = f"Phases right before: {', '.join(map(repr, predecessors)) or 'none'}"
    if decision.phase is not None:
        raise UndecidedError(f"the decision runs {decision.phase!r} again, which is not right before it. {listed}")
    if len(predecessors) != 1:
        raise UndecidedError(f"the decision does not say which phase runs again. {listed}")
    return PhaseDecision.retry_predecessor(decision.feedback, predecessors[0])


async def _run_reviewer(
    job: Assignment,
    outcomes: Mapping[str, TaskOutcome],
    input: EnsembleInput,
    place: RunContext,
    exit: EarlyExit,
    settings: ReviewSettings,
) -> PhaseDecision:
    """Return the decision of a task. A task that returns none is asked once more; an agent does that itself."""
    try:
        return await _run_once(job, outcomes, input, place.at("review"), exit, settings)
    except OutputError as error:
        if isinstance(job.runnable, Agent):
            raise UndecidedError(str(error)) from error
        again = Revision(2, _AGAIN, error.last_reply)
    try:
        return await _run_once(job, outcomes, input, place.at("review-2"), exit, settings, {job.task.id: again})
    except OutputError as error:
        raise UndecidedError(f"{error.last_reply!r} is no decision: {FORMS}") from error


async def _run_once(
    job: Assignment,
    outcomes: Mapping[str, TaskOutcome],
    input: EnsembleInput,
    place: RunContext,
    exit: EarlyExit,
    settings: ReviewSettings,
    revisions: Mapping[str, Revision] = MappingProxyType({}),
) -> PhaseDecision:
    environment = TaskEnvironment(input, outcomes_by_task=outcomes, revisions=revisions)
    output = await TaskRunner(environment, place, exit).run(create_plan(job, settings))
    if isinstance(output, SkippedTask):  # its `when` says that there is nothing to review
        return PhaseDecision.approve()
    return _read_decision(output, place)


def _read_decision(output: TaskOutput, place: RunContext) -> PhaseDecision:
    """Return the decision of a reviewer; of a loop, an ensemble and the like, it is in the text.

    Raises:
        OutputError: when the text is no decision.
    """
    if isinstance(output.parsed, PhaseDecision):
        return output.parsed
    try:
        return output_type(PhaseDecision).parse(output.raw)
    except InvalidOutput as error:
        failed = RunResult(None, RunStatus.FAILED, tally=place.tally, run_id=place.run_id)
        raise OutputError(f"{output.task_id!r}: {error}", failed, output.raw) from error
