"""Arguments of an ensemble, and the mistakes that they show before its tasks are looked at together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from types import UnionType
from typing import Final, Protocol, get_args

from tactician.agents import Agent
from tactician.agents.planned.specs import as_runnable
from tactician.context_format import ContextFormat, ContextFormatter, load_formatter
from tactician.ensemble.learning.reflection_stores import ReflectionStore
from tactician.ensemble.learning.scoped_memory import ScopedMemory
from tactician.ensemble.phases.phase import Phase
from tactician.ensemble.reviews.review import ReviewPolicy
from tactician.ensemble.reviews.reviewers import Reviewer
from tactician.ensemble.tasks.task import Task
from tactician.ensemble.tasks.workflows import Workflow, has_manager
from tactician.ensemble.values.argument_kinds import COUNT, LIST, NUMBER, TEXT
from tactician.ensemble.values.constraints import HierarchicalConstraints
from tactician.ensemble.values.delegation import Delegation
from tactician.ensemble.work.running import TaskErrorPolicy
from tactician.errors import ConfigurationError, DeclarationError
from tactician.events.bus import EventListener
from tactician.llm import LanguageModel, LlmOptions, ModelLike
from tactician.planning.rules import Rule
from tactician.runs import Budget
from tactician.tools.toolbox import Toolbox, ToolLike
from tactician.trace.capture import CaptureMode

_MODEL: Final = "the name of a model, LlmOptions or a model"
_KINDS: Final[Sequence[tuple[str, type | UnionType, str]]] = (
    ("model", str | LlmOptions | LanguageModel, _MODEL),
    ("synthesize", str | LlmOptions | LanguageModel, _MODEL),
    ("given_workflow", Workflow, "a Workflow, such as Workflow.PARALLEL"),
    ("constraints", HierarchicalConstraints, "HierarchicalConstraints"),
    ("delegation", Delegation, "a Delegation"),
    ("budget", Budget, "a Budget"),
)

ARGUMENT_KINDS: Final = {
    "name": TEXT,
    "description": TEXT.or_none(),
    "tasks": LIST,
    "phases": LIST,
    "agents": LIST.or_none(),
    "tools": LIST,
    "listeners": LIST,
    "rules": LIST,
    "max_parallel": COUNT.or_none(),
    "rate_limit": NUMBER.or_none(),
}
"""The kinds of the arguments of an ensemble, as its attributes hold them."""


class EnsembleArguments(Protocol):
    """Arguments of an ensemble, as its attributes hold them; see `Ensemble`."""

    name: str
    tasks: tuple[Task, ...]
    phases: tuple[Phase, ...]
    agents: tuple[object, ...] | None
    model: ModelLike | None
    tools: tuple[ToolLike, ...]
    workflow: Workflow
    given_workflow: Workflow | None
    manager: Agent[object] | None
    constraints: HierarchicalConstraints | None
    synthesize: ModelLike | None
    budget: Budget | None
    rules: tuple[Rule, ...]
    reflections: ReflectionStore | None
    memory: ScopedMemory | None
    delegation: Delegation | None
    on_error: TaskErrorPolicy
    max_parallel: int | None
    review_policy: ReviewPolicy
    reviewer: Reviewer | None
    rate_limit: float | None
    listeners: tuple[EventListener, ...]
    capture: CaptureMode | str | None
    context_format: ContextFormat | ContextFormatter | None


def find_argument_mistakes(arguments: EnsembleArguments) -> Iterator[tuple[str, str]]:
    """Yield the place and the description of each mistake that the arguments of an ensemble show by themselves."""
    yield from _find_kind_mistakes(arguments)
    yield from _find_phase_mistakes(arguments)
    yield from _find_task_mistakes(arguments)
    yield from _find_team_mistakes(arguments)
    yield from _find_store_mistakes(arguments)
    yield from _find_run_mistakes(arguments)
    yield from _find_listener_mistakes(arguments.listeners)
    yield from _find_rule_mistakes(arguments.rules)
    yield from _find_review_mistakes(arguments)
    yield from _find_equipment_mistakes(arguments)


def _find_kind_mistakes(arguments: EnsembleArguments) -> Iterator[tuple[str, str]]:
    """Yield the settings that are objects of another kind, which no type checker has seen."""
    for name, kind, meant in _KINDS:
        value: object = getattr(arguments, name)
        if value is not None and not isinstance(value, kind):
            yield name.removeprefix("given_"), f"{value!r} is not {meant}"


def _find_phase_mistakes(arguments: EnsembleArguments) -> Iterator[tuple[str, str]]:
    phases: Sequence[object] = arguments.phases
    if arguments.tasks and phases:
        yield "phases", "the ensemble has tasks too: move them into a phase, or leave out one of them"
    for place, phase in enumerate(phases):
        if not isinstance(phase, Phase):
            yield f"phases[{place}]", f"{phase!r} is not a Phase"
    if phases and has_manager(arguments.given_workflow):
        yield "workflow", "phases have no manager: use Workflow.SEQUENTIAL or PARALLEL, or leave it out"


def _find_task_mistakes(arguments: EnsembleArguments) -> Iterator[tuple[str, str]]:
    if not arguments.name.strip():
        yield "name", "it must not be blank"
    if not arguments.tasks and not arguments.phases:
        yield "tasks", "an ensemble must have at least one task"
    for place, task in enumerate(arguments.tasks):
        if not isinstance(task, Task):
            yield f"tasks[{place}]", f"{task!r} is not a Task"


def _find_team_mistakes(arguments: EnsembleArguments) -> Iterator[tuple[str, str]]:
    agents, manager = arguments.agents, arguments.manager
    if agents is not None and not agents:
        yield "agents", "an ensemble must have at least one agent: leave it out to take the agents of the tasks"
    if manager is not None and not isinstance(manager, Agent):
        yield "manager", f"{manager!r} is not an Agent"
    elif manager is not None and not has_manager(arguments.workflow):
        yield "manager", "only the hierarchical workflow has a manager: add workflow=Workflow.HIERARCHICAL"
    for place, agent in enumerate(agents or ()):
        if as_runnable(agent) is None:
            yield f"agents[{place}]", f"{agent!r} is not an agent: pass an Agent or another Runnable"


def _find_store_mistakes(arguments: EnsembleArguments) -> Iterator[tuple[str, str]]:
    reflections, memory = arguments.reflections, arguments.memory
    if reflections is not None and not isinstance(reflections, ReflectionStore):
        yield "reflections", f"{reflections!r} is not a store of reflections, such as SqlReflections(...)"
    if memory is not None and not isinstance(memory, ScopedMemory):
        yield "memory", f"{memory!r} is not a memory, such as SqlMemory(...)"


def _find_run_mistakes(arguments: EnsembleArguments) -> Iterator[tuple[str, str]]:
    """Yield the mistakes in the settings of its runs: failures, capture, and limits."""
    if arguments.on_error not in get_args(TaskErrorPolicy):
        yield "on_error", f"{arguments.on_error!r} is not one of {', '.join(map(repr, get_args(TaskErrorPolicy)))}"
    if arguments.capture not in (None, *CaptureMode):
        yield "capture", f"{arguments.capture!r} is not one of {', '.join(map(repr, map(str, CaptureMode)))}"
    if arguments.max_parallel is not None and arguments.max_parallel < 1:
        yield "max_parallel", f"it must be > 0, got: {arguments.max_parallel}"
    if arguments.rate_limit is not None and not 0 < arguments.rate_limit < inf:
        yield "rate_limit", f"it must be a number of requests a second > 0, got: {arguments.rate_limit}"


def _find_listener_mistakes(listeners: Sequence[object]) -> Iterator[tuple[str, str]]:
    for place, listener in enumerate(listeners):
        if not callable(listener):
            yield f"listeners[{place}]", f"{listener!r} is not a function of an event"


def _find_rule_mistakes(rules: Sequence[object]) -> Iterator[tuple[str, str]]:
    for place, rule in enumerate(rules):
        if not isinstance(rule, Rule) or rule.penalty is not None:
            yield f"rules[{place}]", f"{rule!r} is not a rule of tactician.planning.rules without a penalty"


def _find_review_mistakes(arguments: EnsembleArguments) -> Iterator[tuple[str, str]]:
    policy, reviewer = arguments.review_policy, arguments.reviewer
    if not isinstance(policy, ReviewPolicy):
        yield "review_policy", f"{policy!r} is not a ReviewPolicy"
    if reviewer is not None and not callable(reviewer):
        yield "reviewer", f"{reviewer!r} is not a function of a pending request"


def _find_equipment_mistakes(arguments: EnsembleArguments) -> Iterator[tuple[str, str]]:
    """Yield the mistakes in the format of data for models, and in the tools."""
    try:
        load_formatter(ContextFormat.JSON if arguments.context_format is None else arguments.context_format)
    except ConfigurationError as error:
        yield "context_format", str(error)
    try:
        Toolbox(arguments.tools)
    except DeclarationError as error:
        yield from (("tools", problem) for problem in error.problems)
