"""What a process runs: actions, goals and conditions, ready for the planner."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from tactician.planning import Action, AStarPlanner, Goal, PlanningAlgorithm
from tactician.process.blackboard import Blackboard
from tactician.process.retrying import ActionRetryPolicy

if TYPE_CHECKING:
    from pydantic import JsonValue

    from tactician.process.context import OperationContext
    from tactician.process.process import AgentProcess

Look: TypeAlias = Callable[[Blackboard], bool]
"""Tells whether a condition holds now, from the blackboard alone."""

Observe: TypeAlias = "Callable[[OperationContext], bool | Awaitable[bool]]"
"""Tells whether a condition holds now."""

Perform: TypeAlias = "Callable[[OperationContext], Awaitable[object]]"
"""Runs an action and gives what it returned."""

Price: TypeAlias = "Callable[[OperationContext], float | Awaitable[float]]"
"""Tells what a cost or a value is now."""

Renewal: TypeAlias = "Callable[[PlannedAgentSpec], PlannedAgentSpec]"
"""Gives an agent with what has been loaded since it was read."""

StuckHandler: TypeAlias = "Callable[[AgentProcess], Awaitable[bool]]"
"""Adds what is missing to a process that is stuck; whether it is worth planning again."""


@dataclass(frozen=True, slots=True)
class Export:
    """How a goal is offered to others.

    Attributes:
        remote: whether to others than this program, too.
        name: what it is called there; the goal's own name by default.
        local: whether to the other agents of this program.
        starting_input_types: of what it can be reached; by default, whatever single object leads to it.
    """

    remote: bool = False
    name: str | None = None
    local: bool = True
    starting_input_types: Sequence[type] = ()


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """An action: what the planner knows of it, and how it is run.

    Attributes:
        plan: name, preconditions, effects and cost.
        perform: runs it.
        needs: the types that it takes, as people read them; optional ones end in `?`.
        gives: the types that it gives.
        output_types: what it may return; nothing when it returns no object.
        output_binding: the name under which the output goes onto the blackboard.
        sets: conditions that are true once it has run.
        condition_ran: the condition that says that it has run.
        retry: how often it is tried; as the process's options say, when `None`.
        input_types: the types that it must have.
        state: the state that it is an action of; `None` for an action of an agent or a component.
        clear_blackboard: whether nothing but its output stays on the blackboard.
        tool_groups: what its models may use.
        optional_types: the types that it takes where they are there.
        is_serial: whether it may not run beside others, as it can see or change anything on the blackboard.
        is_sure: whether it has just the effects that the planner hopes for, when it gives something.
        trigger: the type of what has to come last for it to run; any, when `None`.
        leads: whether it runs the other actions: these count for the budget as they begin, and it once it has ended.
    """

    plan: Action
    description: str
    perform: Perform
    needs: tuple[str, ...]
    gives: tuple[str, ...]
    output_types: tuple[type, ...]
    output_binding: str
    sets: tuple[str, ...]
    condition_ran: str
    retry: ActionRetryPolicy | None = None
    input_types: tuple[type, ...] = ()
    state: type | None = None
    clear_blackboard: bool = False
    tool_groups: tuple[str, ...] = ()
    optional_types: tuple[type, ...] = ()
    is_serial: bool = False
    is_sure: bool = True
    trigger: type | None = None
    leads: bool = False

    @property
    def name(self) -> str:
        """The action's name, unique in its agent."""
        return self.plan.name


@dataclass(frozen=True, slots=True)
class GoalSpec:
    """A goal, and the types that the object may have that reaching it gives: none when it gives no object."""

    plan: Goal
    description: str
    output_types: tuple[type, ...]
    output_binding: str
    export: Export = Export()

    @property
    def name(self) -> str:
        """The goal's name, unique in its agent."""
        return self.plan.name


@dataclass(frozen=True, slots=True)
class PlannedAgentSpec:
    """All that a process needs to know of an agent.

    Attributes:
        observations: how each condition is seen that costs nothing to see: what is there, what has run, what was set.
        conditions: how each other condition is found out: by a method, which may ask a model, or by an expression.
        prices: how each cost and value that changes is found out.
        types: what may be on the blackboard, by the names `module.qualname`.
        generics: what its generic classes are of, as in `Box[Story]`.
        bindings: the names by which its methods and expressions take objects.
        states: those of its types in which it plans with what they declare, and not with all of its actions.
        stuck_handler: asked when the process is stuck.
        instance: whose methods the actions are.
        planner: chooses the actions.
        renewal: reads the agent again when there are new subclasses of its types.
        recipe: for an agent that is made of registered ones for a process: how it is made again elsewhere, as JSON.
    """

    name: str
    description: str
    actions: tuple[ActionSpec, ...]
    goals: tuple[GoalSpec, ...]
    observations: Mapping[str, Look]
    instance: object = None
    planner: PlanningAlgorithm = field(default_factory=AStarPlanner)
    conditions: Mapping[str, Observe] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=dict)
    types: Mapping[str, type] = field(default_factory=dict)
    generics: Mapping[type, object] = field(default_factory=dict)
    bindings: frozenset[str] = frozenset()
    states: tuple[type, ...] = ()
    stuck_handler: StuckHandler | None = None
    recipe: Mapping[str, JsonValue] | None = None
    renewal: Renewal | None = field(default=None, repr=False, compare=False)
    plannable: tuple[Action, ...] = field(init=False)
    _kinds: frozenset[type] = field(init=False, repr=False, compare=False)
    _by_name: Mapping[str, ActionSpec] = field(init=False, repr=False)
    _goals_by_name: Mapping[str, GoalSpec] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "plannable", tuple(action.plan for action in self.actions))
        object.__setattr__(self, "_kinds", frozenset(self.types.values()))
        object.__setattr__(self, "_by_name", {action.name: action for action in self.actions})
        object.__setattr__(self, "_goals_by_name", {goal.name: goal for goal in self.goals})

    def action(self, name: str) -> ActionSpec:
        """The action of that name."""
        return self._by_name[name]

    def goal(self, name: str) -> GoalSpec:
        """The goal of that name."""
        return self._goals_by_name[name]

    def knows(self, value: object) -> bool:
        """Whether the type of the value is one of `types`."""
        return type(value) in self._kinds

    def renewed(self) -> PlannedAgentSpec:
        """The same agent with what has been loaded since it was read: subclasses of its types, and their actions.

        Raises:
            DeclarationError: when one of these is not declared correctly.
        """
        return self if self.renewal is None else self.renewal(self)

    def of(self, instance: object) -> PlannedAgentSpec:
        """The same agent, whose actions are methods of this instance. What the planner has learnt is shared."""
        return replace(self, instance=instance)

    def towards(self, wanted: type) -> PlannedAgentSpec | None:
        """The same agent with only those goals that give an object of the type; `None` when there is none."""
        goals = tuple(goal for goal in self.goals if any(issubclass(t, wanted) for t in goal.output_types))
        return replace(self, goals=goals, renewal=partial(_renewed_towards, self, wanted)) if goals else None


def plannable(agent: PlannedAgentSpec, declined: Action | None) -> tuple[Action, ...]:
    """Return the actions to plan with: all, except one that has just given nothing."""
    actions = agent.plannable
    return actions if declined is None else tuple(action for action in actions if action.name != declined.name)


def _renewed_towards(whole: PlannedAgentSpec, wanted: type, spec: PlannedAgentSpec) -> PlannedAgentSpec:
    fresh = whole.renewed()
    aimed = None if fresh is whole else fresh.of(spec.instance).towards(wanted)
    return spec if aimed is None else aimed
