"""Settings of an ensemble's team and runs in blueprints: delegation, constraints and budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tactician.blueprint.abilities import TypeText, find_type
from tactician.blueprint.builder import Builder
from tactician.blueprint.ensembles.functions import export_function
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.functions import find_function
from tactician.blueprint.models import list_fields
from tactician.blueprint.schema_base import Count, Name, Number, Part, Positive
from tactician.ensemble import Delegation, HierarchicalConstraints
from tactician.runs import Budget


class BudgetPart(Part):
    """Limits of each run."""

    cost: Number | None = None
    tokens: Count | None = None
    turns: Count | None = None
    seconds: Number | None = None
    actions: Count | None = None


class DelegationPart(Part):
    """Settings of delegations: how deep they may be, the functions that decide on each, and types of outputs."""

    max_depth: Positive | None = None
    policies: tuple[Name, ...] | None = None
    output_types: tuple[TypeText, ...] | None = None


class ConstraintsPart(Part):
    """Limits on the delegations of a manager, by the roles of its workers."""

    required_workers: tuple[Name, ...] | None = None
    allowed_workers: tuple[Name, ...] | None = None
    max_calls_per_worker: Mapping[str, Count] | None = None
    max_delegations: Count | None = None
    stages: tuple[tuple[Name, ...], ...] | None = None


def build_budget(part: BudgetPart | None, builder: Builder) -> Budget | None:
    """Return the budget that a part describes."""
    return None if part is None else builder.attempt(lambda: Budget(**list_fields(part)), "budget")


def export_budget(budget: Budget | None, exporter: Exporter) -> BudgetPart | None:
    """Return the part of a budget."""
    return None if budget is None else exporter.make(BudgetPart, asdict(budget))


def build_delegation(part: DelegationPart, builder: Builder) -> Delegation | None:
    """Return the settings of delegations that a part describes."""
    here = builder.at("delegation")
    named = (find_function(name, here, "policies", place) for place, name in enumerate(part.policies or ()))
    policies = tuple(policy for policy in named if policy is not None)
    kinds = (find_type(name, here, "outputTypes") for name in part.output_types or ())
    types = tuple(kind for kind in kinds if kind is not None)
    depth: dict[str, Any] = {} if part.max_depth is None else {"max_depth": part.max_depth}
    return here.attempt(lambda: Delegation(policies=policies, output_types=types, **depth))


def export_delegation(delegation: Delegation | None, exporter: Exporter) -> DelegationPart | None:
    """Return the part of settings of delegations."""
    if delegation is None:
        return None
    here = exporter.at("delegation")
    policies = tuple(
        export_function(policy, here, "policies", place) for place, policy in enumerate(delegation.policies)
    )
    values = {
        "max_depth": delegation.max_depth if delegation.max_depth != Delegation().max_depth else None,
        "policies": policies or None,
        "output_types": tuple(here.find_type_name(kind, "outputTypes") for kind in delegation.output_types) or None,
    }
    return here.make(DelegationPart, values)


def build_constraints(part: ConstraintsPart | None) -> HierarchicalConstraints | None:
    """Return the constraints that a part describes."""
    return None if part is None else HierarchicalConstraints(**list_fields(part))


def export_constraints(constraints: HierarchicalConstraints | None) -> ConstraintsPart | None:
    """Return the part of constraints."""
    if constraints is None:
        return None
    return ConstraintsPart(
        required_workers=tuple(sorted(constraints.required_workers)) or None,
        allowed_workers=tuple(sorted(constraints.allowed_workers)) or None,
        max_calls_per_worker=dict(constraints.max_calls_per_worker) or None,
        max_delegations=constraints.max_delegations or None,
        stages=tuple(map(tuple, constraints.stages)) or None,
    )
