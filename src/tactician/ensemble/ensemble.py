"""`Ensemble`: tasks with an order, as a Runnable."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

from typing_extensions import TypeVar, override

from tactician.agents import Agent
from tactician.agents.composition import Member
from tactician.context_format import ContextFormat, ContextFormatter, load_formatter
from tactician.diagrams.diagram import Diagram
from tactician.ensemble.arguments import ARGUMENT_KINDS, find_argument_mistakes
from tactician.ensemble.learning.reflection_stores import ReflectionStore
from tactician.ensemble.learning.scoped_memory import ScopedMemory
from tactician.ensemble.nested import NestedEnsemble
from tactician.ensemble.phases.phase import Phase
from tactician.ensemble.reviews.review import ReviewPolicy
from tactician.ensemble.reviews.reviewers import Reviewer
from tactician.ensemble.structure import EnsembleStructure, draw_structure
from tactician.ensemble.structure_execution import WorkflowRun, choose_workflow
from tactician.ensemble.tasks.task import Task, TaskLike, as_tasks
from tactician.ensemble.tasks.workflows import Workflow, infer_workflow
from tactician.ensemble.values.argument_kinds import as_list, list_problems, replace_strangers
from tactician.ensemble.values.constraints import HierarchicalConstraints
from tactician.ensemble.values.delegation import Delegation
from tactician.ensemble.values.ensemble_runnable import EnsembleRunnable
from tactician.ensemble.values.errors import EnsembleDefinitionError
from tactician.ensemble.values.inputs import EnsembleInput
from tactician.ensemble.values.results import EnsembleResult
from tactician.ensemble.values.run_settings import SharedPace, observe_run
from tactician.ensemble.work.checks import find_template_problems, number_tasks
from tactician.ensemble.work.composite import Casting, TaskTemplate, walk_tasks
from tactician.ensemble.work.environment import TaskEnvironment
from tactician.ensemble.work.model_checks import find_model_problems, find_team_model_problems
from tactician.ensemble.work.running import TaskErrorPolicy
from tactician.ensemble.work.synthesis import synthesize_agents
from tactician.errors import ConfigurationError, Problem
from tactician.events.bus import EventListener
from tactician.llm import ModelLike
from tactician.llm.model_sources import ModelSource
from tactician.llm.options import NO_OPTIONS
from tactician.planning.rules import Rule
from tactician.runs import Budget, Input, RunContext
from tactician.runs.context.part_settings import with_formatter
from tactician.suggestions import suggest_options
from tactician.tools.toolbox import ToolLike
from tactician.trace.capture import CaptureMode

T_co = TypeVar("T_co", covariant=True, default=object)


@suggest_options
class Ensemble(EnsembleRunnable[T_co]):
    """Tasks with an order, done by agents and functions.

    The input of a run is a mapping with the values for the templates of the tasks, or text, or any object, which
    becomes text. Text is `{input}` in templates; when no template names it, it stands in the prompts of the first
    tasks: the first task of a sequence, else all tasks without a context.

    An ensemble holds no state of a run: the same object may run many times at once. For type checkers, its output has
    the `output_type` of its tasks where they agree; else the union of their types, or `object`.

    Args:
        name: the name.
        tasks: the tasks; loops, graphs, map-reduces and other ensembles stand in the place of a task. The
            output of a sequence is that of its last task; in parallel, of the task that no other reads.
        phases: groups of tasks instead of tasks. The last phase's output is the output of the ensemble.
        description: the purpose, for the choice between agents; a list of the tasks by default.
        agents: the agents that may do tasks; the agents of the tasks by default.
        model: the model of agents and tasks without a model of their own.
        tools: tools for all agents; of tools with the same name, the agent's or the task's counts.
        workflow: the order of the tasks; by default parallel when a task has a context, else sequential. With phases,
            it applies to phases without their own workflow.
        manager: agent that leads a hierarchy; a new agent by default. Its answer has the output type of the last task.
        constraints: limits on the delegations of a manager.
        reflections: store of the reflections on tasks with `reflect`.
        memory: memory with the scopes that tasks name.
        delegation: settings of all delegations: how deep they may be, and policies that decide on each.
        on_error: the effect of a failed task: `"fail_fast"` starts no other task, and lets those that run finish;
            `"continue"` skips the tasks that depend on it. In the end both raise.
        max_parallel: number of tasks that may run at once; no limit by default.
        review_policy: the tasks whose outputs are reviewed when they do not say so themselves; see `Review`.
        reviewer: function, sync or async, that answers reviews, and what the agents of tasks wait for: it gets the
            pending request, and returns the answer, or `None` to let the run wait. By default every review waits.
        rate_limit: requests to models a second, shared by all tasks of all runs of this object; no limit by default.
        listeners: functions that hear the events of each run.
        synthesize: model that makes the agents of tasks without an agent: a role, a goal and a background, in a single
            call for all of them, including tasks in loops and graphs. An ensemble inside that names no such model asks
            this one, and a map-reduce does for the first task of each level. By default the role follows from the
            description.
        rules: rules over the tasks, by their ids, and over delegations, by roles; see `tactician.planning.rules`.
        budget: the budget of each run that names no other budget.
        capture: how much `result.trace` has: `"off"`, `"standard"` or `"full"`. By default as the context of the run or
            the setting `[telemetry] capture` says, which is `"off"`: then the trace has the tasks alone.
        context_format: the format of data for models in prompts, tool results and memory, or an object that writes it.
            By default the format of the ensemble around it, else JSON. Schemas and answers are JSON in any case.

    Raises:
        EnsembleDefinitionError: with all mistakes in these arguments. What is wrong between the tasks, `check` finds.
    """

    def __init__(
        self,
        name: str,
        tasks: Sequence[TaskLike[T_co]] = (),
        *,
        phases: Sequence[Phase[T_co]] | None = None,
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
        rules: Sequence[Rule] = (),
    ) -> None:
        self.name = name
        self.phases: tuple[Phase, ...] = as_list(phases or ())
        self.tasks = as_tasks(tasks)
        self.agents = None if agents is None else as_list(agents)
        self.model = model
        self.tools = as_list(tools)
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
        self.listeners = as_list(listeners)
        self.synthesize = synthesize
        self.rules = as_list(rules)
        self._pace = SharedPace()
        self._known_models: ModelSource | None = None
        self.budget = budget
        self.capture = capture
        self.context_format = context_format
        self.given_workflow = workflow
        self.description = cast("str", description)
        strangers = [*replace_strangers(self, ARGUMENT_KINDS)]
        self.workflow = infer_workflow(self.tasks) if workflow is None else workflow
        if problems := list_problems(strangers, find_argument_mistakes(self)):
            raise EnsembleDefinitionError(self._subject, problems)
        self.tasks = self.tasks or tuple(task for phase in self.phases for task in phase.own_tasks)
        self.own_description = description or ""
        self.description = description or self.default_description

    @property
    def default_description(self) -> str:
        """The description by default: a list of the tasks."""
        return f"Does these tasks: {'; '.join(task.label for task in self.tasks)}"

    def as_task(self) -> Task[T_co]:
        """Return the task for which the ensemble stands in another ensemble."""
        return self._task

    def __repr__(self) -> str:
        return f"Ensemble({self.name!r})"

    async def check(self, input: Input = None, *, context: RunContext | None = None) -> None:
        """Check the whole ensemble, and an input for it, without running a task. Each run does the same first.

        Args:
            input: the input of a run.
            context: the context of a run, with its models; the context of the running code by default.

        Raises:
            EnsembleDefinitionError: with all mistakes, each with its place.
        """
        self._check(EnsembleInput.create(input), context or RunContext.current())

    @property
    @override
    def composition(self) -> tuple[Member, ...]:
        return tuple(self._structure.list_members())

    @override
    def diagram(self) -> Diagram:
        """Return a drawing of the tasks: an arrow leads from each context task to the task that reads its output.

        The review of a phase stands behind its last tasks. A hierarchy is drawn as the manager and the workers.
        """
        return super().diagram() if self._structure.is_hierarchical else draw_structure(self._structure)

    @property
    @override
    def structure_problems(self) -> tuple[Problem, ...]:
        return self._structure.problems

    @property
    def ruled_names(self) -> Collection[str]:
        """The names that rules may use: ids of tasks, and roles of delegations."""
        return self._structure.ruled_tasks.names

    @property
    def templates(self) -> tuple[TaskTemplate, ...]:
        """The templates that need values, including the templates of inner tasks."""
        return self._structure.templates

    @property
    @override
    def value_names(self) -> tuple[str, ...]:
        return self._structure.value_names

    @override
    def find_model_problems(self, context: RunContext) -> Iterator[Problem]:
        """Yield a problem for each task and agent whose model cannot be used, and for one that cannot make agents."""
        if self.synthesize is not None:
            try:
                context.find_model(self.synthesize)
            except ConfigurationError as error:
                yield Problem("synthesize", str(error))
        yield from find_model_problems(self._structure.list_equipped(), context)
        yield from find_team_model_problems(self._structure.list_delegates(), context)

    @override
    def run_inside(self, input: EnsembleInput, context: RunContext) -> Coroutine[object, object, EnsembleResult[T_co]]:
        self._check(input, context)
        shown = self._show(input) if input.text else input
        running = self._begin(TaskEnvironment(shown, self._structure.first_ids), context)
        return cast("Coroutine[object, object, EnsembleResult[T_co]]", running)  # the type of what the tasks give

    def run_tasks(self, environment: TaskEnvironment, context: RunContext) -> Coroutine[object, object, EnsembleResult]:
        """Run the tasks inside a run that has checked them.

        Args:
            environment: the input and the outputs with which the tasks begin.
            context: the context of the run.

        Raises:
            TaskFailedError: when a task fails.
        """
        shown, first_ids = self._show(environment.input), self._structure.first_ids
        return self._begin(replace(environment, input=shown, first_ids=first_ids), context)

    def _show(self, input: EnsembleInput) -> EnsembleInput:
        """Return the input as the tasks see it: text that a template names stands in no other prompt."""
        return replace(input, shows_text=False) if input.text and self._structure.names_text else input

    def _begin(self, environment: TaskEnvironment, context: RunContext) -> Coroutine[object, object, EnsembleResult]:
        if self.context_format is not None:
            context = with_formatter(context, load_formatter(self.context_format))
        if self.rate_limit is not None:
            context = self._pace.limit(context, self.rate_limit)
        maker = environment.synthesize if self.synthesize is None else self.synthesize
        if maker is None:
            return self._run_workflow(self._structure, self._workflow_run, environment, context)
        return self._cast_and_run(maker, environment, context)

    async def _cast_and_run(
        self, maker: ModelLike, environment: TaskEnvironment, context: RunContext
    ) -> EnsembleResult:
        """Run the tasks with the agents that a model chooses."""
        tasks = (task for _, task in walk_tasks(number_tasks(self.tasks)))
        casting = Casting(maker, await synthesize_agents(tasks, maker, context))
        structure = EnsembleStructure(self, casting)
        return await self._run_workflow(structure, choose_workflow(structure), environment, context)

    def _run_workflow(
        self, structure: EnsembleStructure, run: WorkflowRun, environment: TaskEnvironment, context: RunContext
    ) -> Coroutine[object, object, EnsembleResult]:
        if self.rules or context.services.rules:
            return structure.ruled_tasks.run(run, environment, context)
        return run(environment, context)

    @override
    def prepare_context(self, context: RunContext | None) -> RunContext | None:
        traced = context if self.trace is None else super().prepare_context(context)
        return observe_run(traced, self.listeners, self.capture)

    def _check(self, input: EnsembleInput, context: RunContext) -> None:
        models, structure = context.services.models, self._structure
        is_usual = context.model is None and context.own_model is None and context.pins is NO_OPTIONS
        is_known = is_usual and models is self._known_models  # the models of a platform are checked once
        if is_known and structure.needed_values <= input.values.keys():
            return
        problems = [*structure.problems, *find_template_problems(structure.templates, input.values)]
        if not is_known:
            problems += self.find_model_problems(context)
        if problems:
            raise EnsembleDefinitionError(self._subject, problems)
        if is_usual:
            self._known_models = models

    @property
    def _subject(self) -> str:
        return f"Ensemble {self.name!r}"

    @cached_property
    def _structure(self) -> EnsembleStructure:
        return EnsembleStructure(self)

    @cached_property
    def _workflow_run(self) -> WorkflowRun:
        return choose_workflow(self._structure)

    @cached_property
    def _task(self) -> Task[T_co]:
        return cast("Task[T_co]", NestedEnsemble(self).as_task())
