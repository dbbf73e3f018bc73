"""`Graph`: tasks as states, with edges that decide which state is next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from typing_extensions import TypeVar, override

from tactician.amounts import Text
from tactician.diagrams.diagram import DiagramEdge
from tactician.ensemble.groups.task_group import GroupRunnable, TaskGroup
from tactician.ensemble.tasks.drawing import Drawing
from tactician.ensemble.tasks.task import Task, TaskLike
from tactician.ensemble.tasks.workflows import Workflow
from tactician.ensemble.values.errors import GraphError
from tactician.ensemble.values.inputs import EnsembleInput
from tactician.ensemble.values.outcomes import OutputPredicate, TaskOutputs
from tactician.ensemble.values.predicates import describe_predicate, evaluate_predicate
from tactician.ensemble.values.results import CompositeResult
from tactician.ensemble.values.task_input import Revision, TaskInput
from tactician.ensemble.values.task_output import TaskOutput
from tactician.ensemble.values.template import escape_template
from tactician.ensemble.work.assignment import Assignment, assign
from tactician.ensemble.work.composite import Equipment
from tactician.ensemble.work.environment import TaskEnvironment
from tactician.ensemble.work.running import TaskOrder, run_tasks
from tactician.frozen import frozen
from tactician.grammar import format_count
from tactician.runs import RunContext, Runnable
from tactician.suggestions import did_you_mean, suggest_options

END: Final = "END"
"""Target of edges that end a graph."""
T_co = TypeVar("T_co", covariant=True, default=object)
DEFAULT_MAX_STEPS: Final = 50
_MOST_SHOWN: Final = 5
_LONGEST_OUTPUT: Final = 200


@frozen
class Edge:
    """Edge of a graph.

    Attributes:
        source: the state from which it leads.
        target: the next state, or `END`.
        when: sync or async predicate of the outputs so far; without a predicate, the edge matches always.
    """

    source: Text
    target: Text
    when: OutputPredicate | None = None

    def __str__(self) -> str:
        condition = "" if self.when is None else f" when {describe_predicate(self.when)}"
        return f"{self.source!r} -> {END if self.target == END else repr(self.target)}{condition}"


@suggest_options
class Graph(TaskGroup[T_co]):
    """Tasks as states; a single state runs at a time. After each, the first edge that matches leads to the next.

    In an ensemble it stands in the place of a task. A state whose task names no context gets the output of the state
    before it; the first state gets the input of the graph. A task that runs again reads its latest output.

    Args:
        states: the tasks, by the names of the states.
        start: the first state.
        edges: the edges. A state's edges are tried in their order.
        max_steps: number of tasks that run at most.
        id: the id; by default it names the states.
        description: the purpose.
        context: tasks outside whose outputs the first state sees; in a sequence, by default, the task before the graph.

    Raises:
        EnsembleDefinitionError: with all mistakes.
    """

    def __init__(
        self,
        states: Mapping[str, TaskLike[T_co]],
        *,
        start: str,
        edges: Sequence[Edge],
        max_steps: int = DEFAULT_MAX_STEPS,
        id: str = "",
        description: str = "",
        context: Sequence[TaskLike] | None = None,
    ) -> None:
        self.names = tuple(states)
        self.start = start
        self.edges = tuple(edges)
        self.max_steps = max_steps
        names = ", ".join(map(str, states))
        parts = {f"states[{name!r}]": task for name, task in states.items()}
        super().__init__(id or f"Graph: {names}", description, parts, context)

    @property
    def states(self) -> Mapping[str, Task]:
        """The tasks, by the names of the states."""
        return dict(zip(self.names, self.parts.values(), strict=True))

    @property
    @override
    def default_description(self) -> str:
        return escape_template(f"Go from state to state: {', '.join(map(str, self.names))}")

    @property
    @override
    def role(self) -> str:
        return "(graph)"

    @override
    def bind(self, equipment: Equipment) -> Runnable:
        named = {place: task.named_context for place, task in self.parts.items()}
        jobs = {place: assign(task, named[place], equipment) for place, task in self.parts.items()}
        return _GraphRunnable(self, jobs)

    @override
    def _find_mistakes(self) -> Iterator[tuple[str, str]]:
        if not self.names:
            yield "states", "a graph must have at least one state"
            return
        if END in self.names:
            yield "states", f"{END!r} is the end of each graph: give the state another name"
        if self.max_steps < 1:
            yield "max_steps", f"it must be > 0, got: {self.max_steps}"
        if self.start not in self.names:
            yield "start", f"there is no state {self.start!r}.{did_you_mean(self.start, self.names)}"
        edges: Sequence[object] = self.edges
        if strange := [(number, edge) for number, edge in enumerate(edges) if not isinstance(edge, Edge)]:
            yield from ((f"edges[{number}]", f"{edge!r} is not an Edge") for number, edge in strange)
            return
        yield from self._find_edge_mistakes()
        yield from self._find_ways_mistakes()

    def _find_edge_mistakes(self) -> Iterator[tuple[str, str]]:
        always: dict[str, int] = {}
        for number, edge in enumerate(self.edges):
            path = f"edges[{number}]"
            if edge.source not in self.names:
                yield f"{path}.source", f"there is no state {edge.source!r}.{did_you_mean(edge.source, self.names)}"
            if edge.target not in (*self.names, END):
                yield f"{path}.target", f"there is no state {edge.target!r}.{did_you_mean(edge.target, self.names)}"
            if edge.when is not None and not callable(edge.when):
                yield f"{path}.when", f"{edge.when!r} is not a function of the outputs so far"
            if edge.source in always:
                yield path, f"it is never taken: edges[{always[edge.source]}] before it matches always"
            elif edge.when is None:
                always[edge.source] = number

    def _find_ways_mistakes(self) -> Iterator[tuple[str, str]]:
        """Yield a mistake for each state that cannot be reached or has no edge, and for a graph without an end."""
        reached, waiting = {self.start}, [self.start]
        while waiting:
            state = waiting.pop()
            targets = {edge.target for edge in self.edges if edge.source == state} - reached
            reached |= targets
            waiting += targets
        for name in self.names:
            if name not in reached:
                yield f"states[{name!r}]", "no edge leads to it"
            elif not any(edge.source == name for edge in self.edges):
                yield f"states[{name!r}]", f"no edge leads from it: add Edge({name!r}, END)"
        if END not in reached and self.start in self.names:
            yield "edges", "no way leads to the end: add an edge to END"


@dataclass(slots=True)
class _Walk:
    """Steps of a run of a graph so far."""

    states: list[str] = field(default_factory=list)
    outputs: list[TaskOutput] = field(default_factory=list)
    latest: dict[str, TaskOutput] = field(default_factory=dict)

    def add(self, state: str, output: TaskOutput | None) -> None:
        """Add a visit of a state. A task that is skipped has no output."""
        self.states.append(state)
        if output is not None:
            self.outputs.append(output)
            self.latest[state] = output


class _GraphRunnable(GroupRunnable[Graph]):
    @override
    async def _perform(self, environment: TaskEnvironment, task: TaskInput, context: RunContext) -> CompositeResult:
        walk, state = _Walk(), self.group.start
        while state != END:
            number = len(walk.states) + 1
            if number > self.group.max_steps:
                raise self._create_limit_error(walk, context)
            place = context.at(f"step-{number}")
            inside = place if self._is_final(state) else place.with_held_text()
            walk.add(state, await self._visit(state, walk, environment, inside))
            state = END if environment.has_ended else await self._choose_next(walk, place)
        return self._conclude(walk.outputs, walk.outputs[-1:], context)

    def _is_final(self, state: str) -> bool:
        """Return whether a state leads to the end only, so that its output is the graph's."""
        return all(edge.target == END and edge.when is None for edge in self.group.edges if edge.source == state)

    async def _visit(
        self, state: str, walk: _Walk, environment: TaskEnvironment, place: RunContext
    ) -> TaskOutput | None:
        """Return the output of the task of a state; `None` when it is skipped."""
        job = self._find_job(state)
        outputs_by_task = {**environment.outcomes_by_task, **{output.task_id: output for output in walk.outputs}}
        visible = tuple(other for other in job.context if other.id in outputs_by_task)
        entry = (*(environment.entry if state == self.group.start else ()), *walk.outputs[-1:])
        inside = replace(
            environment,
            input=environment.input if state == self.group.start else EnsembleInput(environment.input.values),
            first_ids=(job.task.id,),
            entry=tuple(readable for output in entry for readable in output.readable),
            outcomes_by_task=outputs_by_task,
            revisions=_describe_visits(state, job.task, walk),
            revision=environment.revision if not walk.states else None,
        )
        order = TaskOrder((replace(job, context=visible),), Workflow.SEQUENTIAL, None, "fail_fast", environment.reviews)
        subject = f"{self.subject}, step {len(walk.states) + 1}, state {state!r}"
        result = await run_tasks(subject, order, inside, place)
        return next(iter(result.task_outputs), None)

    async def _choose_next(self, walk: _Walk, place: RunContext) -> str:
        """Return the next state. It is decided once, also when the run continues elsewhere."""
        assert place.checkpoint is not None
        if isinstance(saved_choice := place.checkpoint.data.get("next"), str):
            return saved_choice
        state = walk.states[-1]
        failed = self._create_failed_result(walk.outputs, place)
        for edge in self.group.edges:
            if edge.source != state:
                continue
            subject = f"{self.subject}: the edge {edge} after step {len(walk.states)}"
            outputs = TaskOutputs(walk.outputs)
            if edge.when is None or await evaluate_predicate(edge.when, outputs, subject, failed, place):
                place.checkpoint.set(next=edge.target)
                return edge.target
        raise self._create_dead_end_error(walk, place)

    def _create_dead_end_error(self, walk: _Walk, context: RunContext) -> GraphError:
        edges = "; ".join(str(edge) for edge in self.group.edges if edge.source == walk.states[-1])
        message = (
            f"{self.subject}: after step {len(walk.states)} no edge from {walk.states[-1]!r} matches. "
            f"Edges: {edges}. Outputs: {_describe_outputs(walk)}. Add an edge without `when` as the last one"
        )
        return GraphError(message, self._create_failed_result(walk.outputs, context))

    def _create_limit_error(self, walk: _Walk, context: RunContext) -> GraphError:
        message = (
            f"{self.subject}: END is not reached after {format_count(self.group.max_steps, 'step')}. "
            f"Outputs: {_describe_outputs(walk)}. Check the edges, or raise max_steps"
        )
        return GraphError(message, self._create_failed_result(walk.outputs, context))

    def _find_job(self, state: str) -> Assignment:
        return self.jobs[f"states[{state!r}]"]

    @override
    def draw(self, prefix: str) -> Drawing:
        numbers = {name: f"{prefix}_{number}" for number, name in enumerate(self.group.names)}
        drawings = {name: self._find_job(name).draw(node) for name, node in numbers.items()}
        end = Drawing.of_node(f"{prefix}_end", (END,), "stadium")
        edges = (
            DiagramEdge(
                drawings[edge.source].exit,
                end.entry if edge.target == END else drawings[edge.target].entry,
                "" if edge.when is None else describe_predicate(edge.when),
            )
            for edge in self.group.edges
        )
        return Drawing.combine((*drawings.values(), end), edges, drawings[self.group.start].entry, end.exit)


def _describe_visits(state: str, task: Task, walk: _Walk) -> dict[str, Revision]:
    """Return the revision for the task of a state that was visited before."""
    if (latest := walk.latest.get(state)) is None:
        return {}
    return {task.id: Revision(walk.states.count(state) + 1, "", latest.raw)}


def _describe_outputs(walk: _Walk) -> str:
    omitted = "… " if len(walk.outputs) > _MOST_SHOWN else ""
    described_outputs = (
        f"{output.task_id!r} gave {output.raw[:_LONGEST_OUTPUT]!r}" for output in walk.outputs[-_MOST_SHOWN:]
    )
    return omitted + ("; ".join(described_outputs) or "none")
