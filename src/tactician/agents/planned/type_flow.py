"""Flow of types as conditions: preconditions and effects of actions, and their observation."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from tactician.agents.planned.annotations import find_subclasses
from tactician.agents.planned.condition_names import ConditionNames, can_produce, is_sure_to_produce
from tactician.agents.planned.evaluation import evaluate_expression, judge_expression, list_names
from tactician.agents.planned.methods import ActionMethod, Declarations, Method
from tactician.agents.planned.signatures import Parameter
from tactician.planning.expressions import is_of_rule
from tactician.process import Blackboard, OperationContext
from tactician.process.agent.spec import Negation, Observe, Price
from tactician.process.board.looks import IsSet, IsThere, Look
from tactician.process.objects import DEFAULT_BINDING, get_state_declaration


class TypeFlow:
    """Preconditions and effects of actions, and conditions of goals."""

    def __init__(self, declared: Declarations, words: ConditionNames) -> None:
        self._declared = declared
        self._words = words

    def find_preconditions(self, action: ActionMethod) -> dict[str, bool]:
        """Return the conditions that must hold before an action runs."""
        words, signature = self._words, action.signature
        needs = {words.name_object(parameter): True for parameter in signature.required}
        needs.update(dict.fromkeys(action.pre, True))
        if action.declared.trigger is not None:
            needs[words.name_newest(action.declared.trigger)] = True
        if not action.declared.can_rerun:
            needs[action.ran] = False
            taken = [parameter.type for parameter in signature.needs]
            fresh = [kind for kind in action.outputs if not any(issubclass(other, kind) for other in taken)]
            needs.update({words.name_existing(words.as_parameter(kind, action)): False for kind in fresh})
        return needs

    def find_goal_conditions(self, action: ActionMethod) -> dict[str, bool]:
        """Return the conditions that hold when an action has reached its goal."""
        conditions = {action.ran: True}
        if action.outputs:
            conditions[self._words.name_any_output(action)] = True
        return conditions

    def find_effects(self, action: ActionMethod) -> dict[str, bool]:
        """Return the conditions that may hold after an action: the best case, as the outcome is observed later."""
        effects = dict.fromkeys(self._find_lost_conditions(action), False)
        effects.update({action.ran: not action.runs_again, **dict.fromkeys(action.post, True)})
        effects.update(self._require_objects(action))
        for other in self._declared.actions:
            if any(effects.get(self._words.name_output(kind, other)) for kind in other.outputs):
                effects[self._words.name_any_output(other)] = True
        for kind in self._words.triggers:
            effects[self._words.name_newest(kind)] = can_produce(action, Parameter("", kind))
        effects.update(dict.fromkeys(self._find_uncertain_conditions(action, effects), True))
        for name, condition in self._declared.negations.items():
            if condition in effects:  # what may become true may stay false as well
                effects[name] = not effects[condition] or condition not in action.post
        return effects

    def find_uncertain_effects(self, action: ActionMethod, effects: Mapping[str, bool]) -> Iterator[str]:
        """Yield the effects that an action may turn out not to have although it returns an object."""
        words = self._words
        things = {**words.things, **{words.name_newest(kind): Parameter("", kind) for kind in words.triggers}}
        yield from (
            label for label, thing in things.items() if effects.get(label) and not is_sure_to_produce(action, thing)
        )
        evaluable = (*self._declared.conditions, *self._declared.expressions)
        yield from (name for name in evaluable if effects.get(name))
        yield from (
            name for name, negation in self._declared.negations.items() if negation in evaluable and effects.get(name)
        )

    def _require_objects(self, action: ActionMethod) -> Iterator[tuple[str, bool]]:
        for label, thing in self._words.things.items():
            if self._words.can_produce(action, thing):
                yield label, True
            if is_sure_to_produce(action, thing):
                yield self._words.name_existing(thing), True

    def _find_uncertain_conditions(self, action: ActionMethod, effects: dict[str, bool]) -> Iterator[str]:
        """Yield the conditions about an object that may hold once there is a new object."""
        for name, condition in self._declared.conditions.items():
            if any(effects.get(self._words.name_object(parameter)) for parameter in condition.signature.needs):
                yield name
        if self._declared.expressions:
            certain_conditions = {
                name for produced in action.gives for kind in find_subclasses(produced) for name in list_names(kind)
            }
            certain_conditions.update(thing.binding for thing in self._words.list_bindings(action))
            for text, expression in self._declared.expressions.items():
                if certain_conditions & expression.names:
                    yield text

    def _find_lost_conditions(self, action: ActionMethod) -> Iterator[str]:
        """Yield the conditions that end when objects leave the blackboard, unless the action produces them again."""
        if not (action.clears or action.enters_state):
            return
        words, declared = self._words, self._declared
        things = words.things.items()
        removed = {
            label: thing for label, thing in things if action.clears or get_state_declaration(thing.type) is not None
        }
        for label, thing in removed.items():
            yield from (label, words.name_existing(thing))
        for name, condition in declared.conditions.items():
            if any(words.name_object(parameter) in removed for parameter in condition.signature.required):
                yield name
        for other in declared.actions:
            if all(words.name_output(kind, other) in removed for kind in other.outputs):
                yield words.name_any_output(other)
            if other.signature.required if action.clears else other.source.is_state:
                yield other.ran
        if action.clears:
            yield from declared.expressions
            yield from (name for other in declared.actions for name in other.post if name not in declared.conditions)


def build_observations(declared: Declarations, words: ConditionNames, needed: Iterable[str]) -> dict[str, Look]:
    """Return the needed conditions that the blackboard shows without cost."""
    seen: dict[str, Look] = {}
    for label, thing in words.things.items():
        seen[label] = seen[words.name_existing(thing)] = _look_for(thing)
    for action in declared.actions:
        outputs = tuple(words.as_parameter(kind, action) for kind in action.outputs)
        if len(outputs) > 1:
            seen[words.name_any_output(action)] = partial(_has_any, outputs)
    for kind in words.triggers:
        seen[words.name_newest(kind)] = partial(_is_newest, kind)
    for name, condition in declared.negations.items():
        seen[name] = partial(_is_not_set, condition)
    evaluable = {*declared.conditions, *declared.expressions, *_find_evaluated_negations(declared)}
    return {name: seen.get(name) or IsSet(name) for name in needed if name not in evaluable}


def build_conditions(declared: Declarations, needed: Iterable[str]) -> dict[str, Observe]:
    """Return the needed conditions that methods and expressions evaluate."""
    observers: dict[str, Observe] = {}
    negated = _find_evaluated_negations(declared)
    for name in needed:
        if (base := negated.get(name)) is not None and (observe := _build_condition(base, declared)) is not None:
            observers[name] = Negation(base, observe)
        elif (observe := _build_condition(name, declared)) is not None:
            observers[name] = observe
    return observers


def _build_condition(name: str, declared: Declarations) -> Observe | None:
    if (method := declared.conditions.get(name)) is not None:
        return partial(_evaluate_condition, method)
    if (expression := declared.expressions.get(name)) is None:
        return None
    return partial(judge_expression if is_of_rule(name) else evaluate_expression, expression)


def _find_evaluated_negations(declared: Declarations) -> dict[str, str]:
    """Return the negations of conditions that methods and expressions evaluate."""
    evaluable = {*declared.conditions, *declared.expressions}
    return {name: base for name, base in declared.negations.items() if base in evaluable}


def build_costs(declared: Declarations) -> dict[str, Price]:
    """Return the costs and values that actions name."""
    used = (name for action in declared.actions for name in (action.cost_method, action.value_method))
    return {name: partial(_evaluate_cost, declared.costs[name]) for name in used if name is not None}


def _look_for(thing: Parameter) -> Look:
    is_of_any_name = thing.binding == DEFAULT_BINDING and not thing.exact
    return IsThere(thing.type) if is_of_any_name else partial(_has_object, thing)


def _has_object(thing: Parameter, blackboard: Blackboard) -> bool:
    return thing.find(blackboard) is not None


def _has_any(things: Sequence[Parameter], blackboard: Blackboard) -> bool:
    return any(_has_object(thing, blackboard) for thing in things)


def _is_not_set(condition: str, blackboard: Blackboard) -> bool:
    return not blackboard.condition(condition)


def _is_newest(kind: type, blackboard: Blackboard) -> bool:
    return isinstance(blackboard.newest, kind)


def _evaluate_condition(method: Method, context: OperationContext) -> bool | Awaitable[bool]:
    if not method.can_be_called(context):
        return False
    result = method.call(context)
    return result if isinstance(result, Awaitable) else bool(result)


def _evaluate_cost(method: Method, context: OperationContext) -> float | Awaitable[float]:
    # What it returns is checked where it is used. A cost of a state that is not there is not asked for.
    if not method.can_be_called(context):
        return 0.0
    return method.call(context)  # type: ignore[return-value]
