"""Settings of an ensemble's team and runs in blueprints: delegation, constraints and budget."""

from __future__ import annotations

from tactician.blueprint.abilities import TypeText, find_type
from tactician.blueprint.builder import Builder
from tactician.blueprint.exporter import Exporter
from tactician.blueprint.models import list_fields
from tactician.blueprint.schema_base import Part, convert_type
from tactician.blueprint.settings import build_values, export_values
from tactician.documents.forms import form_of
from tactician.ensemble import Delegation, HierarchicalConstraints
from tactician.runs import Budget


@form_of(Budget, convert=convert_type, is_optional=True)
class BudgetPart(Part):
    """Limits of each run."""


@form_of(Delegation, convert=convert_type, is_optional=True)
class DelegationPart(Part):
    """Settings of delegations: how deep they may be, the functions that decide on each, and types of outputs."""

    output_types: tuple[TypeText, ...] | None = None


@form_of(HierarchicalConstraints, convert=convert_type, is_optional=True)
class ConstraintsPart(Part):
    """Limits on the delegations of a manager, by the roles of its workers."""


def build_budget(part: BudgetPart | None, builder: Builder) -> Budget | None:
    """Return the budget that a part describes."""
    return None if part is None else builder.attempt(lambda: Budget(**list_fields(part)), "budget")


def build_delegation(part: DelegationPart, builder: Builder) -> Delegation | None:
    """Return the settings of delegations that a part describes."""
    part_builder = builder.at("delegation")
    values = build_values(Delegation, part, part_builder)
    kinds = (find_type(name, part_builder, "outputTypes") for name in part.output_types or ())
    values["output_types"] = tuple(kind for kind in kinds if kind is not None)
    return part_builder.attempt(lambda: Delegation(**values))


def export_delegation(delegation: Delegation | None, exporter: Exporter) -> DelegationPart | None:
    """Return the part of settings of delegations."""
    if delegation is None:
        return None
    part_exporter = exporter.at("delegation")
    values = export_values(Delegation, delegation, part_exporter, without=("output_types",))
    values["output_types"] = (
        tuple(part_exporter.find_type_name(kind, "outputTypes") for kind in delegation.output_types) or None
    )
    return part_exporter.make(DelegationPart, values)


def build_constraints(part: ConstraintsPart | None) -> HierarchicalConstraints | None:
    """Return the constraints that a part describes."""
    return None if part is None else HierarchicalConstraints(**list_fields(part))
