"""Hierarchical workflow: a manager that delegates to workers, and answers for the ensemble."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tactician.agents import Agent
from tactician.ensemble.delegation.execution import DelegationExecutor, Delegator
from tactician.ensemble.delegation.roster import get_role
from tactician.ensemble.delegation.tool import TOOL_NAME, DelegationTool
from tactician.ensemble.delegation.worker import TeamWorker, describe_workers
from tactician.ensemble.hierarchy.learning import HierarchyLearning, find_reflection_mistakes
from tactician.ensemble.hierarchy.manager_work import ManagerWork
from tactician.ensemble.learning.recollection import Recollection
from tactician.ensemble.learning.sections import list_memory_sections, list_note_sections
from tactician.ensemble.tasks.prompts import format_revision, list_context_sections, list_format_sections
from tactician.ensemble.tasks.task import DEFAULT_MAX_TOOL_CALLS
from tactician.ensemble.values.constraints import NO_CONSTRAINTS, HierarchicalConstraints
from tactician.ensemble.values.delegation import Delegation
from tactician.ensemble.values.errors import INTERRUPTIONS, ConstraintViolationError, TaskFailedError
from tactician.ensemble.values.inputs import EnsembleInput
from tactician.ensemble.values.results import EnsembleResult, ExitReason, get_end
from tactician.ensemble.values.task_input import Revision
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.values.template import fill_template
from tactician.ensemble.work.assignment import Assignment
from tactician.ensemble.work.environment import TaskEnvironment
from tactician.ensemble.work.running import note_begin
from tactician.ensemble.work.task_reviews import ReviewSettings
from tactician.ensemble.work.task_signals import EnsembleExit
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.llm import ModelLike
from tactician.runs import RunContext
from tactician.text import describe_error

MANAGER_ROLE: Final = "Manager"
_GOAL: Final = "Get all tasks done by the right workers, and combine what they give into the final answer"


@frozen
class Hierarchy:
    """Manager with its workers.

    Attributes:
        manager: the manager.
        role: its role.
        is_given: true when the manager was not made, so that its prompt has to name the workers.
        workers: the workers.
        jobs: the tasks.
        constraints: limits on the delegations.
        reviews: the settings of the ensemble for reviews, which are about the answer.
    """

    manager: Agent[object]
    role: str
    is_given: bool
    workers: tuple[TeamWorker, ...]
    jobs: tuple[Assignment, ...]
    constraints: HierarchicalConstraints
    reviews: ReviewSettings

    def find_mistakes(self) -> Iterator[tuple[str, str]]:
        """Yield the place and the description of each mistake in the manager and the constraints."""
        roles = [worker.role for worker in self.workers]
        if self.role in roles:
            yield "manager", f"a worker has its role {self.role!r} too: give one of them another role"
        yield from self.constraints.find_mistakes(roles)
        yield from find_reflection_mistakes(self.jobs)


def create_hierarchy(
    jobs: Sequence[Assignment],
    workers: Sequence[TeamWorker],
    manager: Agent[object] | None,
    constraints: HierarchicalConstraints | None,
    model: ModelLike | None,
    settings: Delegation,
    reviews: ReviewSettings,
) -> Hierarchy:
    """Return the manager and the workers of an ensemble.

    Args:
        jobs: the tasks.
        workers: the workers.
        manager: the manager; `None` makes a default manager.
        constraints: limits on the delegations.
        model: the model of the ensemble.
        settings: the settings of delegations.
        reviews: the settings of the ensemble for reviews.
    """
    calls = max(DEFAULT_MAX_TOOL_CALLS, sum(job.task.max_tool_calls for job in jobs))
    leader = _create_manager(workers) if manager is None else manager
    limits = constraints or NO_CONSTRAINTS
    tool = DelegationTool(Delegator(get_role(leader), limits), settings)
    last = jobs[-1].task
    equipped: Agent[object] = leader.with_defaults(
        last.output_type,
        more_tools=[tool],
        model=model,
        max_tool_calls=calls,
        max_turns=calls,
        max_attempts=last.max_output_retries + 1,
    )
    return Hierarchy(equipped, get_role(leader), manager is not None, tuple(workers), tuple(jobs), limits, reviews)


async def run_hierarchy(
    name: str, hierarchy: Hierarchy, environment: TaskEnvironment, context: RunContext
) -> EnsembleResult:
    """Let the manager get the tasks done, and return its answer with the outputs of the workers before it.

    Args:
        name: the name of the ensemble.
        hierarchy: the manager and its workers.
        environment: what the tasks begin with. Its text is the caller's prompt.
        context: the context of the run.

    Raises:
        TaskFailedError: when the manager fails, or nobody has decided on its answer in time.
        ConstraintViolationError: when a required worker has not completed a delegation.
    """
    began = note_begin(context)
    last = hierarchy.jobs[-1]
    model, outbox = hierarchy.manager.model, environment.outbox
    learning = HierarchyLearning(hierarchy.jobs, environment.input, model, context, outbox)
    recalled = await learning.load()
    work = ManagerWork(
        hierarchy.manager,
        last,
        hierarchy.role,
        environment.input,
        hierarchy.reviews,
        context,
        is_checked=bool(hierarchy.constraints.required_workers),
    )

    def conclude(reason: ExitReason, answer: TaskOutput | None = None) -> EnsembleResult:
        duration = max(0.0, context.clock.time() - began)
        outputs = _list_outputs(hierarchy, context)
        shown = outputs if answer is None else [*outputs, answer]
        return EnsembleResult.create(sorted(shown, key=get_end), answer, context, duration, exit_reason=reason)

    try:
        answer = await work.answer(
            lambda revision: _build_prompt(hierarchy, environment, recalled, revision, context),
            lambda: _require_workers(name, hierarchy, conclude(ExitReason.FAILED)),
            began,
            environment.revision,
        )
    except EnsembleExit as signal:
        return conclude(signal.reason, signal.output)
    except INTERRUPTIONS:
        raise
    except Exception as error:
        if isinstance(error, ConstraintViolationError) and error.result.run_id == context.run_id:
            raise  # it is of this hierarchy, and not of another inside
        failed = conclude(ExitReason.FAILED)
        message = (
            f"{name}: the manager failed after "
            f"{format_count(len(failed.task_outputs), 'delegation')}: {describe_error(error)}"
        )
        completed = {output.task_id: output for output in failed.task_outputs}
        raise TaskFailedError(message, failed, completed, {last.task.id: error}, {}) from error
    await learning.keep(answer)
    return conclude(ExitReason.COMPLETED, answer)


def _create_manager(workers: Sequence[TeamWorker]) -> Agent:
    listed = f"These work for you; give them tasks with {TOOL_NAME}:\n{describe_workers(workers)}"
    return Agent(role=MANAGER_ROLE, goal=_GOAL, background=listed)


def _build_prompt(
    hierarchy: Hierarchy,
    environment: TaskEnvironment,
    recalled: Recollection,
    revision: Revision | None,
    context: RunContext,
) -> str:
    numbers = {job.task.id: number for number, job in enumerate(hierarchy.jobs, start=1)}
    tasks = "\n".join(_describe_task(job, numbers, environment.input) for job in hierarchy.jobs)
    workers = f"## Workers\n\n{describe_workers(hierarchy.workers)}" if hierarchy.is_given else ""
    given, kind = environment.input, hierarchy.jobs[-1].task.output_type
    sections = (
        *list_memory_sections(recalled.memory, context),
        *list_context_sections(environment.entry, context),
        workers,
        *list_note_sections(recalled.reflections),
        "" if revision is None else format_revision(revision),
        f"## Input\n\n{given.text}" if given.text and given.shows_text else "",
        f"## Tasks\n\n{tasks}",
        *list_format_sections(kind),
    )
    return "\n\n".join(filter(None, sections))


def _describe_task(job: Assignment, numbers: dict[str, int], input: EnsembleInput) -> str:
    task, values = job.task, input.values
    lines = [f"{numbers[task.id]}. {fill_template(task.description, values)}"]
    if task.expected_output:
        lines.append(f"   Expected output: {fill_template(task.expected_output, values)}")
    if task.context:
        lines.append(f"   Needs the output of: {', '.join(str(numbers[other.id]) for other in task.named_context)}")
    if task.runnable is not None or task.handler is not None:
        lines.append(f"   Meant for: {task.id if task.runnable is None else get_role(task.runnable)}")
    return "\n".join(lines)


def _list_outputs(hierarchy: Hierarchy, context: RunContext) -> list[TaskOutput]:
    """Return the outputs of the workers of a manager, in the order of its delegations."""
    completed = context.get(DelegationExecutor).log.list_completed(hierarchy.role)
    return [entry.output for entry in completed if entry.output is not None]


def _require_workers(name: str, hierarchy: Hierarchy, result: EnsembleResult) -> None:
    """Raise an error when a required worker has not completed a delegation of the manager."""
    completed = {output.task_id: output for output in result.task_outputs}
    missing = sorted(set(hierarchy.constraints.required_workers) - {output.role for output in completed.values()})
    if missing:
        violations = {role: f"the required worker {role!r} has completed no delegation" for role in missing}
        raise ConstraintViolationError(f"{name}: {'; '.join(violations.values())}", result, completed, violations)
