"""`Loop`: tasks that are repeated until a predicate holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, Literal, TypeAlias, get_args

from typing_extensions import TypeVar, override

from tactician.diagrams.diagram import DiagramEdge
from tactician.ensemble.groups.task_group import GroupRunnable, TaskGroup
from tactician.ensemble.tasks.drawing import Drawing
from tactician.ensemble.tasks.task import TaskLike
from tactician.ensemble.tasks.workflows import Workflow
from tactician.ensemble.values.errors import LoopLimitError
from tactician.ensemble.values.outcomes import OutputPredicate, TaskOutputs
from tactician.ensemble.values.predicates import describe_predicate, evaluate_predicate
from tactician.ensemble.values.results import CompositeResult
from tactician.ensemble.values.task_input import TaskInput
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.values.template import escape_template
from tactician.ensemble.work.assignment import assign
from tactician.ensemble.work.composite import Equipment
from tactician.ensemble.work.environment import TaskEnvironment
from tactician.ensemble.work.running import TaskOrder, run_tasks
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.runs import RunContext, Runnable
from tactician.suggestions import suggest_options

T_co = TypeVar("T_co", covariant=True, default=object)
DEFAULT_MAX_ITERATIONS: Final = 5
LoopLimitPolicy: TypeAlias = Literal["return_last", "raise", "flag"]
LoopOutputs: TypeAlias = Literal["last", "final_task", "all"]
Iterations: TypeAlias = list[tuple[TaskOutput, ...]]


@frozen
class Window:
    """Memory of a loop for its last iterations.

    Attributes:
        iterations: number of earlier iterations whose outputs the tasks see.
    """

    iterations: int


@suggest_options
class Loop(TaskGroup[T_co]):
    """Tasks that are repeated in their order until a predicate holds.

    In an ensemble it stands in the place of a task. A task of the loop that names no context gets the output of
    the task before it; the first task gets the input of the loop.

    Args:
        tasks: the tasks of an iteration.
        until: sync or async predicate of the outputs so far, called after each iteration. Without a predicate, the
            loop ends after `max_iterations`, which is then not a limit.
        max_iterations: number of iterations at most.
        on_limit: the end of a loop whose predicate never held: `"return_last"` gives the outputs of the last iteration,
            `"raise"` raises, and `"flag"` gives them with `limit_reached`.
        memory: what tasks see of earlier iterations: `"accumulate"` all, `"fresh"` nothing, `Window(2)` the last two.
        outputs: what the loop keeps, and other tasks see: `"last"` the outputs of the last iteration, `"final_task"`
            the last task's output, `"all"` the outputs of all iterations.
        id: the id; by default it names the tasks.
        description: the purpose.
        context: tasks outside whose outputs the first task sees; in a sequence, by default, the task before the loop.

    Raises:
        EnsembleDefinitionError: with all mistakes.
    """

    def __init__(
        self,
        tasks: Sequence[TaskLike[T_co]],
        *,
        until: OutputPredicate | None = None,
        max_iterations: int = DEFAULT_MAX_ITERATIONS,
        on_limit: LoopLimitPolicy = "return_last",
        memory: Literal["accumulate", "fresh"] | Window = "accumulate",
        outputs: LoopOutputs = "last",
        id: str = "",
        description: str = "",
        context: Sequence[TaskLike] | None = None,
    ) -> None:
        self.until = until
        self.max_iterations = max_iterations
        self.on_limit = on_limit
        self.memory = memory
        self.outputs = outputs
        names = "; ".join(str(getattr(task, "id", task)) for task in tasks)
        super().__init__(id or f"Loop: {names}", description, {f"tasks[{n}]": t for n, t in enumerate(tasks)}, context)

    @property
    @override
    def default_description(self) -> str:
        names = "; ".join(str(getattr(task, "id", task)) for task in self.parts.values())
        return escape_template(f"Repeat these tasks: {names}")

    @property
    @override
    def role(self) -> str:
        return "(loop)"

    @override
    def bind(self, equipment: Equipment) -> Runnable:
        tasks, places = list(self.parts.values()), list(self.parts)
        contexts = (Workflow.SEQUENTIAL.find_context(tasks, number) for number in range(len(tasks)))
        jobs = (assign(task, context, equipment) for task, context in zip(tasks, contexts, strict=True))
        return _LoopRunnable(self, dict(zip(places, jobs, strict=True)))

    @override
    def _find_mistakes(self) -> Iterator[tuple[str, str]]:
        if not self.parts:
            yield "tasks", "a loop must have at least one task"
        if self.until is not None and not callable(self.until):
            yield "until", f"{self.until!r} is not a function of the outputs so far"
        if self.max_iterations < 1:
            yield "max_iterations", f"it must be > 0, got: {self.max_iterations}"
        if self.on_limit not in get_args(LoopLimitPolicy):
            yield "on_limit", f"{self.on_limit!r} is not one of {', '.join(map(repr, get_args(LoopLimitPolicy)))}"
        if self.outputs not in get_args(LoopOutputs):
            yield "outputs", f"{self.outputs!r} is not one of {', '.join(map(repr, get_args(LoopOutputs)))}"
        if not isinstance(self.memory, Window) and self.memory not in ("accumulate", "fresh"):
            yield "memory", f"{self.memory!r} is not 'accumulate', 'fresh' or a Window"
        elif isinstance(self.memory, Window) and self.memory.iterations < 1:
            yield "memory", f"a window must have at least one iteration, got: {self.memory.iterations}"
        yield from self._find_order_mistakes()

    def _find_order_mistakes(self) -> Iterator[tuple[str, str]]:
        numbers = {getattr(part, "id", None): number for number, part in enumerate(self.parts.values())}
        for number, (place, part) in enumerate(self.parts.items()):
            for at, other in enumerate(getattr(part, "context", None) or ()):
                if numbers.get(other.id, -1) > number:
                    problem = f"the task {other.id!r} appears later in the loop: move it, or leave it out"
                    yield f"{place}.context[{at}]", problem


class _LoopRunnable(GroupRunnable[Loop]):
    @override
    async def _perform(self, environment: TaskEnvironment, task: TaskInput, context: RunContext) -> CompositeResult:
        jobs = tuple(self.jobs.values())
        order = TaskOrder(jobs, Workflow.SEQUENTIAL, None, "fail_fast", environment.reviews)
        inside = replace(environment, first_ids=(jobs[0].task.id,))
        iterations: Iterations = []
        while len(iterations) < self.group.max_iterations:
            number = len(iterations) + 1
            place = context.at(f"iteration-{number}")
            if not self._is_final(number):
                place = place.with_held_text()
            saved_count = self._count_known(iterations)
            surroundings = replace(
                inside,
                revision=None if iterations else inside.revision,
                earlier=(*inside.earlier, *_join(iterations[len(iterations) - saved_count :])),
                forgotten=(*inside.forgotten, *_join(iterations[: len(iterations) - saved_count], inside=True)),
            )
            result = await run_tasks(
                f"{self.subject}, iteration {number}", order, surroundings, place, exit=environment.exit
            )
            iterations.append(result.task_outputs)
            if environment.has_ended or await self._is_done(iterations, place):
                return self._end(iterations, context)
        if self.group.until is None:
            return self._end(iterations, context)
        return self._end_at_limit(iterations, context)

    def _is_final(self, number: int) -> bool:
        """Return whether the loop gives out the outputs of an iteration, whatever they are."""
        is_last, group = number == self.group.max_iterations, self.group
        return is_last and (group.until is None or group.on_limit != "raise")

    def _count_known(self, iterations: Iterations) -> int:
        """Return the number of earlier iterations, the last ones, that the tasks remember."""
        memory = self.group.memory
        if memory == "fresh":
            return 0
        return min(memory.iterations, len(iterations)) if isinstance(memory, Window) else len(iterations)

    async def _is_done(self, iterations: Iterations, place: RunContext) -> bool:
        """Return whether the predicate holds. It is asked once, also when the run continues elsewhere."""
        assert place.checkpoint is not None
        if self.group.until is None:
            return False
        if isinstance(saved_verdict := place.checkpoint.data.get("is_done"), bool):
            return saved_verdict
        outputs = _join(iterations)
        subject = f"{self.subject}: its `until` after iteration {len(iterations)}"
        failed = self._create_failed_result(outputs, place)
        is_done = await evaluate_predicate(self.group.until, TaskOutputs(outputs), subject, failed, place)
        place.checkpoint.set(is_done=is_done)
        return is_done

    def _end(self, iterations: Iterations, context: RunContext, *, limit_reached: bool = False) -> CompositeResult:
        kept = iterations[-1]
        if self.group.outputs == "all":
            kept = _join(iterations)
        elif self.group.outputs == "final_task":
            kept = kept[-1:]
        return self._conclude(kept, kept, context, limit_reached=limit_reached)

    def _end_at_limit(self, iterations: Iterations, context: RunContext) -> CompositeResult:
        if self.group.on_limit != "raise":
            return self._end(iterations, context, limit_reached=self.group.on_limit == "flag")
        outputs = _join(iterations)
        message = (
            f"{self.subject}: its `until` has not held after "
            f"{format_count(len(iterations), 'iteration')}; the last output is: "
            f"{outputs[-1].raw[:500]}"
        )
        raise LoopLimitError(message, self._create_failed_result(outputs, context))

    @override
    def draw(self, prefix: str) -> Drawing:
        drawings = [job.draw(f"{prefix}_{number}") for number, job in enumerate(self.jobs.values())]
        edges = [DiagramEdge(a.exit, b.entry) for a, b in pairwise(drawings)]
        until = "" if self.group.until is None else f"until {describe_predicate(self.group.until)}, "
        back = f"{until}at most {format_count(self.group.max_iterations, 'time')}"
        edges.append(DiagramEdge(drawings[-1].exit, drawings[0].entry, back, "dashed"))
        return Drawing.combine(drawings, edges, drawings[0].entry, drawings[-1].exit)


def _join(iterations: Iterations, *, inside: bool = False) -> tuple[TaskOutput, ...]:
    """Return the outputs of iterations; `inside` adds the outputs of the tasks inside of their tasks."""
    outputs = (output for iteration in iterations for output in iteration)
    return tuple(part for output in outputs for part in output.walk()) if inside else tuple(outputs)
