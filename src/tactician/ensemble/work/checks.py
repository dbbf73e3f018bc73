"""Checks of a whole ensemble, before any model is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import chain, pairwise

from tactician.agents import Agent
from tactician.ensemble.tasks.task import Task, shorten
from tactician.ensemble.tasks.workflows import Workflow
from tactician.ensemble.values.ensemble_runnable import EnsembleRunnable
from tactician.ensemble.values.inputs import TEXT_NAME
from tactician.ensemble.values.task_input import Values
from tactician.ensemble.values.template import find_names
from tactician.ensemble.work.composite import TaskTemplate, find_composite, walk_tasks
from tactician.errors import Problem
from tactician.grammar import add_article
from tactician.loggers import get_logger
from tactician.suggestions import did_you_mean

_logger = get_logger(__name__)


def find_structure_problems(
    tasks: Sequence[Task],
    agents: Sequence[object] | None,
    workflow: Workflow,
    earlier: Collection[str] | None = None,
) -> tuple[Problem, ...]:
    """Return the mistakes in how the tasks and agents of an ensemble, or of a phase, fit together.

    Args:
        tasks: the tasks.
        agents: the agents that may do them; any, when `None`.
        workflow: the order of the tasks.
        earlier: ids of the tasks of the phases before; `None` for the tasks of an ensemble without phases.
    """
    problems = chain(
        () if earlier is not None else _find_duplicates(tasks),
        _find_context_mistakes(tasks, workflow, earlier),
        _find_cycles(tasks),
    )
    mistakes = tuple(Problem(path, message) for path, message in problems)
    return *mistakes, *find_part_problems(number_tasks(tasks), agents)


def number_tasks(tasks: Iterable[Task]) -> Iterator[tuple[str, Task]]:
    """Yield the tasks of a list with their places."""
    return ((f"tasks[{number}]", task) for number, task in enumerate(tasks))


def find_part_problems(parts: Iterable[tuple[str, Task]], agents: Sequence[object] | None) -> Iterator[Problem]:
    """Yield the mistakes that each task has by itself, and those in the tasks inside it.

    Args:
        parts: the tasks, with their places.
        agents: the agents that may do them; all, when `None`.
    """
    for path, task in parts:
        if agents is not None:
            yield from (Problem(place, message) for place, message in _find_stranger(path, task, agents))
        yield from (Problem(place, message) for place, message in _find_agent_mistakes(path, task))
        yield from find_agent_problems(f"{path}.agent", task.agent)
        if (composite := find_composite(task)) is not None:
            yield from (problem.inside(path) for problem in composite.find_problems(agents))


def find_agent_problems(path: str, agent: object) -> Iterator[Problem]:
    """Yield the mistakes in the tasks of an agent that is an ensemble, or a group of tasks, and gets a text.

    Args:
        path: the place of the agent.
        agent: the agent, of any kind.
    """
    if isinstance(agent, EnsembleRunnable):
        yield from (problem.inside(path) for problem in agent.structure_problems)
        if names := [repr(name) for name in agent.value_names if name != TEXT_NAME]:
            problem = f"an agent gets a text, and the tasks of {agent.name!r} need values for {', '.join(names)}"
            yield Problem(path, f"{problem}: put it among the tasks itself, or write {{{TEXT_NAME}}} in its tasks")


def find_made_problems(made: Mapping[str, Task], values: Values, value_names: Container[str]) -> Iterator[Problem]:
    """Yield the mistakes in tasks that a function made in a run.

    Args:
        made: the tasks, by their places.
        values: the values for templates.
        value_names: ids of tasks with an output.
    """
    yield from find_part_problems(made.items(), None)
    yield from find_template_problems(list_part_templates(made.items()), values)
    for path, task in made.items():
        for number, other in enumerate(task.named_context):
            if other.id not in value_names:
                yield Problem(f"{path}.context[{number}]", f"the task {other.id!r} has no output")


def list_part_templates(parts: Iterable[tuple[str, Task]]) -> Iterator[TaskTemplate]:
    """Yield the templates of tasks, and of the tasks inside them, that need values.

    The description of a composite may be made of the tasks inside it. What these need is not listed twice.

    Args:
        parts: the tasks, with their places.
    """
    for path, task in parts:
        composite = find_composite(task)
        inside = () if composite is None else tuple(composite.list_templates())
        listed = {name for template in inside for name in template.names}
        for place, text in (("description", task.description), ("expected_output", task.expected_output)):
            if names := tuple(name for name in find_names(text) if name not in listed):
                yield TaskTemplate(f"{path}.{place}", names)
        yield from (TaskTemplate(f"{path}.{template.path}", template.names) for template in inside)


def find_template_problems(templates: Iterable[TaskTemplate], values: Values) -> Iterator[Problem]:
    """Yield a problem for each template with names that have no value."""
    for template in templates:
        if missing := [name for name in template.names if name not in values]:
            names = ", ".join(map(repr, missing))
            value_names = ", ".join(map(repr, values)) or "none"
            hints = "".join(did_you_mean(name, values) for name in missing)
            problem = f"no value for {names} (given: {value_names}); run the ensemble with these names.{hints}"
            yield Problem(template.path, problem)


def find_hierarchy_mistakes(tasks: Sequence[Task], *, has_agents: bool) -> Iterator[tuple[str, str]]:
    """Yield the settings of tasks that a hierarchy cannot heed, as its manager decides what is done, and by whom.

    The output of the last task is the answer of the manager, which can be reviewed.

    Args:
        tasks: the tasks.
        has_agents: true when the ensemble lists its agents, so that no agent is made for a task.
    """
    remedy = "give this ensemble to a task of another one, as its agent, and set it there"
    for number, task in enumerate(tasks):
        for place in ("when", "review", "input_guardrails", "output_guardrails"):
            if getattr(task, place) and (place != "review" or task is not tasks[-1]):
                yield f"tasks[{number}].{place}", f"a hierarchical workflow does not run tasks one by one: {remedy}"
        if has_agents and task.agent is None and task.handler is None:
            for place in (place for place in ("role", "goal", "background", "model", "tools") if getattr(task, place)):
                problem = "no agent is made for this task, as the ensemble lists its agents"
                yield f"tasks[{number}].{place}", f"{problem}: name the agent of the task, or leave this out"


def warn_of_unused_agents(name: str, tasks: Sequence[Task], agents: Sequence[object]) -> None:
    """Log a warning for each agent of an ensemble that does no task."""
    used = {id(task.agent) for _, task in walk_tasks(number_tasks(tasks))}
    for agent in agents:
        if id(agent) not in used:
            _logger.warning("%s: the agent %r is used by no task", name, name_agent(agent))


def warn_of_isolated_tasks(name: str, tasks: Sequence[Task]) -> None:
    """Log a warning for each task that reads no task and is read by none, although the contexts order the list."""
    read = {other.id for task in tasks for other in task.named_context}
    for task in tasks:
        if task.context is None and task.id not in read:
            _logger.warning(
                "%s: another task names a `context`, so the tasks run in parallel, and the task %r reads no output. "
                "Name its context, `context=[]` for none, or the workflow of the ensemble.",
                name,
                task.label,
            )


def _find_duplicates(tasks: Sequence[Task]) -> Iterator[tuple[str, str]]:
    counts = Counter(task.id for task in tasks)
    for number, task in enumerate(tasks):
        if counts[task.id] > 1:
            problem = f"{counts[task.id]} tasks have the id {task.label!r}: give each an id of its own"
            yield f"tasks[{number}].id", problem


def _find_context_mistakes(
    tasks: Sequence[Task], workflow: Workflow, earlier: Collection[str] | None
) -> Iterator[tuple[str, str]]:
    remedy = "is not in the ensemble: add it to the tasks"
    if earlier is not None:
        remedy = "is in no phase that runs before: add its phase to `after`"
    places = {task.id: number for number, task in enumerate(tasks)}
    for number, task in enumerate(tasks):
        for at, other in enumerate(task.named_context):
            path = f"tasks[{number}].context[{at}]"
            reference = f"Task {task.label!r} references context task {shorten(other.id)!r}"
            if other.id not in places:
                if other.id not in (earlier or ()):
                    yield path, f"{reference}, which {_advise(other.id, tasks) or remedy}"
            elif (mistake := workflow.find_context_mistake(number, places[other.id])) is not None:
                yield path, f"{reference}, {mistake}"


def _find_cycles(tasks: Sequence[Task]) -> Iterator[tuple[str, str]]:
    """Yield the cycles that have no reference in common."""
    graph = {task.id: {other.id for other in task.named_context} for task in tasks}
    while (cycle := _find_cycle(graph)) is not None:
        names = [repr(shorten(task_id)) for task_id in reversed(cycle)]
        problem = f"circular context dependency involving task {names[0]}: {' -> '.join(names)}"
        yield "tasks", f"{problem}. Remove one of these references"
        for other, task_id in pairwise(cycle):
            graph[task_id].discard(other)


def _find_cycle(graph: Mapping[str, set[str]]) -> Sequence[str] | None:
    """Return the ids of a cycle, each before the task that reads its output; `None` when there is no cycle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: Sequence[str] = error.args[1]
        return cycle
    return None


def _advise(task_id: str, tasks: Sequence[Task]) -> str | None:
    """Return what to do about a context task that is inside of another task; `None` for any other task."""
    for task in tasks:
        if (composite := find_composite(task)) is not None and any(
            part.id == task_id for part in composite.parts.values()
        ):
            return f"is inside of {shorten(composite.id)!r}: name that as the context"
    return None


def _find_stranger(path: str, task: Task, agents: Sequence[object]) -> Iterator[tuple[str, str]]:
    if task.agent is not None and not any(task.agent is agent for agent in agents):
        stranger = f"Task {task.label!r} references agent {name_agent(task.agent)!r}"
        yield f"{path}.agent", f"{stranger}, which is not in the ensemble's agents: add it there"


def _find_agent_mistakes(path: str, task: Task) -> Iterator[tuple[str, str]]:
    agent = task.agent
    if agent is not None and task.tools and not isinstance(agent, Agent):
        kind = f"{name_agent(agent)!r} is {add_article(type(agent).__name__)}"
        yield f"{path}.tools", f"{kind}: tools can be added to an Agent only"
    if (
        isinstance(agent, Agent)
        and task.output_type not in (None, agent_output_type := agent.output_type)
        and agent_output_type is not None
    ):
        other = f"the agent {agent.name!r} has another output type, {agent_output_type!r}"
        yield f"{path}.output_type", f"{other}: leave out one of them"


def name_agent(agent: object) -> str:
    """Return the name of an agent, for messages."""
    return str(getattr(agent, "name", type(agent).__name__))
