"""Any agent or constellation as JSON or YAML, and back."""

from tactician.agents import BLUEPRINTS, DEFINITIONS
from tactician.blueprint import definitions
from tactician.blueprint.agents import AgentBlueprint, SupervisorBlueprint
from tactician.blueprint.blueprint import Blueprint, Node, blueprint_type
from tactician.blueprint.building import Builder
from tactician.blueprint.constellations import NetworkBlueprint, ParallelBlueprint, RouterBlueprint
from tactician.blueprint.definitions import blueprint_of, definition_of
from tactician.blueprint.differences import Difference, differences_between
from tactician.blueprint.following import Followed, followed
from tactician.blueprint.hierarchies import HierarchicalBlueprint
from tactician.blueprint.limits import DEFAULT_LIMITS, Limits
from tactician.blueprint.named import FunctionBlueprint, PlannedBlueprint
from tactician.blueprint.outline import Outline, outline_of
from tactician.blueprint.references import Reference
from tactician.blueprint.registry import AgentRegistry
from tactician.blueprint.schema import json_schema
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
    "AgentRegistry",
    "json_schema",
    "followed",
    "Followed",
    "differences_between",
    "Difference",
    "outline_of",
    "Outline",
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

# Agents declare these ports, since no layer knows those above it.
BLUEPRINTS.bind(Blueprint.of)
DEFINITIONS.bind(definitions)
