"""Names of conditions, for types of objects and for events."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tactician.agents.planned.annotations import is_class
from tactician.agents.planned.methods import ActionMethod, Declarations
from tactician.agents.planned.signatures import Parameter
from tactician.process.objects import DEFAULT_BINDING


class ConditionNames:
    """Names of the types of an agent: full names where two types have the same short name."""

    def __init__(self, declared: Declarations) -> None:
        methods = declared.methods
        needed = (parameter.type for method in methods for parameter in method.signature.needs)
        outputs = (kind for action in declared.actions for kind in action.gives)
        self.triggers = tuple(
            dict.fromkeys(kind for action in declared.actions if is_class(kind := action.declared.trigger))
        )
        self.kinds = tuple(dict.fromkeys((*needed, *outputs, *self.triggers)))
        names = [kind.__name__ for kind in self.kinds]
        self._labels = {
            kind: kind.__name__ if names.count(kind.__name__) == 1 else f"{kind.__module__}.{kind.__qualname__}"
            for kind in self.kinds
        }
        self._declared = declared
        self._promised = {action.name: tuple(self._find_promises(action)) for action in declared.actions}

    @cached_property
    def things(self) -> dict[str, Parameter]:
        """All objects that can be on the blackboard, by the names of their conditions."""
        return {self.name_object(thing): thing for thing in self._things()}

    def _things(self) -> Iterator[Parameter]:
        for kind in self.kinds:
            yield Parameter("", kind)
        for method in self._declared.methods:
            yield from method.signature.needs
        for action in self._declared.actions:
            yield from self.list_bindings(action)

    def name_type(self, kind: type) -> str:
        """Return the name of a type."""
        return self._labels.get(kind, kind.__name__)

    def name_object(self, thing: Parameter) -> str:
        """Return the condition that there is an object for the parameter."""
        name = self.name_type(thing.type)
        if thing.exact and any(issubclass(other, thing.type) for other in self.kinds if other is not thing.type):
            name = f"{name} itself"
        return name if thing.binding == DEFAULT_BINDING else f"{thing.binding}: {name}"

    def as_parameter(self, kind: type, action: ActionMethod) -> Parameter:
        """Return an output of an action as a parameter that finds it."""
        return Parameter("", kind, binding=action.declared.output_binding)

    def list_bindings(self, action: ActionMethod) -> tuple[Parameter, ...]:
        """Return the outputs of an action, and the objects that its `post` declares, as in `"user: User"`."""
        return (*(self.as_parameter(kind, action) for kind in action.outputs), *self.get_promises(action))

    def get_promises(self, action: ActionMethod) -> tuple[Parameter, ...]:
        """Return the objects that the action binds itself, as its `post` declares."""
        return self._promised[action.name]

    def _find_promises(self, action: ActionMethod) -> Iterator[Parameter]:
        for name in action.post:
            binding, _, label = name.partition(": ")
            for kind in self.kinds if label else ():
                if self._labels[kind] == label:
                    yield Parameter("", kind, binding=binding)

    def can_produce(self, action: ActionMethod, thing: Parameter) -> bool:
        """Return whether the action may return the object or bind it itself."""
        bound = (
            promise.type for promise in self.get_promises(action) if thing.binding in (DEFAULT_BINDING, promise.binding)
        )
        return can_produce(action, thing) or any(_may_be(kind, thing) for kind in bound)

    def name_output(self, kind: type, action: ActionMethod) -> str:
        """Return the condition that there is an output of the action of that type."""
        return self.name_object(self.as_parameter(kind, action))

    def name_any_output(self, action: ActionMethod) -> str:
        """Return the condition that there is an output of the action."""
        return " or ".join(self.name_output(kind, action) for kind in action.outputs)

    def name_existing(self, thing: Parameter) -> str:
        """Return the condition that prevents an action from running again for an existing object.

        It is not the type's own condition where that is hoped for: a `Document` may turn out to be a
        `SignedDocument`, and yet an action that signs must be part of the plan.
        """
        label = self.name_object(thing)
        return f"{label} already" if label in self._uncertain else label

    @cached_property
    def _uncertain(self) -> frozenset[str]:
        return frozenset(
            label
            for label, thing in self.things.items()
            if any(
                self.can_produce(action, thing) and not is_sure_to_produce(action, thing)
                for action in self._declared.actions
            )
        )

    def name_newest(self, kind: type) -> str:
        """Return the condition that the newest object is of the type."""
        return f"{self.name_type(kind)} is newest"


def can_produce(action: ActionMethod, thing: Parameter) -> bool:
    """Return whether the action may produce the object: an object of a declared type may be of any subclass."""
    kinds = action.gives if thing.binding == DEFAULT_BINDING else action.outputs if _is_bound(action, thing) else ()
    return any(_may_be(kind, thing) for kind in kinds)


def _may_be(kind: type, thing: Parameter) -> bool:
    return issubclass(thing.type, kind) or (not thing.exact and issubclass(kind, thing.type))


def is_sure_to_produce(action: ActionMethod, thing: Parameter) -> bool:
    """Return whether the action produces the object unless it returns `None`: an object is of all its superclasses."""
    if not action.outputs or thing.exact or not (thing.binding == DEFAULT_BINDING or _is_bound(action, thing)):
        return False
    return all(issubclass(output, thing.type) for output in action.outputs)


def _is_bound(action: ActionMethod, thing: Parameter) -> bool:
    return thing.binding == action.declared.output_binding
