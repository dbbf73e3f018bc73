"""Structure of an ensemble: its tasks with their agents and their order, derived from its arguments once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tactician.agents import Agent
from tactician.agents.composition import Member
from tactician.diagrams.diagram import Diagram, DiagramEdge
from tactician.ensemble.arguments import EnsembleArguments
from tactician.ensemble.delegation.roster import Roster, TeamAgent, find_agents
from tactician.ensemble.delegation.worker import TeamWorker
from tactician.ensemble.hierarchy.hierarchy import Hierarchy, create_hierarchy
from tactician.ensemble.hierarchy.team import create_team, find_duplicates, list_handlers
from tactician.ensemble.learning.recollection import LearningStores
from tactician.ensemble.phases.drawing import draw_reviews
from tactician.ensemble.phases.plan import PhasePlan
from tactician.ensemble.tasks.task import Task
from tactician.ensemble.tasks.workflows import Workflow
from tactician.ensemble.values.inputs import TEXT_NAME
from tactician.ensemble.work.assignment import Assignment, assign
from tactician.ensemble.work.checks import (
    find_agent_problems,
    find_hierarchy_mistakes,
    find_structure_problems,
    list_part_templates,
    number_tasks,
    warn_of_isolated_tasks,
    warn_of_unused_agents,
)
from tactician.ensemble.work.composite import NO_CASTING, Casting, Equipment, TaskTemplate, walk_tasks
from tactician.ensemble.work.ruled_tasks import RuledTasks
from tactician.ensemble.work.running import TaskOrder
from tactician.ensemble.work.task_learning import find_learning_mistakes
from tactician.ensemble.work.task_reviews import ReviewSettings
from tactician.errors import Problem
from tactician.llm import ModelLike
from tactician.runs import Runnable


def draw_structure(structure: EnsembleStructure) -> Diagram:
    """Return a drawing of the tasks of an ensemble without a manager, and of the reviews of its phases."""
    task_ids = {task.id for task in structure.tasks}
    jobs = (job for _, job in structure.places if job.task.id in task_ids)
    drawings = {job.task.id: job.draw(f"task_{number}") for number, job in enumerate(jobs)}
    entries = {task_id: drawing.entry for task_id, drawing in drawings.items()}
    exits = {task_id: drawing.exit for task_id, drawing in drawings.items()}
    arrows = tuple(DiagramEdge(exits[task_id], entries[later]) for task_id, later in structure.find_arrows())
    has_phases = bool(structure.arguments.phases)
    reviews, ways = draw_reviews(structure.plan, entries, exits) if has_phases else ((), ())
    nodes = (node for drawing in drawings.values() for node in drawing.nodes)
    inner = (edge for drawing in drawings.values() for edge in drawing.edges)
    return Diagram((*nodes, *reviews), (*inner, *arrows, *ways))


@dataclass(frozen=True, eq=False)
class EnsembleStructure:
    """Tasks of an ensemble with their agents and their order. Each part is derived when it is first needed.

    Attributes:
        arguments: the arguments of the ensemble.
        casting: the agents that a model has chosen for tasks without an agent.
    """

    arguments: EnsembleArguments
    casting: Casting = NO_CASTING

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks, including the tasks of all phases."""
        return tuple(self.casting.find(task) for task in self.arguments.tasks)

    @property
    def is_hierarchical(self) -> bool:
        """True when a manager delegates the tasks."""
        return self.arguments.workflow.has_manager

    @cached_property
    def jobs(self) -> tuple[Assignment, ...]:
        """The tasks of an ensemble without phases, with their agents."""
        workflow = self.arguments.workflow
        contexts = (workflow.find_context(self.tasks, number) for number in range(len(self.tasks)))
        return tuple(self._assign(task, context) for task, context in zip(self.tasks, contexts, strict=True))

    @cached_property
    def order(self) -> TaskOrder:
        """The order of the tasks of an ensemble without phases and without a manager."""
        arguments = self.arguments
        return TaskOrder(self.jobs, arguments.workflow, arguments.max_parallel, arguments.on_error, self._reviews)

    @cached_property
    def plan(self) -> PhasePlan:
        """The order of the phases, with their tasks."""
        arguments = self.arguments
        return PhasePlan(
            arguments.phases,
            arguments.given_workflow,
            self._assign,
            arguments.max_parallel,
            arguments.on_error,
            self._reviews,
        )

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The manager of a hierarchical workflow, with its workers."""
        manager, constraints, model = self.arguments.manager, self.arguments.constraints, self.arguments.model
        settings, reviews = self.roster.settings, self._reviews
        return create_hierarchy(self.jobs, self.team, manager, constraints, model, settings, reviews)

    @cached_property
    def roster(self) -> Roster:
        """The agents to which others may delegate."""
        return Roster.create((member.agent for member in self._agents), self.arguments.delegation)

    @cached_property
    def delegates(self) -> bool:
        """True when a manager or an agent may delegate."""
        agents = (member.agent for member in self._agents)
        is_peer = any(isinstance(agent, Agent) and agent.spec.allow_delegation for agent in agents)
        return is_peer or self.is_hierarchical

    @cached_property
    def team(self) -> tuple[TeamWorker, ...]:
        """The workers that get delegations."""
        team = create_team(self._agents, self.arguments.model, self.arguments.tools, self.roster)
        return (*team, *list_handlers(self.jobs)) if self.is_hierarchical else tuple(team)

    @cached_property
    def first_ids(self) -> frozenset[str]:
        """The ids of the tasks that begin the work."""
        if self.arguments.phases:
            return self.plan.find_first_ids()
        return frozenset(task.id for task in self.arguments.workflow.find_first_tasks(self.tasks))

    @cached_property
    def templates(self) -> tuple[TaskTemplate, ...]:
        """The templates that need values, including the templates of inner tasks."""
        return tuple(list_part_templates((path, job.task) for path, job in self.places))

    @cached_property
    def value_names(self) -> tuple[str, ...]:
        """The names for which the templates need values, each once."""
        return tuple(dict.fromkeys(name for template in self.templates for name in template.names))

    @cached_property
    def needed_values(self) -> frozenset[str]:
        """The names for which the templates need values."""
        return frozenset(self.value_names)

    @cached_property
    def names_text(self) -> bool:
        """True when a template names the text of the caller."""
        return TEXT_NAME in self.value_names

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """The mistakes in how the tasks and agents fit together."""
        return tuple(self._find_problems())

    @cached_property
    def places(self) -> tuple[tuple[str, Assignment], ...]:
        """The tasks with their agents, and their places."""
        if self.arguments.phases:
            return tuple(self.plan.list_jobs())
        return tuple((f"tasks[{number}]", job) for number, job in enumerate(self.jobs))

    def list_equipped(self) -> Iterator[tuple[str, Assignment]]:
        """Yield the tasks that use a model of their own, with their places.

        In a hierarchy that lists its agents, no agent is made for a task without one: a worker does it.
        """
        has_team = self.is_hierarchical and self.arguments.agents is not None
        for path, job in self.places:
            if not has_team or job.task.agent is not None or job.task.handler is not None:
                yield path, job

    def list_members(self) -> Iterator[Member]:
        """Yield the Runnables that do the tasks; of a hierarchy, the manager and the workers."""
        if self.is_hierarchical:
            yield Member("manager", self.hierarchy.manager)
            yield from (Member("worker", worker.runnable) for worker in self.hierarchy.workers)
        elif self.arguments.phases:
            yield from self.plan.list_members()
        else:
            yield from (Member(job.task.label, job.runnable) for job in self.jobs)

    def list_delegates(self) -> Iterator[tuple[str, Runnable, ModelLike | None]]:
        """Yield the manager, and the workers without tasks of their own, with their places and default models."""
        if self.is_hierarchical:
            yield "manager", self.hierarchy.manager, None
        if self.delegates:
            places = {id(agent): f"agents[{number}]" for number, agent in enumerate(self.arguments.agents or ())}
            for member, worker in zip(self._agents, self.team, strict=False):  # behind these are the handlers
                if not member.tasks:
                    yield places[id(member.agent)], worker.runnable, worker.model

    def find_arrows(self) -> Iterator[tuple[str, str]]:
        """Yield the ids of two tasks of which the second comes after the first, or reads its output."""
        task_ids = {task.id for task in self.tasks}
        if self.arguments.phases:
            yield from self.plan.find_arrows()
        else:
            arrows = self.arguments.workflow.find_arrows(self.tasks, [job.context for job in self.jobs])
            yield from (arrow for arrow in arrows if arrow[0] in task_ids)

    @cached_property
    def ruled_tasks(self) -> RuledTasks:
        """The tasks and roles under the rules of the ensemble."""
        roles = [worker.role for worker in self.team] if self.delegates else []
        ids = [str(task.id) for _, task in walk_tasks((path, job.task) for path, job in self.places)]
        return RuledTasks(self.arguments.name, self.arguments.rules, (*ids, *roles))

    def _find_problems(self) -> Iterator[Problem]:
        name, agents, workflow = self.arguments.name, self.arguments.agents, self.arguments.workflow
        if agents is not None and not self.delegates:
            warn_of_unused_agents(name, self.tasks, agents)
        if self.arguments.phases:
            yield from self.plan.find_problems(agents)
        else:
            yield from find_structure_problems(self.tasks, agents, workflow)
            if self.arguments.given_workflow is None and workflow is Workflow.PARALLEL:
                warn_of_isolated_tasks(name, self.tasks)
        for number, agent in enumerate(agents or ()):
            if all(task.agent is not agent for task in self.tasks):  # else it is checked with its task
                yield from find_agent_problems(f"agents[{number}]", agent)
        places = walk_tasks((path, job.task) for path, job in self.places)
        mistakes = [*find_learning_mistakes(places, self._stores)]
        mistakes += self.ruled_tasks.find_mistakes() if self.arguments.rules else ()
        if self.delegates:
            mistakes += find_duplicates(self.team)
        if self.is_hierarchical:
            mistakes += (
                *self.hierarchy.find_mistakes(),
                *find_hierarchy_mistakes(self.tasks, has_agents=agents is not None),
            )
        yield from (Problem(path, message) for path, message in mistakes)

    def _assign(self, task: Task, context: tuple[Task, ...]) -> Assignment:
        model, tools = self.arguments.model, self.arguments.tools
        return assign(task, context, Equipment(model, tools, self.roster, self._stores, self.casting))

    @cached_property
    def _agents(self) -> tuple[TeamAgent, ...]:
        """The agents of the ensemble without its manager."""
        tasks = self.tasks
        if not self.is_hierarchical:  # tasks inside of a worker of a hierarchy get no delegations
            tasks = tuple(self.casting.find(task) for _, task in walk_tasks(number_tasks(tasks)))
        agents = find_agents(tasks, self.arguments.agents)
        return tuple(member for member in agents if member.agent is not self.arguments.manager)

    @cached_property
    def _stores(self) -> LearningStores:
        return LearningStores(self.arguments.memory, self.arguments.reflections)

    @property
    def _reviews(self) -> ReviewSettings:
        return ReviewSettings(self.arguments.review_policy, self.arguments.reviewer)
