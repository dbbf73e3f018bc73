"""`@component`: a class that contributes actions to the platform, not to a single agent."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar, overload

from tactician.agents.planned.compilation import compile_classes
from tactician.agents.planned.declarations import Planner
from tactician.agents.planned.methods import Source
from tactician.agents.planned.planned_agent import PlannedAgent, find_declared_source
from tactician.agents.planned.signatures import Provide
from tactician.errors import DeclarationError
from tactician.frozen import frozen
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.prompts import LlmReference, PromptContributor
from tactician.prompts.contributor_adapters import ContributorLike, as_contributor, check_reference
from tactician.tools.signature import find_caller_namespace

C = TypeVar("C", bound=type)
COMPONENT: Final = "__tactician_component__"


@frozen
class _Component:
    """Declaration of `@component`."""

    namespace: Mapping[str, object]
    resolvers: Mapping[type, Provide]
    contributors: tuple[PromptContributor, ...]


@overload
def component(owner: C, /) -> C: ...


@overload
def component(
    *,
    resolvers: Mapping[type, Provide] | None = None,
    references: Sequence[LlmReference] = (),
    contributors: Sequence[ContributorLike] = (),
) -> Callable[[C], C]: ...


def component(
    owner: C | None = None,
    /,
    *,
    resolvers: Mapping[type, Provide] | None = None,
    references: Sequence[LlmReference] = (),
    contributors: Sequence[ContributorLike] = (),
) -> C | Callable[[C], C]:
    """Declare a class whose actions, goals and conditions are available to everything that a platform plans.

    Args:
        owner: the class, when used without parentheses.
        resolvers: functions that fill parameters of these types, instead of the blackboard.
        references: references for the models of all actions.
        contributors: further parts of the instructions of these models.
    """
    parts = (*map(as_contributor, contributors), *map(check_reference, references))
    declared = _Component(find_caller_namespace(1), resolvers or {}, parts)

    def mark(marked: C) -> C:
        setattr(marked, COMPONENT, declared)
        return marked

    return mark if owner is None else mark(owner)


def is_component(value: object) -> bool:
    """Return whether the value is an instance of a `@component` class."""
    return is_component_class(type(value))


def is_component_class(kind: type) -> bool:
    """Return whether a class is decorated with `@component`."""
    return isinstance(getattr(kind, COMPONENT, None), _Component)


def combine_specs(
    instances: Sequence[object],
    *,
    name: str = "Platform",
    description: str = "Does whatever is worth most",
    planner: Planner = Planner.UTILITY,
) -> PlannedAgentSpec:
    """Return an agent with all actions, goals and conditions of components and planned agents.

    An action's name begins with its class's name, as in `IssueActions.label`; with its full name, where two classes
    have the same.

    Raises:
        DeclarationError: with every mistake, or when an object is neither.
    """
    sources = [_source(instance) for instance in instances]
    return compile_classes(sources, name, description, planner, needs_goal=False)


class ComponentAgent(PlannedAgent):
    """Component as an agent of its own."""


def build_component_agent(instance: object) -> ComponentAgent:
    """Return a component as an agent of its own, named like its class, which runs the most valuable action.

    Raises:
        DeclarationError: with every mistake.
    """
    kind = type(instance)
    summary = (inspect.getdoc(kind) or kind.__name__).splitlines()[0]
    return ComponentAgent.of(combine_specs([instance], name=kind.__name__, description=summary).of(instance))


def _source(instance: object) -> Source:
    kind = type(instance)
    declared = getattr(kind, COMPONENT, None)
    if isinstance(declared, _Component):
        prefix, parts = f"{kind.__name__}.", declared.contributors
        return Source(kind, declared.namespace, declared.resolvers, prefix, instance, contributors=parts)
    if (source := find_declared_source(instance)) is not None:
        return source
    raise DeclarationError(kind.__name__, ["decorate the class with @component"])
