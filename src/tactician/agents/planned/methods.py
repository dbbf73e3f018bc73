"""Declared methods and their classes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from tactician.agents.planned.declarations import ActionDeclaration, GoalDeclaration
from tactician.agents.planned.signatures import Provide, Signature
from tactician.frozen import frozen
from tactician.planning.expressions import Expression
from tactician.process import OperationContext
from tactician.process.objects import DEFAULT_BINDING, get_state_declaration
from tactician.prompts import PromptContributor
from tactician.runs.context.threads import in_thread

NOT: Final = "not "
"""Beginning of a name in `pre` of a condition that must not hold."""


@frozen
class Source:
    """Class with declared methods.

    Attributes:
        kind: the class.
        namespace: names for its annotations besides its module's.
        resolvers: functions that fill parameters of these types, instead of the blackboard.
        prefix: the prefix of the names of its methods in plans.
        instance: the instance of the class; the process's agent, when `None`.
        is_state: true for the class of a state on the blackboard.
        contributors: parts of the instructions of the models of its actions, and references for them.
    """

    kind: type
    namespace: Mapping[str, object]
    resolvers: Mapping[type, Provide]
    prefix: str = ""
    instance: object = None
    is_state: bool = False
    contributors: tuple[PromptContributor, ...] = ()

    def find_receiver(self, signature: Signature, context: OperationContext) -> object | None:
        """Return the object whose method is called; `None` when the state is not on the blackboard."""
        if signature.receiver is not None:
            return signature.receiver.find(context.blackboard)
        return context.process.instance if self.instance is None else self.instance


@frozen
class Method:
    """Declared method. `name` is the name in plans, `attribute` the name in the class."""

    name: str
    attribute: str
    source: Source
    signature: Signature
    summary: str

    def call(self, context: OperationContext) -> object | Awaitable[object]:
        """Call the method.

        Raises:
            LookupError: when an argument is missing.
        """
        receiver = self.source.find_receiver(self.signature, context)
        arguments = None if receiver is None else self.signature.collect_arguments(context)
        if arguments is None:
            needed = self.signature.required
            missing = ", ".join(
                parameter.type.__name__ for parameter in needed if parameter.find(context.blackboard) is None
            )
            raise LookupError(f"{missing} is no longer on the blackboard")
        method, provided = self.of(receiver), self.signature.infrastructure
        if provided and any(isinstance(arguments[name], Awaitable) for name in provided):
            return self._call_when_resolved(method, arguments)
        return method(**arguments)

    def of(self, receiver: object) -> Callable[..., object]:
        """Return the bound method of an object."""
        return getattr(receiver, self.attribute)  # type: ignore[no-any-return]  # a user's method

    async def _call_when_resolved(self, method: Callable[..., object], arguments: dict[str, object]) -> object:
        """Await the values of the resolvers, and call the method."""
        for name in self.signature.infrastructure:
            if isinstance(provided := arguments[name], Awaitable):
                arguments[name] = await provided
        result = method(**arguments)
        return await result if isinstance(result, Awaitable) else result

    def can_be_called(self, context: OperationContext) -> bool:
        """Return whether all required objects are available."""
        return all(parameter.find(context.blackboard) is not None for parameter in self.signature.required)


@frozen
class ActionMethod(Method):
    """Method that is an action.

    Attributes:
        parts: the types of the parts of what it returns.
        pre: the conditions that it needs, by their full names.
        post: those that it makes true.
        cost_method: the full name of what its cost is, if it changes.
        value_method: the full name of what its value is.
    """

    declared: ActionDeclaration
    goal: GoalDeclaration | None
    parts: tuple[type, ...]
    pre: tuple[str, ...]
    post: tuple[str, ...]
    cost_method: str | None
    value_method: str | None

    def of(self, receiver: object) -> Callable[..., object]:
        """Return the bound method of an object, which runs in a thread when it is declared as blocking."""
        method = Method.of(self, receiver)
        return partial(in_thread, method) if self.declared.blocking else method

    @property
    def ran(self) -> str:
        """The condition that says that the action has run."""
        return f"ran {self.name}"

    @property
    def outputs(self) -> tuple[type, ...]:
        """The types that the action may return."""
        return self.signature.outputs

    @property
    def gives(self) -> tuple[type, ...]:
        """All types that the action may put on the blackboard."""
        return tuple(dict.fromkeys((*self.outputs, *self.parts)))

    @property
    def clears(self) -> bool:
        """`True` when nothing but the output stays on the blackboard for certain."""
        states = [get_state_declaration(kind) for kind in self.outputs]
        return self.declared.clear_blackboard or (
            bool(states) and all(state is not None and not state.preserve for state in states)
        )

    @property
    def enters_state(self) -> bool:
        """`True` when the action returns a state for certain."""
        return bool(self.outputs) and all(get_state_declaration(kind) is not None for kind in self.outputs)

    @property
    def runs_again(self) -> bool:
        """`True` when the action may run again after it has entered a state."""
        return self.enters_state and (bool(self.signature.required) if self.clears else self.source.is_state)


@frozen
class Declarations:
    """All declarations, by the names in plans, with the arguments of generic classes such as `Box[Story]`.

    `demanded` has the conditions that rules use, as they are written in `pre`.
    """

    actions: tuple[ActionMethod, ...]
    conditions: Mapping[str, Method]
    costs: Mapping[str, Method]
    expressions: Mapping[str, Expression]
    states: tuple[type, ...]
    generics: Mapping[type, object]
    demanded: tuple[str, ...] = ()

    @property
    def methods(self) -> tuple[Method, ...]:
        """All methods."""
        return (*self.actions, *self.conditions.values(), *self.costs.values())

    @property
    def negations(self) -> Mapping[str, str]:
        """The conditions that must not hold, by the names in `pre`: `{"not paid": "paid"}`."""
        required = (name for action in self.actions for name in action.pre)
        return {name: name.removeprefix(NOT) for name in (*required, *self.demanded) if name.startswith(NOT)}

    @property
    def bindings(self) -> frozenset[str]:
        """The names by which parameters find their objects."""
        taken = {parameter.binding for method in self.methods for parameter in method.signature.needs}
        return frozenset(taken.union(*(expression.names for expression in self.expressions.values()))) - {
            DEFAULT_BINDING
        }
