"""Compiler from classes with declared actions to planner actions: the flow of types becomes conditions.

A type is a condition, true when an object of it is on the blackboard. An action needs the conditions of its parameters
and gives its return type's, by the rules of the Embabel guide, chapters 3.2, 3.6 and 3.17.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from tactician.agents.planned.annotations import find_subclasses
from tactician.agents.planned.condition_names import ConditionNames
from tactician.agents.planned.declaration_reader import read_declarations
from tactician.agents.planned.declarations import Planner
from tactician.agents.planned.methods import ActionMethod, Declarations, Source
from tactician.agents.planned.signatures import RunValueProvider
from tactician.agents.planned.type_flow import TypeFlow, build_conditions, build_costs, build_observations
from tactician.agents.planned.validation import (
    validate_agent,
    validate_declarations,
    validate_resolvers,
    validate_stuck_handler,
)
from tactician.errors import DeclarationError
from tactician.frozen import frozen
from tactician.planning import MEASURED, Action, Goal, PlanningBudget
from tactician.planning.model import Amount
from tactician.process import AgentProcess, Blackboard, OperationContext, ProcessHandle, UserInput
from tactician.process.agent.spec import ActionSpec, PlannedAgentSpec, StuckHandler
from tactician.process.deciding.observation import lookup_price
from tactician.process.objects import get_state_declaration, preserves_blackboard
from tactician.process.state.goals import GoalSpec
from tactician.process.stored_types import list_stored_names, type_name

if TYPE_CHECKING:
    from tactician.planning import Objective
    from tactician.planning.rules import Rule
    from tactician.planning.ruling.progress import RuleBook

_MOST_RULE_SETS: Final = 8


def compile_classes(
    sources: Sequence[Source],
    name: str,
    description: str,
    planner: Planner | str,
    *,
    planning: PlanningBudget | None = None,
    objective: Objective | None = None,
    rules: tuple[Rule, ...] = (),
    needs_goal: bool,
) -> PlannedAgentSpec:
    """Compile the actions, goals and conditions of classes.

    `PlannedAgentSpec.of` adds a missing instance of a source.

    Raises:
        DeclarationError: with every mistake.
    """
    problems = [
        *validate_agent(description, planner, planning, objective),
        *(problem for source in sources for problem in validate_resolvers(source.resolvers)),
    ]
    declared = read_declarations(sources, problems)
    words = ConditionNames(declared)
    problems.extend(validate_declarations(declared, words, needs_goal=needs_goal))
    book: RuleBook | None = None
    if rules:
        from tactician.agents.planned.rule_names import resolve_rules

        declared, book = resolve_rules(rules, declared, words, problems)
    problems.extend(problem for source in sources for problem in validate_stuck_handler(source.kind))
    if problems:
        raise DeclarationError(", ".join(source.kind.__name__ for source in sources), problems)
    planner = Planner(planner)
    spec = replace(
        _Compiler(declared, words).build_spec(name, description, planner, _build_stuck_handler(sources)),
        planning=planning,
        objective=objective,
        rule_book=book,
    )

    if book is not None:
        _refuse_contradictions(spec, book)

    def read_again(rules: tuple[Rule, ...]) -> PlannedAgentSpec:
        return compile_classes(
            sources,
            name,
            description,
            planner,
            planning=planning,
            objective=objective,
            rules=rules,
            needs_goal=needs_goal,
        )

    return LateClasses.attach(_supervise(spec) if planner is Planner.SUPERVISOR else spec, read_again)


def _refuse_contradictions(spec: PlannedAgentSpec, book: RuleBook) -> None:
    """Refuse rules under which no goal can be reached.

    Raises:
        DeclarationError: with the smallest set of these rules.
    """
    from tactician.planning.ruling.contradictions import find_contradiction

    ran = [action.condition_ran for action in spec.actions]
    own = [ruled for ruled in book.rules if not ruled.rule.is_shared]
    if rules := find_contradiction(own, spec.plannable, spec.pursued, ran):
        one = f"the rule {rules[0]} makes every goal unreachable"
        several = f"the rules {', '.join(map(str, rules))} contradict each other: no goal can be reached under them"
        raise DeclarationError(spec.name, [one if len(rules) == 1 else several])


def _supervise(spec: PlannedAgentSpec) -> PlannedAgentSpec:
    from tactician.agents.supervision.supervised_agent import supervise

    return supervise(spec)


class _Compiler:
    """Builder of the specs of valid declarations."""

    def __init__(self, declared: Declarations, words: ConditionNames) -> None:
        self._declared = declared
        self._words = words
        self._flow = TypeFlow(declared, words)

    def build_spec(
        self, name: str, description: str, planner: Planner, stuck_handler: StuckHandler | None
    ) -> PlannedAgentSpec:
        declared = self._declared
        needs = {action.name: self._flow.find_preconditions(action) for action in declared.actions}
        goals = tuple(self._compile_goal(action) for action in declared.actions if action.goal is not None)
        needed = dict.fromkeys(
            condition
            for conditions in (*needs.values(), *(goal.plan.conditions for goal in goals))
            for condition in conditions
        ) | dict.fromkeys(declared.demanded)
        return PlannedAgentSpec(
            name,
            description,
            tuple(self._compile_action(action, needs[action.name], needed) for action in declared.actions),
            goals,
            build_observations(declared, self._words, needed),
            planner=planner.build(),
            conditions=build_conditions(declared, needed),
            prices=build_costs(declared),
            types=_collect_types(declared, self._words),
            generics=declared.generics,
            objects=frozenset((*self._words.things, *map(self._words.name_any_output, declared.actions))),
            bindings=declared.bindings,
            states=tuple(kind for kind in declared.states if not preserves_blackboard(kind)),
            stuck_handler=stuck_handler,
        )

    def _compile_action(self, action: ActionMethod, needs: Mapping[str, bool], needed: Iterable[str]) -> ActionSpec:
        declared, words = action.declared, self._words
        effects = self._flow.find_effects(action)
        return ActionSpec(
            Action(
                action.name,
                needs,
                {name: effects[name] for name in needed if name in effects},
                _build_amount(0.0 if declared.cost == MEASURED else declared.cost, action.cost_method),
                _build_amount(declared.value, action.value_method),
            ),
            declared.description or action.summary,
            partial(_perform, action),
            needs=tuple(words.name_object(p) + ("" if p.required else "?") for p in action.signature.needs)
            + action.pre,
            gives=tuple(map(words.name_type, action.gives)) + action.post,
            output_types=action.outputs,
            output_binding=declared.output_binding,
            sets=tuple(name for name in action.post if not self._is_observable(name)),
            condition_ran=action.ran,
            retry=declared.retry,
            input_types=tuple(parameter.type for parameter in action.signature.required),
            state=action.source.kind if action.source.is_state else None,
            clear_blackboard=declared.clear_blackboard,
            tool_groups=declared.tool_groups,
            contributors=(*action.source.contributors, *declared.contributors, *declared.references),
            optional_types=tuple(parameter.type for parameter in action.signature.needs if not parameter.required),
            is_serial=_is_serial(action) or bool(words.get_promises(action)),
            is_sure=set(needed).isdisjoint(self._flow.find_uncertain_effects(action, effects)),
            trigger=declared.trigger,
            is_measured=declared.cost == MEASURED,
        )

    def _is_observable(self, condition: str) -> bool:
        """Return whether a method or the blackboard determines the condition."""
        return condition in self._declared.conditions or condition in self._words.things

    def _compile_goal(self, action: ActionMethod) -> GoalSpec:
        assert action.goal is not None
        goal = Goal(action.name, self._flow.find_goal_conditions(action), action.goal.value)
        binding = action.declared.output_binding
        return GoalSpec(goal, action.goal.description, action.outputs, binding, action.goal.export)


def _is_serial(action: ActionMethod) -> bool:
    sees_all = {RunValueProvider(Blackboard), RunValueProvider(AgentProcess)}
    declared, services = action.declared, set(action.signature.infrastructure.values())
    changes_all = declared.clear_blackboard or any(get_state_declaration(kind) is not None for kind in action.outputs)
    return bool(services & sees_all) or changes_all or declared.trigger is not None


def _build_amount(fixed: float, method: str | None) -> Amount:
    return fixed if method is None else lookup_price(method, fixed)


def _collect_types(declared: Declarations, words: ConditionNames) -> dict[str, type]:
    """Return all types that may be on the blackboard by full name, and those that they had before."""
    subclasses = (kind for base in (UserInput, *words.kinds, *declared.states) for kind in find_subclasses(base))
    names = [(name, kind) for kind in subclasses for name in list_stored_names(kind)]
    former = {name: kind for name, kind in names if name != type_name(kind)}
    return former | {type_name(kind): kind for _, kind in names}


def _build_stuck_handler(sources: Iterable[Source]) -> StuckHandler | None:
    """Return a handler that asks each `handle_stuck` in turn, or `None`."""
    able = [source for source in sources if hasattr(source.kind, "handle_stuck")]
    return partial(_handle_stuck, able) if able else None


async def _handle_stuck(sources: Iterable[Source], process: ProcessHandle) -> bool | str:
    for source in sources:
        owner = process.instance if source.instance is None else source.instance
        handled: object = getattr(owner, "handle_stuck")(process)  # noqa: B009 - a user's method
        if resolution := await handled if isinstance(handled, Awaitable) else handled:
            return resolution if isinstance(resolution, str) else True
    return False


async def _perform(action: ActionMethod, context: OperationContext) -> object:
    result = action.call(context)
    return await result if isinstance(result, Awaitable) else result


@frozen
class LateClasses:
    """Loader that reads an agent again when classes have been loaded since.

    Attributes:
        read: function that reads the agent under some rules.
        roots: the types that it names.
        classes: these types and all their subclasses at the last reading.
        original: the agent at the last reading; a refreshed agent may have fewer actions and goals.
        under_rules: the agent under the rules of runs and platforms, for the last ones.
    """

    read: Callable[[tuple[Rule, ...]], PlannedAgentSpec]
    roots: tuple[type, ...]
    classes: frozenset[type]
    original: PlannedAgentSpec
    under_rules: dict[tuple[Rule, ...], PlannedAgentSpec] = field(default_factory=dict)

    @classmethod
    def attach(cls, spec: PlannedAgentSpec, read: Callable[[tuple[Rule, ...]], PlannedAgentSpec]) -> PlannedAgentSpec:
        """Return the agent with this object as its refresh function."""
        kinds = frozenset(spec.types.values())
        roots = tuple(kind for kind in kinds if kinds.isdisjoint(kind.__bases__))
        late = cls(read, roots, _find_loaded(roots), spec)
        return replace(spec, refresher=late, rule_reader=late.read_with)

    def __call__(self, spec: PlannedAgentSpec) -> PlannedAgentSpec:
        """Return the refreshed agent; the same agent when there is nothing new."""
        return spec if self._is_current else self._adapt(self.read(spec.rules), spec)

    @property
    def _is_current(self) -> bool:
        return _find_loaded(self.roots) <= self.classes

    def read_with(self, spec: PlannedAgentSpec, rules: tuple[Rule, ...]) -> PlannedAgentSpec:
        """Return the agent, read again under these rules.

        Raises:
            DeclarationError: when a rule names what the agent does not know.
        """
        if not self._is_current:
            return self._adapt(self.read(rules), spec)
        if (fresh := self.under_rules.get(rules)) is None:
            fresh = self.under_rules[rules] = self.read(rules)
            if len(self.under_rules) > _MOST_RULE_SETS:
                del self.under_rules[next(iter(self.under_rules))]
        return self._adapt(fresh, spec)

    def _adapt(self, fresh: PlannedAgentSpec, spec: PlannedAgentSpec) -> PlannedAgentSpec:
        """Return a freshly read agent with the name, the actions and the goals of a spec."""
        before = self.original
        actions = _list_names(fresh.actions) - (_list_names(before.actions) - _list_names(spec.actions))
        goals = _list_names(fresh.goals) - (_list_names(before.goals) - _list_names(spec.goals))
        if spec.name != before.name:  # it was assembled for certain goals
            goals = _list_names(spec.goals)
        return replace(
            fresh,
            name=spec.name,
            description=spec.description,
            instance=spec.instance,
            recipe=spec.recipe,
            actions=tuple(action for action in fresh.actions if action.name in actions),
            goals=tuple(goal for goal in fresh.goals if goal.name in goals),
        )


def _list_names(declared: Sequence[ActionSpec] | Sequence[GoalSpec]) -> set[str]:
    return {spec.name for spec in declared}


def _find_loaded(roots: tuple[type, ...]) -> frozenset[type]:
    return frozenset(kind for root in roots for kind in find_subclasses(root))
