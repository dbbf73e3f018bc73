"""Turns a class with declared actions into what the planner understands: the flow of types becomes conditions.

A type is a condition, true when an object of it is on the blackboard. An action needs those of its parameters
and gives those of its return type. The rules are those of the Embabel guide, chapters 3.2 and 3.6.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from math import isfinite

from tactician.agents.declarations import (
    ACTION,
    CONDITION,
    GOAL,
    ActionDeclaration,
    ConditionDeclaration,
    GoalDeclaration,
)
from tactician.agents.parameters import Parameter, Signature, read_signature
from tactician.errors import DeclarationError
from tactician.planning import Action, Goal
from tactician.process import DEFAULT_BINDING, ActionSpec, AgentSpec, GoalSpec, Observe, OperationContext
from tactician.tools import docs_of, resolved_hints


@dataclass(frozen=True, slots=True)
class _Method:
    """A declared method and its signature."""

    name: str
    signature: Signature
    summary: str


@dataclass(frozen=True, slots=True)
class _ActionMethod(_Method):
    declared: ActionDeclaration
    goal: GoalDeclaration | None

    @property
    def ran(self) -> str:
        """The condition that says that the action has run."""
        return f"ran {self.name}"


@dataclass(frozen=True, slots=True)
class _Declarations:
    """All that was read from a class, and what it means for the planner."""

    actions: tuple[_ActionMethod, ...]
    conditions: Mapping[str, _Method]
    labels: Mapping[type, str]

    def spec(self, name: str, description: str) -> AgentSpec:
        """What a process runs; `AgentSpec.of` binds it to an instance."""
        actions = tuple(map(self._action, self.actions))
        goals = tuple(self._goal(method, method.goal) for method in self.actions if method.goal is not None)
        needed = dict.fromkeys(
            condition
            for conditions in (*(a.plan.pre for a in actions), *(g.plan.conditions for g in goals))
            for condition in conditions
        )
        observers = self._observers()
        observations = {c: observers.get(c) or partial(_was_set, c) for c in needed}
        return AgentSpec(name, description, actions, goals, observations)

    def _action(self, method: _ActionMethod) -> ActionSpec:
        declared, signature = method.declared, method.signature
        return ActionSpec(
            Action(method.name, self._preconditions(method), self._effects(method), declared.cost, declared.value),
            declared.description or method.summary,
            partial(_perform, method.name, signature),
            tuple(self._label(p) + ("" if p.required else "?") for p in signature.parameters) + declared.pre,
            tuple(map(self._written, signature.outputs)) + declared.post,
            signature.outputs,
            declared.output_binding,
            tuple(name for name in declared.post if name not in self.conditions),
            method.ran,
        )

    def _preconditions(self, method: _ActionMethod) -> dict[str, bool]:
        signature = method.signature
        needs = {self._label(parameter): True for parameter in signature.required}
        needs.update(dict.fromkeys(method.declared.pre, True))
        if not method.declared.can_rerun:
            needs[method.ran] = False
            taken = [parameter.type for parameter in signature.parameters]
            fresh = [kind for kind in signature.outputs if not any(issubclass(one, kind) for one in taken)]
            needs.update({_already(self._output_label(kind, method)): False for kind in fresh})
        return needs

    def _effects(self, method: _ActionMethod) -> dict[str, bool]:
        effects = {method.ran: True, **dict.fromkeys(method.declared.post, True)}
        outputs = method.signature.outputs
        # What is declared as a type is all of its superclasses, and may turn out to be any of its subclasses.
        certain = [kind for kind in self.labels if outputs and all(issubclass(given, kind) for given in outputs)]
        possible = [kind for kind in self.labels if any(issubclass(kind, given) for given in outputs)]
        possible += [kind for kind in self.labels if any(issubclass(given, kind) for given in outputs)]
        for binding in (DEFAULT_BINDING, method.declared.output_binding):
            effects.update({self._bound(kind, binding): True for kind in possible})
            effects.update({_already(self._bound(kind, binding)): True for kind in certain})
        for other in self.actions:
            if any(effects.get(self._output_label(kind, other)) for kind in other.signature.outputs):
                effects[self._any_output_label(other)] = True
        # A condition about an object may hold once there is a new one: that is seen when it is there.
        for name, condition in self.conditions.items():
            if any(effects.get(self._label(parameter)) for parameter in condition.signature.parameters):
                effects[name] = True
        return effects

    def _goal(self, method: _ActionMethod, declared: GoalDeclaration) -> GoalSpec:
        conditions = {method.ran: True}
        if outputs := method.signature.outputs:
            conditions[self._any_output_label(method)] = True
        goal = Goal(method.name, conditions, declared.value)
        return GoalSpec(goal, declared.description, outputs, method.declared.output_binding)

    def _label(self, parameter: Parameter) -> str:
        return self._bound(parameter.type, parameter.binding)

    def _output_label(self, kind: type, method: _ActionMethod) -> str:
        return self._bound(kind, method.declared.output_binding)

    def _any_output_label(self, method: _ActionMethod) -> str:
        return " or ".join(self._output_label(kind, method) for kind in method.signature.outputs)

    def _bound(self, kind: type, binding: str) -> str:
        written = self._written(kind)
        return written if binding == DEFAULT_BINDING else f"{binding}: {written}"

    def _written(self, kind: type) -> str:
        return self.labels.get(kind, kind.__name__)

    def _observers(self) -> dict[str, Observe]:
        """How each condition is found out, by its name."""
        observers: dict[str, Observe] = {
            label: partial(_is_there, Parameter("", kind)) for kind, label in self.labels.items()
        }
        for method in (*self.actions, *self.conditions.values()):
            for parameter in method.signature.parameters:
                observers[self._label(parameter)] = partial(_is_there, parameter)
        for action in self.actions:
            observers[action.ran] = partial(_has_run, action.name)
            binding = action.declared.output_binding
            outputs = tuple(Parameter("", kind, binding=binding) for kind in action.signature.outputs)
            observers[self._any_output_label(action)] = partial(_is_one_there, outputs)
            for output in outputs:
                label = self._label(output)
                observers[label] = observers[_already(label)] = partial(_is_there, output)
        for name, condition in self.conditions.items():
            observers[name] = partial(_holds, condition.name, condition.signature)
        return observers


def compile_class(owner: type, name: str, description: str, namespace: Mapping[str, object]) -> AgentSpec:
    """Reads the actions, goals and conditions of a class; the result has no instance yet.

    Raises:
        DeclarationError: with every mistake that was found.
    """
    problems: list[str] = []
    actions: list[_ActionMethod] = []
    conditions: dict[str, _Method] = {}
    for method, function in _declared_methods(owner):
        declared = getattr(function, ACTION, None)
        if isinstance(inspect.getattr_static(owner, method), staticmethod | classmethod):
            problems.append(f"{method}: it has to be a plain method; take @staticmethod or @classmethod away")
        try:
            hints = resolved_hints(function, namespace)
            signature = read_signature(function, hints, problems, returns=declared is not None)
        except DeclarationError as error:
            problems.extend(f"{method}: {problem}; {_UNDEFINED}" for problem in error.problems)
            signature = Signature((), {}, ())
        summary = (docs_of(function).summary.splitlines() or [""])[0]
        if isinstance(declared, ActionDeclaration):
            actions.append(_ActionMethod(method, signature, summary, declared, getattr(function, GOAL, None)))
        elif isinstance(condition := getattr(function, CONDITION, None), ConditionDeclaration):
            label = condition.name or method
            if label in conditions:
                problems.append(f"{method}: the condition {label!r} is declared twice; give each a name of its own")
            conditions[label] = _Method(method, signature, summary)
        else:
            problems.append(f"{method}: @achieves_goal is for an action; add @action below it")
    problems.extend(_mistakes(actions, conditions))
    if problems:
        raise DeclarationError(owner.__name__, problems)
    declarations = _Declarations(tuple(actions), conditions, _labels((*actions, *conditions.values())))
    return declarations.spec(name, description)


_UNDEFINED = "import it (not only under TYPE_CHECKING), or define it before the class"


def _declared_methods(owner: type) -> Iterable[tuple[str, Callable[..., object]]]:
    """The declared methods, inherited ones first, in the order of the source; an override counts as it is."""
    names = dict.fromkeys(name for kind in reversed(owner.__mro__) for name in vars(kind))
    for name in names:
        found = inspect.getattr_static(owner, name)
        function = found.__func__ if isinstance(found, staticmethod | classmethod) else found
        if callable(function) and any(hasattr(function, mark) for mark in (ACTION, GOAL, CONDITION)):
            yield name, function


def _mistakes(actions: Sequence[_ActionMethod], conditions: Mapping[str, _Method]) -> Iterable[str]:
    if not actions:
        yield "it has no action; declare at least one method with @action"
    elif not any(action.goal for action in actions):
        yield 'it has no goal; add @achieves_goal("...") to the action that completes its work'
    known = {*conditions, *(name for action in actions for name in action.declared.post)}
    for action in actions:
        if not (isfinite(cost := action.declared.cost) and cost >= 0):
            yield f"{action.name}: the cost is {cost!r}; it has to be a number from 0 up"
        for name in action.declared.pre:
            if name not in known:
                close = get_close_matches(name, known, n=1)
                hint = (
                    f"did you mean {close[0]!r}?" if close else "declare a @condition, or an action with it in `post`"
                )
                yield f"{action.name}: no condition {name!r}; {hint}"


def _labels(methods: Iterable[_Method]) -> dict[type, str]:
    """What each type is called: its name, or its full name where two have the same."""
    kinds = list(
        dict.fromkeys(
            kind for m in methods for kind in (*(p.type for p in m.signature.parameters), *m.signature.outputs)
        )
    )
    names = [kind.__name__ for kind in kinds]
    return {k: k.__name__ if names.count(k.__name__) == 1 else f"{k.__module__}.{k.__qualname__}" for k in kinds}


def _already(label: str) -> str:
    """The condition that keeps an action from running for what is there.

    It is not the type's own condition, as that one is hoped for: a `Document` may turn out to be a `SignedDocument`,
    and yet an action that signs has to be part of the plan.
    """
    return f"{label} already"


async def _perform(method: str, signature: Signature, context: OperationContext) -> object:
    arguments = signature.arguments(context)
    if arguments is None:
        missing = ", ".join(p.type.__name__ for p in signature.required if p.find(context.blackboard) is None)
        raise LookupError(f"{missing} is not on the blackboard any more")
    result = getattr(context.process.agent.instance, method)(**arguments)
    return await result if isinstance(result, Awaitable) else result


def _holds(method: str, signature: Signature, context: OperationContext) -> bool | Awaitable[bool]:
    arguments = signature.arguments(context)
    if arguments is None:
        return False
    result = getattr(context.process.agent.instance, method)(**arguments)
    return result if isinstance(result, Awaitable) else bool(result)


def _is_there(parameter: Parameter, context: OperationContext) -> bool:
    return parameter.find(context.blackboard) is not None


def _is_one_there(outputs: Sequence[Parameter], context: OperationContext) -> bool:
    return any(_is_there(output, context) for output in outputs)


def _has_run(action: str, context: OperationContext) -> bool:
    return context.process.has_run(action)


def _was_set(condition: str, context: OperationContext) -> bool:
    return context.blackboard.condition(condition)
