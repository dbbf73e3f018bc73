"""`Ensemble`: tasks with an order, as one Runnable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import Final, get_args
from weakref import WeakKeyDictionary

from typing_extensions import override

from tactician.agents import Agent, BaseRunnable, Member, as_runnable
from tactician.clock import Clock
from tactician.context_format import ContextFormat, ContextFormatter, load_formatter
from tactician.conversation import Conversation
from tactician.diagrams import Diagram, DiagramEdge
from tactician.ensemble.assignment import Assignment, assign
from tactician.ensemble.checks import (
    find_hierarchy_mistakes,
    find_structure_problems,
    find_template_problems,
    list_part_templates,
    number_tasks,
    warn_of_unused_agents,
)
from tactician.ensemble.composite import Equipment, TaskTemplate, walk_tasks
from tactician.ensemble.constraints import HierarchicalConstraints
from tactician.ensemble.delegation import Delegation
from tactician.ensemble.delegation_execution import DelegationExecutor
from tactician.ensemble.environment import TaskEnvironment
from tactician.ensemble.errors import EnsembleDefinitionError
from tactician.ensemble.hierarchy import Hierarchy, create_hierarchy, run_hierarchy
from tactician.ensemble.inputs import TEXT_NAME, EnsembleInput
from tactician.ensemble.learning import LearningStores, ReflectionStore, ScopedMemory
from tactician.ensemble.model_checks import find_model_problems
from tactician.ensemble.nested import NestedEnsemble
from tactician.ensemble.output import EnsembleResult
from tactician.ensemble.phases import Phase, PhasePlan, draw_reviews, run_phases
from tactician.ensemble.reviews import Reviewer, ReviewPolicy
from tactician.ensemble.roster import Roster, find_agents
from tactician.ensemble.running import TaskErrorPolicy, TaskOrder, run_tasks
from tactician.ensemble.synthesis import synthesize_agents
from tactician.ensemble.task import Task, TaskLike, as_tasks
from tactician.ensemble.task_learning import find_learning_mistakes
from tactician.ensemble.task_reviews import ReviewSettings
from tactician.ensemble.team import create_team, find_duplicates, list_handlers
from tactician.ensemble.worker import TeamWorker
from tactician.ensemble.workflows import Workflow, find_context, find_first_tasks, infer_workflow
from tactician.errors import ConfigurationError, DeclarationError, Problem
from tactician.events import EventListener
from tactician.llm import ModelLike
from tactician.runs import (
    Budget,
    Input,
    Pace,
    RequestPace,
    Response,
    RunContext,
    load_capture_mode,
    run_blocking,
    with_formatter,
)
from tactician.tools import Toolbox, ToolLike
from tactician.trace import CaptureMode, Recorder


class Ensemble(BaseRunnable[object]):
    """Tasks with an order, done by agents and functions.

    The input of a run is a mapping with the values for the templates of the tasks, or text, or any object, which
    becomes text. Text is `{input}` in templates; when no template names it, it stands in the prompts of the first
    tasks: the first one of a sequence, else all without a context.

    An ensemble holds no state of a run: the same object may run many times at once.

    Args:
        name: the name.
        tasks: the tasks; loops, graphs, map-reduces and other ensembles stand in the place of a task. The output of the
            last one in the list is that of the ensemble.
        phases: groups of tasks instead of tasks. The output of the last one in the list is that of the ensemble.
        description: the purpose, for the choice between agents; a list of the tasks by default.
        agents: the agents that may do tasks; those of the tasks by default.
        model: the model of agents and tasks without one.
        tools: tools for all agents; for one name, those of the agent and of the task count before these.
        workflow: the order of the tasks; by default parallel when a task has a context, else sequential. With phases,
            it is that of phases without an own one.
        manager: agent that leads a hierarchy; one is made by default. Its answer has the output type of the last task.
        constraints: limits on the delegations of a manager.
        reflections: store of the reflections on tasks with `reflect`.
        memory: memory with the scopes that tasks name.
        delegation: settings of all delegations: how deep they may be, and policies that decide on each.
        on_error: the effect of a failed task: `"fail_fast"` starts no other task, and lets those that run finish;
            `"continue"` skips the tasks that depend on it. In the end both raise.
        max_parallel: number of tasks that may run at once; no limit by default.
        review_policy: the tasks whose outputs are reviewed when they do not say so themselves; see `Review`.
        reviewer: function, also an async one, that answers reviews, and what the agents of tasks wait for: it gets the
            pending request, and returns the answer, or `None` to let the run wait. By default every review waits.
        rate_limit: requests to models a second, shared by all tasks of all runs of this object; no limit by default.
        listeners: functions that hear the events of each run.
        synthesize: model that makes the agents of tasks without one: a role, a goal and a background, in one call for
            all. By default the role follows from the description.
        budget: the budget of each run that is given no other one.
        capture: how much `result.trace` has: `"off"`, `"standard"` or `"full"`. By default as the context of the run or
            the setting `[telemetry] capture` says, which is `"off"`: then the trace has the tasks alone.
        context_format: the format of data for models in prompts, tool results and memory, or an object that writes it.
            By default that of the ensemble around this one, which is JSON. Schemas and answers are JSON in any case.

    Raises:
        EnsembleDefinitionError: with all mistakes in these arguments. What is wrong between the tasks, `check` finds.
    """

    def __init__(
        self,
        name: str,
        tasks: Sequence[TaskLike] = (),
        *,
        phases: Sequence[Phase] | None = None,
        description: str | None = None,
        agents: Sequence[object] | None = None,
        model: ModelLike | None = None,
        tools: Sequence[ToolLike] = (),
        workflow: Workflow | None = None,
        manager: Agent[object] | None = None,
        constraints: HierarchicalConstraints | None = None,
        reflections: ReflectionStore | None = None,
        memory: ScopedMemory | None = None,
        delegation: Delegation | None = None,
        on_error: TaskErrorPolicy = "fail_fast",
        max_parallel: int | None = None,
        review_policy: ReviewPolicy = ReviewPolicy.NEVER,
        reviewer: Reviewer | None = None,
        rate_limit: float | None = None,
        listeners: Sequence[EventListener] = (),
        synthesize: ModelLike | None = None,
        budget: Budget | None = None,
        capture: CaptureMode | str | None = None,
        context_format: ContextFormat | ContextFormatter | None = None,
    ) -> None:
        self.name = name
        self.phases = tuple(phases or ())
        self.tasks = as_tasks(tasks)
        self.agents = None if agents is None else tuple(agents)
        self.model = model
        self.tools = tuple(tools)
        self.workflow = infer_workflow(self.tasks) if workflow is None else workflow
        self.manager = manager
        self.constraints = constraints
        self.reflections = reflections
        self.memory = memory
        self.delegation = delegation
        self.on_error = on_error
        self.max_parallel = max_parallel
        self.review_policy = review_policy
        self.reviewer = reviewer
        self.rate_limit = rate_limit
        self.listeners = tuple(listeners)
        self.synthesize = synthesize
        self._paces: WeakKeyDictionary[Clock, Pace] = WeakKeyDictionary()
        self._synthesized: Mapping[str, Task] = {}
        self.budget = budget
        self.capture = capture
        self.context_format = context_format
        self.given_workflow = workflow
        mistakes = (*_find_phase_mistakes(tasks, self.phases, workflow), *_find_mistakes(self))
        if problems := [Problem(path, message) for path, message in mistakes]:
            raise EnsembleDefinitionError(self._subject, problems)
        self.tasks = self.tasks or _list_tasks(self.phases)
        self.description = description or self.default_description

    @property
    def default_description(self) -> str:
        """The description of an ensemble without one: a list of its tasks."""
        return f"Does these tasks: {'; '.join(task.label for task in self.tasks)}"

    def as_task(self) -> Task:
        """Return the task for which the ensemble stands in another one."""
        return self._task

    def __repr__(self) -> str:
        return f"Ensemble({self.name!r})"

    async def check(self, input: Input = None, *, context: RunContext | None = None) -> None:
        """Check the whole ensemble, and an input for it, without running a task. Each run does the same first.

        Args:
            input: the input of a run.
            context: the context of a run, with its models; that of the running code by default.

        Raises:
            EnsembleDefinitionError: with all mistakes, each with its place.
        """
        self._check(EnsembleInput.create(input), context or RunContext.current())

    @override
    async def run(
        self,
        input: Input = None,
        *,
        context: RunContext | None = None,
        budget: Budget | None = None,
        conversation: Conversation | None = None,
    ) -> EnsembleResult:
        """Run the tasks.

        Args:
            input: values for templates by their names, or text, or any object, which becomes text.
            context: the context; by default that of the running code, and outside of runs the default services.
            budget: the budget of the run; that of the ensemble by default.
            conversation: the conversation so far. It gets the input and the output.

        Returns:
            The result. Its status is `WAITING` when a task needs an answer from outside first: see `resume`.

        Raises:
            EnsembleDefinitionError: with all mistakes in the ensemble and in the input; then no task has run.
            TaskFailedError: when a task fails; it has the outputs of all that were completed.
        """
        given = EnsembleInput.create(input).to_plain()
        limit = self.budget if budget is None else budget
        return EnsembleResult.of(await super().run(given, context=context, budget=limit, conversation=conversation))

    @override
    async def resume(
        self,
        run_id: str,
        responses: Mapping[str, Response],
        *,
        context: RunContext | None = None,
        conversation: Conversation | None = None,
    ) -> EnsembleResult:
        """Continue a waiting run, in this process or in another one; see `BaseRunnable.resume`."""
        result = await super().resume(run_id, responses, context=context, conversation=conversation)
        return EnsembleResult.of(result)

    @override
    def run_sync(self, input: Input = None, *, conversation: Conversation | None = None) -> EnsembleResult:
        """Run from a program without an event loop; see `run`.

        Raises:
            RuntimeError: when called inside a running event loop; use `await ... .run(...)` there.
        """
        return run_blocking(self.run(input, conversation=conversation))

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        if self.workflow is Workflow.HIERARCHICAL:
            workers = (Member("worker", worker.runnable) for worker in self._hierarchy.workers)
            return Member("manager", self._hierarchy.manager), *workers
        if self.phases:
            return tuple(self._plan.list_members())
        return tuple(Member(job.task.label, job.runnable) for job in self._jobs)

    @override
    def diagram(self) -> Diagram:
        """Return a drawing of the tasks: an arrow leads from each context task to the task that reads its output.

        The review of a phase stands behind its last tasks. A hierarchy is drawn as the manager and the workers.
        """
        if self.workflow is Workflow.HIERARCHICAL:
            return super().diagram()
        known = {task.id for task in self.tasks}
        jobs = (job for _, job in self._list_jobs() if job.task.id in known)
        drawings = {job.task.id: job.draw(f"task_{number}") for number, job in enumerate(jobs)}
        entries = {task_id: drawing.entry for task_id, drawing in drawings.items()}
        exits = {task_id: drawing.exit for task_id, drawing in drawings.items()}
        arrows = tuple(DiagramEdge(exits[one], entries[other]) for one, other in self._find_arrows())
        reviews, ways = draw_reviews(self._plan, entries, exits) if self.phases else ((), ())
        nodes = (node for drawing in drawings.values() for node in drawing.nodes)
        inner = (edge for drawing in drawings.values() for edge in drawing.edges)
        return Diagram((*nodes, *reviews), (*inner, *arrows, *ways))

    @override
    async def _work(self, input: Input, context: RunContext) -> EnsembleResult:
        given = EnsembleInput.create(input)
        self._check(given, context)
        return await self.run_tasks(TaskEnvironment(given), context)

    async def run_tasks(self, environment: TaskEnvironment, context: RunContext) -> EnsembleResult:
        """Run the tasks in a run that has checked them.

        Args:
            environment: what they begin with.
            context: the context of the run.

        Raises:
            TaskFailedError: when a task fails.
        """
        if self.context_format is not None:
            context = with_formatter(context, load_formatter(self.context_format))
        if self._names_text:
            environment = replace(environment, input=EnsembleInput(environment.input.values))
        if self.rate_limit is not None:
            context = context.inside({RequestPace: self._find_pace(context)})
        if self.synthesize is None:
            return await self._run_team(environment, context)
        agents = await synthesize_agents(self.tasks, self.synthesize, context)
        return await self._with_agents(agents)._run_team(environment, context)

    async def _run_team(self, environment: TaskEnvironment, context: RunContext) -> EnsembleResult:
        if not self._delegates:
            return await self._run_workflow(environment, context)
        workers = {worker.role: worker for worker in self._team}
        executor = DelegationExecutor(workers, self._roster.settings, self.model, context, environment.input.values)
        inside = context.inside({DelegationExecutor: executor})
        return await executor.collect(self._run_workflow(environment, inside))

    def _find_pace(self, context: RunContext) -> RequestPace:
        """Return the pace of requests, which all runs with the same clock share."""
        assert self.rate_limit is not None
        if (pace := self._paces.get(context.clock)) is None:
            pace = self._paces[context.clock] = Pace(1 / self.rate_limit, context.clock)
        return RequestPace(pace, context.find(RequestPace))

    def _with_agents(self, tasks: Mapping[str, Task]) -> Ensemble:
        """Return a copy in which these tasks, by id, take the place of those with the same ids."""
        changed = copy(self)
        for name in _CACHED:
            changed.__dict__.pop(name, None)
        changed._synthesized = tasks
        changed.tasks = tuple(tasks.get(task.id, task) for task in self.tasks)
        return changed

    async def _run_workflow(self, environment: TaskEnvironment, context: RunContext) -> EnsembleResult:
        if self.workflow is Workflow.HIERARCHICAL:
            return await run_hierarchy(self.name, self._hierarchy, environment, context)
        inside = replace(environment, first_ids=self._first_ids)
        if self.phases:
            return await run_phases(self.name, self._plan, inside, context)
        return await run_tasks(self.name, self._order, inside, context)

    @override
    def _with_trace(self, context: RunContext | None) -> RunContext | None:
        """Return the context, with the trace of the ensemble, its listeners, and with what captures it."""
        traced = super()._with_trace(context)
        if self.listeners:
            traced = (traced or RunContext.around()).with_listeners(*self.listeners)
        outer = traced or RunContext.around()
        if self.capture is None and outer.find(Recorder) is not None:
            return traced
        mode = CaptureMode(self.capture or load_capture_mode())
        return traced if mode is CaptureMode.OFF else outer.captured(mode)

    def _check(self, input: EnsembleInput, context: RunContext) -> None:
        templates, models = find_template_problems(self.templates, input.values), self.find_model_problems(context)
        if problems := (*self.structure_problems, *templates, *models):
            raise EnsembleDefinitionError(self._subject, problems)

    def find_model_problems(self, context: RunContext) -> Iterator[Problem]:
        """Yield a problem for each task whose model cannot be used, and for that which makes agents."""
        if self.synthesize is not None:
            try:
                context.find_model(self.synthesize)
            except ConfigurationError as error:
                yield Problem("synthesize", str(error))
        yield from find_model_problems(self._list_jobs(), context)

    def _list_jobs(self) -> Iterator[tuple[str, Assignment]]:
        """Yield the tasks with who does them, and their places."""
        if self.phases:
            yield from self._plan.list_jobs()
        else:
            yield from ((f"tasks[{number}]", job) for number, job in enumerate(self._jobs))

    def _find_arrows(self) -> Iterator[tuple[str, str]]:
        known = {task.id for task in self.tasks}
        if self.phases:
            yield from self._plan.find_arrows()
        elif self.workflow is Workflow.SEQUENTIAL:
            yield from ((one.id, other.id) for one, other in zip(self.tasks, self.tasks[1:], strict=False))
        else:
            yield from ((one.id, job.task.id) for job in self._jobs for one in job.context if one.id in known)

    @property
    def _reviews(self) -> ReviewSettings:
        return ReviewSettings(self.review_policy, self.reviewer)

    @property
    def _subject(self) -> str:
        return f"Ensemble {self.name!r}"

    def _assign(self, task: Task, context: tuple[Task, ...]) -> Assignment:
        task = self._synthesized.get(task.id, task)
        return assign(task, context, Equipment(self.model, self.tools, self._roster, self._stores))

    @cached_property
    def _stores(self) -> LearningStores:
        return LearningStores(self.memory, self.reflections)

    @cached_property
    def _jobs(self) -> tuple[Assignment, ...]:
        contexts = (find_context(self.tasks, number, self.workflow) for number in range(len(self.tasks)))
        return tuple(self._assign(task, context) for task, context in zip(self.tasks, contexts, strict=True))

    @cached_property
    def _order(self) -> TaskOrder:
        is_sequence = self.workflow is Workflow.SEQUENTIAL
        return TaskOrder(self._jobs, is_sequence, self.max_parallel, self.on_error, self._reviews)

    @cached_property
    def _members(self) -> tuple[object, ...]:
        tasks = self.tasks
        if self.workflow is not Workflow.HIERARCHICAL:  # else those inside work for a task that is a worker itself
            tasks = tuple(task for _, task in walk_tasks(number_tasks(tasks)))
        return tuple(agent for agent in find_agents(tasks, self.agents) if agent is not self.manager)

    @cached_property
    def _roster(self) -> Roster:
        return Roster.create(self._members, self.delegation)

    @cached_property
    def _delegates(self) -> bool:
        """True when a manager or an agent may delegate."""
        is_peer = any(isinstance(agent, Agent) and agent.spec.allow_delegation for agent in self._members)
        return is_peer or self.workflow is Workflow.HIERARCHICAL

    @cached_property
    def _team(self) -> tuple[TeamWorker, ...]:
        team = create_team(self.tasks, self._members, self.model, self.tools, self._roster)
        return (*team, *list_handlers(self._jobs)) if self.workflow is Workflow.HIERARCHICAL else tuple(team)

    @cached_property
    def _plan(self) -> PhasePlan:
        return PhasePlan(
            self.phases, self.given_workflow, self._assign, self.max_parallel, self.on_error, self._reviews
        )

    @cached_property
    def _hierarchy(self) -> Hierarchy:
        settings = self._roster.settings
        return create_hierarchy(self._jobs, self._team, self.manager, self.constraints, self.model, settings)

    @cached_property
    def _task(self) -> Task:
        return NestedEnsemble(self).as_task()

    @cached_property
    def structure_problems(self) -> tuple[Problem, ...]:
        """The mistakes in how the tasks and agents fit together."""
        if self.agents is not None and not self._delegates:
            warn_of_unused_agents(self.name, self.tasks, self.agents)
        places = walk_tasks((path, job.task) for path, job in self._list_jobs())
        learning = (Problem(path, message) for path, message in find_learning_mistakes(places, self._stores))
        if self.phases:
            found = list(self._plan.find_problems(self.agents))
        else:
            found = list(find_structure_problems(self.tasks, self.agents, self.workflow))
        found += learning
        if self._delegates:
            found += [Problem(path, message) for path, message in find_duplicates(self._team)]
        if self.workflow is Workflow.HIERARCHICAL:
            mistakes = (*self._hierarchy.find_mistakes(), *find_hierarchy_mistakes(self.tasks))
            found += [Problem(path, message) for path, message in mistakes]
        return tuple(found)

    @cached_property
    def templates(self) -> tuple[TaskTemplate, ...]:
        """The templates that need values, those of tasks inside of others included."""
        return tuple(list_part_templates((path, job.task) for path, job in self._list_jobs()))

    @cached_property
    def value_names(self) -> tuple[str, ...]:
        """The names for which its templates need values, each once."""
        return tuple(dict.fromkeys(name for template in self.templates for name in template.names))

    @cached_property
    def _names_text(self) -> bool:
        return TEXT_NAME in self.value_names

    @cached_property
    def _first_ids(self) -> frozenset[str]:
        if self.phases:
            return self._plan.find_first_ids()
        return frozenset(task.id for task in find_first_tasks(self.tasks, self.workflow))


def _list_tasks(phases: Sequence[Phase]) -> tuple[Task, ...]:
    return tuple(task for phase in phases for task in phase.own_tasks)


def _find_phase_mistakes(
    tasks: Sequence[TaskLike], phases: Sequence[Phase], workflow: Workflow | None
) -> Iterator[tuple[str, str]]:
    """Yield the place and the description of each mistake in the phases of an ensemble."""
    if tasks and phases:
        yield "phases", "the ensemble has tasks too: move them into a phase, or leave out one of them"
    for place, phase in enumerate(phases):
        if not isinstance(phase, Phase):
            yield f"phases[{place}]", f"{phase!r} is not a Phase"
    if phases and workflow is Workflow.HIERARCHICAL:
        yield "workflow", "phases have no manager: use Workflow.SEQUENTIAL or PARALLEL, or leave it out"


def _find_mistakes(ensemble: Ensemble) -> Iterator[tuple[str, str]]:
    """Yield the place and the description of each mistake that the arguments of an ensemble show alone."""
    if not ensemble.name.strip():
        yield "name", "it must not be blank"
    if not ensemble.tasks and not ensemble.phases:
        yield "tasks", "an ensemble must have at least one task"
    for place, task in enumerate(ensemble.tasks):
        if not isinstance(task, Task):
            yield f"tasks[{place}]", f"{task!r} is not a Task"
    if ensemble.agents is not None and not ensemble.agents:
        yield "agents", "an ensemble must have at least one agent: leave it out to take the agents of the tasks"
    if ensemble.manager is not None and not isinstance(ensemble.manager, Agent):
        yield "manager", f"{ensemble.manager!r} is not an Agent"
    elif ensemble.manager is not None and ensemble.workflow is not Workflow.HIERARCHICAL:
        yield "manager", "only the hierarchical workflow has a manager: add workflow=Workflow.HIERARCHICAL"
    for place, agent in enumerate(ensemble.agents or ()):
        if as_runnable(agent) is None:
            yield f"agents[{place}]", f"{agent!r} is not an agent: pass an Agent or another Runnable"
    if ensemble.reflections is not None and not isinstance(ensemble.reflections, ReflectionStore):
        yield "reflections", f"{ensemble.reflections!r} is not a store of reflections, such as SqlReflections(...)"
    if ensemble.memory is not None and not isinstance(ensemble.memory, ScopedMemory):
        yield "memory", f"{ensemble.memory!r} is not a memory, such as SqlMemory(...)"
    if ensemble.on_error not in get_args(TaskErrorPolicy):
        yield "on_error", f"{ensemble.on_error!r} is not one of {', '.join(map(repr, get_args(TaskErrorPolicy)))}"
    if ensemble.capture not in (None, *CaptureMode):
        yield "capture", f"{ensemble.capture!r} is not one of {', '.join(map(repr, map(str, CaptureMode)))}"
    if ensemble.max_parallel is not None and ensemble.max_parallel < 1:
        yield "max_parallel", f"it must be > 0, got: {ensemble.max_parallel}"
    if ensemble.rate_limit is not None and not 0 < ensemble.rate_limit < inf:
        yield "rate_limit", f"it must be a number of requests a second > 0, got: {ensemble.rate_limit}"
    listeners: Sequence[object] = ensemble.listeners
    for place, listener in enumerate(listeners):
        if not callable(listener):
            yield f"listeners[{place}]", f"{listener!r} is not a function of an event"
    if not isinstance(ensemble.review_policy, ReviewPolicy):
        yield "review_policy", f"{ensemble.review_policy!r} is not a ReviewPolicy"
    elif ensemble.workflow is Workflow.HIERARCHICAL and ensemble.review_policy is not ReviewPolicy.NEVER:
        yield "review_policy", "the tasks of a hierarchy are not reviewed: review the task whose agent it is"
    if ensemble.reviewer is not None and not callable(ensemble.reviewer):
        yield "reviewer", f"{ensemble.reviewer!r} is not a function of a pending request"
    try:
        load_formatter(ContextFormat.JSON if ensemble.context_format is None else ensemble.context_format)
    except ConfigurationError as error:
        yield "context_format", str(error)
    try:
        Toolbox(ensemble.tools)
    except DeclarationError as error:
        yield from (("tools", problem) for problem in error.problems)


_CACHED: Final = frozenset(name for name, value in vars(Ensemble).items() if isinstance(value, cached_property))
"""Names of what an ensemble derives from its tasks."""
