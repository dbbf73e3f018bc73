"""Any agent or constellation as JSON or YAML, and back."""

from tactician.agents.base import BLUEPRINTS
from tactician.agents.definition import DEFINITIONS
from tactician.blueprint import agents, constellations, definitions, remote
from tactician.blueprint import defaults as named
from tactician.blueprint.blueprint import Blueprint, blueprint_type
from tactician.blueprint.builder import Builder
from tactician.blueprint.differences import compare_blueprints
from tactician.blueprint.ensembles import ensemble, ensemble_exporter
from tactician.blueprint.exporter import BlueprintWarning, Exporter, blueprint_exporter, export_blueprint
from tactician.blueprint.origin import Limits
from tactician.blueprint.outline import build_outline
from tactician.blueprint.registry import AgentRegistry
from tactician.blueprint.schema import json_schema
from tactician.late_imports import load_modules

__all__ = [
    "AgentRegistry",
    "Blueprint",
    "BlueprintWarning",
    "Builder",
    "Exporter",
    "Limits",
    "blueprint_exporter",
    "blueprint_type",
    "build_outline",
    "compare_blueprints",
    "export_blueprint",
    "json_schema",
]

_FAMILIES = (agents, constellations, ensemble, ensemble_exporter, named, remote)
"""The modules whose import registers the types of blueprints."""

# Agents declare these ports, since no layer knows those above it.
BLUEPRINTS.bind(export_blueprint)
DEFINITIONS.bind(definitions)
load_modules("kinds of blueprints")
