"""The description of a planned agent that a process runs: actions, goals and conditions, ready for the planner."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import pydantic

from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.planning import Action, AStarPlanner, Goal, Plan, PlanningBudget, WorldState
from tactician.planning.planner import PlanningAlgorithm
from tactician.process.agent.operation import OperationContext
from tactician.process.board.blackboard import Blackboard
from tactician.process.board.looks import Look, Looks
from tactician.process.state.goals import GoalSpec
from tactician.process.state.handle import ProcessHandle
from tactician.process.state.options import ActionRetryPolicy
from tactician.prompts import PromptContributor
from tactician.runs import RunContext
from tactician.tools.group_registry import ToolGroups
from tactician.tools.groups import describe_unknown_groups

if TYPE_CHECKING:
    from tactician.planning import Objective
    from tactician.planning.rules import Rule
    from tactician.planning.ruling.progress import RuleBook


Observe: TypeAlias = Callable[[OperationContext], bool | Awaitable[bool] | None]
"""Evaluates a condition; `None` where it is unknown."""


Perform: TypeAlias = Callable[[OperationContext], Awaitable[object]]
"""Runs an action, and returns its output."""

Price: TypeAlias = Callable[[OperationContext], float | Awaitable[float]]
"""Evaluates a cost or a value."""

Refresh: TypeAlias = "Callable[[PlannedAgentSpec], PlannedAgentSpec]"
"""Returns an agent with the classes that were loaded since it was read."""

RuleReader: TypeAlias = "Callable[[PlannedAgentSpec, tuple[Rule, ...]], PlannedAgentSpec]"
"""Returns an agent under other rules."""

StuckHandler: TypeAlias = Callable[[ProcessHandle], Awaitable[bool | str]]
"""Adds what is missing to a process that is stuck, and returns whether to plan again; a text says why to."""


ChoosePlan: TypeAlias = Callable[[Plan, WorldState, tuple[Action, ...], Plan | None, Collection[str]], Plan]
"""Returns the plan to follow.

Its arguments are the cheapest plan, its world, the actions to choose from, the last plan, and the actions that are left
of that while some run.
"""


@frozen
class Negation:
    """Condition that holds where another condition does not.

    Attributes:
        condition: name of the other condition.
        observe: evaluates the other condition.
    """

    condition: str
    observe: Observe

    def __call__(self, context: OperationContext) -> bool | Awaitable[bool] | None:
        """Evaluate the condition."""
        holds = self.observe(context)
        if holds is None:
            return None
        return not holds if isinstance(holds, bool) else self._negate(holds)

    async def _negate(self, holds: Awaitable[bool]) -> bool:
        return not await holds


@frozen
class ActionSpec:
    """Description of an action: what the planner knows of it, and how it is run.

    Attributes:
        plan: name, preconditions, effects and cost.
        perform: runs the action.
        needs: names of the types that it takes, for people; optional ones end in `?`.
        gives: names of the types that it gives, for people.
        output_types: the types that it may return; none when it returns no object.
        output_binding: the name under which the output goes onto the blackboard.
        sets: conditions that are true once it has run.
        condition_ran: the condition that says that it has run.
        retry: retry policy; the policy of the options of the process, when `None`.
        input_types: the types that it must have.
        state: the state whose action it is; `None` for an action of an agent or a component.
        clear_blackboard: True when nothing but its output stays on the blackboard.
        tool_groups: names of the tool groups that its models may use.
        contributors: parts of the instructions of its models, and references that these may use.
        optional_types: the types that it takes where they are there.
        is_serial: True when it cannot run beside others, as it may see or change anything on the blackboard.
        is_sure: True when it has just the effects that the planner hopes for, if it gives something.
        trigger: the type of the object that has to come last for it to run; any, when `None`.
        leads: True when it runs the other actions: these count for the budget as they begin, and it once it has ended.
        is_measured: True when it costs what its earlier runs took.
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
    contributors: tuple[PromptContributor, ...] = ()
    optional_types: tuple[type, ...] = ()
    is_serial: bool = False
    is_sure: bool = True
    trigger: type | None = None
    leads: bool = False
    is_measured: bool = False

    @property
    def name(self) -> str:
        """The action's name, unique in its agent."""
        return self.plan.name


@frozen
class PlannedAgentSpec:
    """Description of a planned agent: all that a process needs to know of it.

    Attributes:
        observations: the conditions that cost nothing to evaluate: what is there, what has run, what was set.
        conditions: the other conditions: a method, which may ask a model, or an expression.
        prices: the costs and values that change.
        types: the types of objects that may be on the blackboard, by the names `module.qualname`.
        generics: the arguments of its generic classes, as in `Box[Story]`.
        objects: the conditions that say that an object is there.
        bindings: the names by which its methods and expressions take objects.
        states: the types in which it plans with what they declare, and not with all of its actions.
        stuck_handler: called when the process is stuck.
        instance: the object whose methods the actions are.
        planner: planner that chooses the actions.
        planning: limits of each of its decisions; the limits of the platform, when `None`.
        objective: what its plans are to save; the declared costs, when `None`.
        choose: chooses the plan to follow, in a process with an objective or measured costs.
        rule_reader: reads the agent under other rules; `None` for an agent whose rules speak of actions only.
        refresher: reads the agent anew when there are new subclasses of its types.
        rule_book: the rules that each of its processes keeps; `None` without rules.
        review: the action in which its processes ask a person about plans; `None` without reviews.
        is_planned: False for an agent with a single action, which runs a Runnable that is not planned.
        recipe: for an agent that is composed of registered ones for a process: how to compose it elsewhere, as JSON.
    """

    name: str
    description: str
    actions: tuple[ActionSpec, ...]
    goals: tuple[GoalSpec, ...]
    observations: Mapping[str, Look]
    instance: object = None
    planner: PlanningAlgorithm = field(default_factory=AStarPlanner)
    planning: PlanningBudget | None = None
    objective: Objective | None = None
    choose: ChoosePlan | None = field(default=None, repr=False, compare=False)
    conditions: Mapping[str, Observe] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=dict)
    types: Mapping[str, type] = field(default_factory=dict)
    generics: Mapping[type, object] = field(default_factory=dict)
    objects: frozenset[str] = frozenset()
    bindings: frozenset[str] = frozenset()
    states: tuple[type, ...] = ()
    stuck_handler: StuckHandler | None = None
    recipe: Mapping[str, pydantic.JsonValue] | None = None
    rule_book: RuleBook | None = None
    is_planned: bool = True
    review: ActionSpec | None = field(default=None, repr=False, compare=False)
    refresher: Refresh | None = field(default=None, repr=False, compare=False)
    rule_reader: RuleReader | None = field(default=None, repr=False, compare=False)
    plannable: tuple[Action, ...] = field(init=False)
    pursued: tuple[Goal, ...] = field(init=False)
    _kinds: frozenset[type] = field(init=False, repr=False, compare=False)
    _by_name: Mapping[str, ActionSpec] = field(init=False, repr=False)
    _goals_by_name: Mapping[str, GoalSpec] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "plannable", tuple(action.plan for action in self.actions))
        if not isinstance(self.observations, Looks):
            object.__setattr__(self, "observations", Looks(self.observations))
        object.__setattr__(self, "pursued", tuple(goal.plan for goal in self.goals))
        object.__setattr__(self, "_kinds", frozenset(self.types.values()))
        object.__setattr__(
            self, "_by_name", {action.name: action for action in (*self.actions, *filter(None, [self.review]))}
        )
        object.__setattr__(self, "_goals_by_name", {goal.name: goal for goal in self.goals})

    def look(self, board: Blackboard) -> dict[str, bool]:
        """Return which of the conditions hold that cost nothing to evaluate."""
        assert isinstance(self.observations, Looks)
        return self.observations.see(board)

    def action(self, name: str) -> ActionSpec:
        """Return the action of that name."""
        return self._by_name[name]

    def find_actions(self, names: Iterable[str]) -> tuple[ActionSpec, ...]:
        """Return the actions of these names, in their order. Names that the agent does not know are left out."""
        return tuple(self._by_name[name] for name in names if name in self._by_name)

    def goal(self, name: str) -> GoalSpec:
        """Return the goal of that name."""
        return self._goals_by_name[name]

    def knows(self, value: object) -> bool:
        """Return whether the type of the value is one of `types`."""
        return type(value) in self._kinds

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that each of its processes keeps."""
        return () if self.rule_book is None else tuple(ruled.rule for ruled in self.rule_book.rules)

    @property
    def is_measured(self) -> bool:
        """True when the costs of its actions follow from their earlier runs."""
        return self.objective is not None or any(action.is_measured for action in self.actions)

    @property
    def rule_conditions(self) -> tuple[str, ...]:
        """The names of the conditions in its rules."""
        return () if self.rule_book is None else self.rule_book.conditions

    @property
    def is_led(self) -> bool:
        """True when a model chooses the actions, instead of the planner."""
        return any(action.leads for action in self.actions)

    def with_rules(self, rules: Iterable[Rule], *, shared: tuple[Rule, ...] = ()) -> PlannedAgentSpec:
        """Return the same agent under further rules.

        Args:
            rules: the rules.
            shared: rules of the platform, which hold where they speak of an action of the agent.

        Raises:
            DeclarationError: when a rule names what the agent does not know.
        """
        if shared:
            from tactician.planning.ruling.calls import select_rules

            shared = select_rules(shared, [*self._by_name, *(name.rpartition(".")[2] for name in self._by_name)])
        demanded = tuple(dict.fromkeys((*self.rules, *rules, *shared)))
        if demanded == self.rules:
            return self
        if self.rule_reader is not None:
            return self._keep_review(self.rule_reader(self, demanded))
        from tactician.planning.ruling.progress import RuleBook

        return replace(self, rule_book=RuleBook.of_actions(demanded, self._by_name))

    def refresh(self) -> PlannedAgentSpec:
        """Return the same agent with the subclasses of its types that were loaded since it was read, and their actions.

        Raises:
            DeclarationError: when any of them is not declared correctly.
        """
        return self if self.refresher is None else self._keep_review(self.refresher(self))

    def _keep_review(self, fresh: PlannedAgentSpec) -> PlannedAgentSpec:
        return fresh if fresh is self or self.review is None else replace(fresh, review=self.review)

    def of(self, instance: object) -> PlannedAgentSpec:
        """Return the same agent, whose actions are methods of this instance. What the planner has learnt is shared."""
        return replace(self, instance=instance)

    def towards(self, kind: type) -> PlannedAgentSpec | None:
        """Return the same agent with only those goals that give an object of the type, or `None`."""
        goals = tuple(goal for goal in self.goals if any(issubclass(t, kind) for t in goal.output_types))
        return replace(self, goals=goals, refresher=partial(_refresh_towards, self, kind)) if goals else None

    def build_starting_world(self) -> WorldState:
        """Return the world in which exactly the facts hold that no action brings about."""
        facts = {name for action in self.plannable for name, value in action.effects.items() if value}
        needed = {name for action in self.plannable for name, value in action.pre.items() if value}
        return WorldState({name: name in needed - facts for name in (*self.observations, *self.conditions)})

    def plannable_without(self, declined: Action | None) -> tuple[Action, ...]:
        """Return the actions to plan with: all, except an action that has just returned `None`."""
        if declined is None:
            return self.plannable
        return tuple(action for action in self.plannable if action.name != declined.name)


def _refresh_towards(whole: PlannedAgentSpec, kind: type, spec: PlannedAgentSpec) -> PlannedAgentSpec:
    fresh = whole.refresh()
    aimed = None if fresh is whole else fresh.of(spec.instance).towards(kind)
    return spec if aimed is None else aimed


def check_tool_groups(agent: PlannedAgentSpec, context: RunContext) -> None:
    """Check that all tool groups are there that actions of the agent use.

    Raises:
        ConfigurationError: with all actions whose groups are missing.
    """
    tool_groups = context.services.find(ToolGroups)
    missing = [
        (action.name, group) for action in agent.actions for group in action.tool_groups if group not in tool_groups
    ]
    if missing:
        needs = "; ".join(f"the action {action!r} needs the tool group {group!r}" for action, group in missing)
        what = describe_unknown_groups((group for _, group in missing), tool_groups)
        raise ConfigurationError(f"{agent.name} cannot start: {needs}. {what}")
