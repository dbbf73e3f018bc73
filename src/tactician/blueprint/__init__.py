"""Any agent or constellation as JSON or YAML, and back."""

from tactician.agents import BLUEPRINTS, DEFINITIONS
from tactician.blueprint import definitions
from tactician.blueprint.agents import AgentBlueprint, SupervisorBlueprint
from tactician.blueprint.blueprint import Blueprint, Node, blueprint_type
from tactician.blueprint.builder import Builder
from tactician.blueprint.constellations import (
    HierarchicalBlueprint,
    NetworkBlueprint,
    ParallelBlueprint,
    RouterBlueprint,
)
from tactician.blueprint.definitions import create_blueprint, create_definition
from tactician.blueprint.differences import Difference, compare_blueprints
from tactician.blueprint.ensembles import EnsembleBlueprint
from tactician.blueprint.exporter import BlueprintWarning, Exporter, blueprint_exporter, export_blueprint
from tactician.blueprint.named import FunctionBlueprint, PlannedBlueprint
from tactician.blueprint.origin import DEFAULT_LIMITS, Limits
from tactician.blueprint.outline import Outline, build_outline
from tactician.blueprint.references import BlueprintRef, ResolvedBlueprint, resolve_references
from tactician.blueprint.registry import AgentRegistry
from tactician.blueprint.remote import RemoteBlueprint
from tactician.blueprint.schema import json_schema

__all__ = [
    "Blueprint",
    "AgentBlueprint",
    "RouterBlueprint",
    "SupervisorBlueprint",
    "NetworkBlueprint",
    "ParallelBlueprint",
    "HierarchicalBlueprint",
    "EnsembleBlueprint",
    "PlannedBlueprint",
    "FunctionBlueprint",
    "RemoteBlueprint",
    "BlueprintRef",
    "AgentRegistry",
    "json_schema",
    "resolve_references",
    "ResolvedBlueprint",
    "compare_blueprints",
    "Difference",
    "build_outline",
    "Outline",
    "create_blueprint",
    "create_definition",
    "BlueprintWarning",
    "Limits",
    "DEFAULT_LIMITS",
    "export_blueprint",
    "blueprint_type",
    "blueprint_exporter",
    "Node",
    "Builder",
    "Exporter",
]

# Agents declare these ports, since no layer knows those above it.
BLUEPRINTS.bind(export_blueprint)
DEFINITIONS.bind(definitions)
