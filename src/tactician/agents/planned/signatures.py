"""Signatures of declared methods: inputs from the blackboard, and outputs."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import field
from types import NoneType
from typing import Any, TypeAlias, get_args, get_origin

from tactician.agents.planned.annotations import (
    describe_remedy,
    format_hint,
    is_class,
    list_classes,
    list_members,
    list_metadata,
)
from tactician.agents.planned.declarations import ACTION, CONDITION, COST, Resolver, by_name
from tactician.frozen import frozen
from tactician.process import Blackboard, OperationContext
from tactician.process.objects import DEFAULT_BINDING
from tactician.runs import RunParameter
from tactician.runs.context.parameters import find_run_parameter

Provide: TypeAlias = Callable[[OperationContext], object]


@frozen
class RunValueProvider:
    """Function that fills a parameter from the run of the method."""

    kind: RunParameter[object]

    def __call__(self, operation: OperationContext) -> object:
        """Return the object."""
        return self.kind.__from_run__(operation.run)


@frozen
class Parameter:
    """Parameter that the blackboard fills, or its default.

    An exact parameter takes only objects of the type itself: the state whose method is called, not a state derived from
        it.
    """

    name: str
    type: type
    required: bool = True
    binding: str = DEFAULT_BINDING
    has_default: bool = False
    exact: bool = False

    def find(self, blackboard: Blackboard) -> object | None:
        """Return the object for the parameter, or `None`."""
        if self.binding != DEFAULT_BINDING:
            return blackboard.find_named(self.binding, self.type)
        newest = blackboard.last(self.type)
        return None if self.exact and type(newest) is not self.type else newest


@frozen
class Signature:
    """Signature of a declared method.

    Attributes:
        parameters: the parameters that the blackboard fills.
        infrastructure: the parameters that get a service such as `Ai`.
        outputs: the types that it may return; empty when it returns no object.
        receiver: the state of the method, which the blackboard fills too.
    """

    parameters: tuple[Parameter, ...]
    infrastructure: Mapping[str, Provide] = field(default_factory=dict)
    outputs: tuple[type, ...] = ()
    receiver: Parameter | None = None

    @property
    def needs(self) -> tuple[Parameter, ...]:
        """All parameters that the blackboard fills."""
        return self.parameters if self.receiver is None else (self.receiver, *self.parameters)

    @property
    def required(self) -> tuple[Parameter, ...]:
        """The parameters that must have an object."""
        return tuple(parameter for parameter in self.needs if parameter.required)

    def collect_arguments(self, context: OperationContext) -> dict[str, object] | None:
        """Return a value for each parameter; `None` when a required parameter has no value."""
        values: dict[str, object] = {}
        for parameter in self.parameters:
            value = parameter.find(context.blackboard)
            if value is None and parameter.required:
                return None
            if value is not None or not parameter.has_default:
                values[parameter.name] = value
        for name, provide in self.infrastructure.items():
            values[name] = provide(context)
        return values


def read_signature(
    function: Callable[..., object],
    hints: Mapping[str, object],
    resolvers: Mapping[type, Provide],
    problems: list[str],
    label: str,
) -> Signature:
    """Return the parameters of a method. Mistakes are added to `problems`.

    Args:
        function: the method, as a plain function with `self`.
        hints: its resolved annotations.
        resolvers: what fills the parameters of these types, instead of the blackboard.
        problems: list that gets a sentence for each mistake.
        label: the name of the method in these sentences.
    """
    parameters: list[Parameter] = []
    infrastructure: dict[str, Provide] = {}
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        name, hint = parameter.name, hints.get(parameter.name)
        if parameter.kind in _NOT_BY_NAME:
            shown = str(parameter).partition(":")[0]
            problems.append(f"{label}: parameter {shown!r} cannot be filled by name; make it a plain parameter")
        elif hint is None:
            problems.append(f"{label}: parameter {name!r} has no type; annotate it with the type it needs")
        elif (provide := _find_provider(hint, resolvers)) is not None:
            infrastructure[name] = provide
        elif (read := _read_parameter(parameter, hint)) is None:
            problems.append(
                f"{label}: parameter {name!r} needs a class, not {format_hint(hint)}; {describe_remedy(hint)}"
            )
        else:
            parameters.append(read)
    problems.extend(_find_ambiguities(label, parameters))
    return Signature(tuple(parameters), infrastructure)


def read_outputs(hints: Mapping[str, object], problems: list[str], label: str) -> tuple[type, ...]:
    """Return the classes that an action may return. Mistakes are added to `problems`."""
    if "return" not in hints:
        problems.append(f"{label}: it has no return annotation; add an annotation, as in `-> Story` or `-> None`")
        return ()
    return list_classes(hints["return"], f"{label}: it returns", problems)


_NOT_BY_NAME = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _find_provider(hint: object, resolvers: Mapping[type, Provide]) -> Provide | None:
    """Return the function that fills a parameter instead of the blackboard, or `None`."""
    for mark in list_metadata(hint):
        if isinstance(mark, Resolver):
            return mark.provide
    kinds = [member for member in list_members(hint) if isinstance(member, type) and member is not NoneType]
    if len(kinds) != 1:
        return None
    if (resolver := resolvers.get(kinds[0])) is not None:
        return resolver
    return None if (parameter := find_run_parameter(kinds[0])) is None else RunValueProvider(parameter)


def _read_parameter(parameter: inspect.Parameter, hint: object) -> Parameter | None:
    members = list_members(hint)
    kinds = [member for member in members if member is not NoneType]
    if len(kinds) != 1 or not is_class(kind := kinds[0]):
        return None
    has_default = parameter.default is not parameter.empty
    binding = parameter.name if by_name in list_metadata(hint) else DEFAULT_BINDING
    return Parameter(parameter.name, kind, NoneType not in members and not has_default, binding, has_default)


def _find_ambiguities(label: str, parameters: Sequence[Parameter]) -> Iterator[str]:
    by_type = [parameter.type for parameter in parameters if parameter.binding == DEFAULT_BINDING]
    for kind in dict.fromkeys(by_type):
        if by_type.count(kind) > 1:
            yield (
                f"{label}: two parameters of type {kind.__name__} would get the same object; "
                f"write Annotated[{kind.__name__}, by_name] to bind them by name"
            )


def is_generator(function: Callable[..., object]) -> bool:
    """Return whether the function yields, so that there is no result to await."""
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def validate_return_type(function: Callable[..., object], hints: Mapping[str, object]) -> Iterator[str]:
    """Yield a sentence for each mistake in the return type of a method."""
    if is_generator(function):
        yield "it is a generator; return an object instead of yielding"
    elif hasattr(function, ACTION):
        return
    elif hasattr(function, CONDITION) and not _has_return_type(hints, bool):
        yield f"it returns {format_hint(hints['return'])}, and a condition holds or not; write `-> bool`"
    elif hasattr(function, COST) and not _has_return_type(hints, int, float):
        yield f"it returns {format_hint(hints['return'])}, and a cost is a number; write `-> float`"


def _has_return_type(hints: Mapping[str, object], *kinds: type) -> bool:
    hint = hints.get("return", kinds[0])
    if get_origin(hint) in (Awaitable, Coroutine):
        hint = get_args(hint)[-1]
    if hint in (Any, object):  # it does not say
        return True
    return all(isinstance(member, type) and issubclass(member, kinds) for member in list_members(hint))
