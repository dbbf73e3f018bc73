"""Reads the signature of an action or a condition: what it needs from the blackboard, and what it gives."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, TypeGuard, Union, get_args, get_origin

from tactician.agents.declarations import by_name
from tactician.ai import Ai
from tactician.process import DEFAULT_BINDING, AgentProcess, Blackboard, OperationContext
from tactician.runs import RunContext

INFRASTRUCTURE: Mapping[type, Callable[[OperationContext], object]] = {
    Ai: lambda context: context.ai,
    OperationContext: lambda context: context,
    Blackboard: lambda context: context.blackboard,
    AgentProcess: lambda context: context.process,
    RunContext: lambda context: context.run,
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that the blackboard fills. One with a default keeps it when there is no object for it."""

    name: str
    type: type
    required: bool = True
    binding: str = DEFAULT_BINDING
    has_default: bool = False

    def find(self, blackboard: Blackboard) -> object | None:
        """The object for the parameter, or `None`."""
        if self.binding == DEFAULT_BINDING:
            return blackboard.last(self.type)
        return blackboard.named(self.binding, self.type)


@dataclass(frozen=True, slots=True)
class Signature:
    """What a method takes and gives.

    Attributes:
        parameters: what the blackboard fills.
        infrastructure: the parameters that get a service such as `Ai`.
        outputs: the types that it may return; empty when it returns no object.
    """

    parameters: tuple[Parameter, ...]
    infrastructure: Mapping[str, Callable[[OperationContext], object]]
    outputs: tuple[type, ...]

    @property
    def required(self) -> tuple[Parameter, ...]:
        """The parameters that must be on the blackboard."""
        return tuple(parameter for parameter in self.parameters if parameter.required)

    def arguments(self, context: OperationContext) -> dict[str, object] | None:
        """A value for each parameter; `None` when a required one is missing."""
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
    function: Callable[..., object], hints: Mapping[str, object], problems: list[str], *, returns: bool
) -> Signature:
    """The signature of a method. What is wrong with it is added to `problems`.

    Args:
        function: the method, as a plain function with `self`.
        hints: its resolved annotations.
        problems: grows by one sentence for each mistake.
        returns: whether it has to declare what it returns.
    """
    label = getattr(function, "__name__", repr(function))
    parameters: list[Parameter] = []
    infrastructure: dict[str, Callable[[OperationContext], object]] = {}
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        hint = hints.get(parameter.name)
        if parameter.kind in _NOT_BY_NAME:
            written = str(parameter).partition(":")[0]
            problems.append(f"{label}: parameter {written!r} cannot be filled by name; make it a plain parameter")
        elif hint is None:
            problems.append(f"{label}: parameter {parameter.name!r} has no type; annotate it with the type it needs")
        elif (read := _parameter(parameter, hint)) is None:
            problems.append(f"{label}: parameter {parameter.name!r} needs a class, not {_written(hint)}; {_REMEDY}")
        elif read.type in INFRASTRUCTURE:
            infrastructure[parameter.name] = INFRASTRUCTURE[read.type]
        else:
            parameters.append(read)
    problems.extend(_ambiguities(label, parameters))
    outputs = _outputs(label, hints, problems) if returns else ()
    return Signature(tuple(parameters), infrastructure, outputs)


_NOT_BY_NAME = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_REMEDY = "wrap it in a class of its own, so that the planner can tell it from others"


def _parameter(parameter: inspect.Parameter, hint: object) -> Parameter | None:
    members = _members(hint)
    kinds = [member for member in members if member is not NoneType]
    if len(kinds) != 1 or not _is_class(kind := kinds[0]):
        return None
    has_default = parameter.default is not parameter.empty
    binding = parameter.name if by_name in _marks(hint) else DEFAULT_BINDING
    return Parameter(parameter.name, kind, NoneType not in members and not has_default, binding, has_default)


def _ambiguities(label: str, parameters: Sequence[Parameter]) -> list[str]:
    by_type = [parameter.type for parameter in parameters if parameter.binding == DEFAULT_BINDING]
    twice = [kind for kind in dict.fromkeys(by_type) if by_type.count(kind) > 1]
    return [
        f"{label}: two parameters of type {kind.__name__} would get the same object; "
        f"write Annotated[{kind.__name__}, by_name] to bind them by name"
        for kind in twice
    ]


def _outputs(label: str, hints: Mapping[str, object], problems: list[str]) -> tuple[type, ...]:
    if "return" not in hints:
        problems.append(f"{label}: it does not say what it returns; annotate it, as in `-> Story` or `-> None`")
        return ()
    kinds = [member for member in _members(hints["return"]) if member is not NoneType]
    classes = tuple(kind for kind in kinds if _is_class(kind))
    others = (kind for kind in kinds if kind not in classes)
    problems.extend(f"{label}: it returns {_written(kind)}, which is no class; {_REMEDY}" for kind in others)
    return classes


def _is_class(hint: object) -> TypeGuard[type]:
    """Whether it can be told which objects are of it: not so for `list[Story]`, `Any`, a `TypedDict` ..."""
    if not isinstance(hint, type) or get_origin(hint) is not None:
        return False
    try:
        isinstance(None, hint) or issubclass(NoneType, hint)
    except TypeError:
        return False
    return True


def _members(hint: object) -> tuple[object, ...]:
    """The members of a union; the type itself when it is none. What `Annotated` adds is left out."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _members(get_args(hint)[0])
    if origin in (Union, UnionType):
        return tuple(member for one in get_args(hint) for member in _members(one))
    return (NoneType if hint is None else hint,)


def _marks(hint: object) -> tuple[object, ...]:
    """What `Annotated` adds, also inside a union."""
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *marks = get_args(hint)
        return (*_marks(inner), *marks)
    return tuple(mark for one in get_args(hint) for mark in _marks(one)) if origin in (Union, UnionType) else ()


def _written(hint: object) -> str:
    """As a person writes it: without the modules."""
    return re.sub(
        r"(?:[\w<>]+\.)+", "", hint.__name__ if isinstance(hint, type) and get_origin(hint) is None else str(hint)
    )
