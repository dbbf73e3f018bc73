"""Any agent or constellation as JSON or YAML, and back."""

from tactician.blueprint.agents import AgentBlueprint, SupervisorBlueprint
from tactician.blueprint.blueprint import Blueprint, Node, blueprint_type
from tactician.blueprint.building import Builder
from tactician.blueprint.constellations import NetworkBlueprint, ParallelBlueprint, RouterBlueprint
from tactician.blueprint.definitions import blueprint_of, definition_of
from tactician.blueprint.hierarchies import HierarchicalBlueprint
from tactician.blueprint.limits import DEFAULT_LIMITS, Limits
from tactician.blueprint.named import FunctionBlueprint, PlannedBlueprint
from tactician.blueprint.references import Reference
from tactician.blueprint.snapshot import BlueprintWarning, Snapshot

__all__ = [
    "Blueprint",
    "AgentBlueprint",
    "RouterBlueprint",
    "SupervisorBlueprint",
    "NetworkBlueprint",
    "ParallelBlueprint",
    "HierarchicalBlueprint",
    "PlannedBlueprint",
    "FunctionBlueprint",
    "Reference",
    "blueprint_of",
    "definition_of",
    "BlueprintWarning",
    "Limits",
    "DEFAULT_LIMITS",
    "blueprint_type",
    "Node",
    "Builder",
    "Snapshot",
]
