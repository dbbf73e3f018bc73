"""Fields of a blueprint that are equal to their defaults."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import TypeVar

from tactician.agents.spec import AgentSpec
from tactician.blueprint.abilities import HandoffPart
from tactician.blueprint.agents import PLAIN, AgentFields
from tactician.blueprint.blueprint import Blueprint
from tactician.blueprint.constellations import (
    HierarchicalBlueprint,
    NetworkBlueprint,
    ParallelBlueprint,
    RouterBlueprint,
)
from tactician.blueprint.ensembles.task_parts import TaskPart
from tactician.blueprint.models import OptionsPart, ResponderPart, TracePart
from tactician.blueprint.named import PlannedBlueprint
from tactician.blueprint.schema_base import Part
from tactician.blueprint.turn_settings import ProviderPart
from tactician.llm.providers import PROVIDERS
from tactician.loop import Handoff
from tactician.text import snake_case

P = TypeVar("P", bound=Part)
_AWARENESS = inspect.signature(Handoff).parameters["awareness"].default


def remove_defaults(part: P) -> P:
    """Return a blueprint with the same behaviour and fewer fields, for comparison only."""
    plain = part.model_copy(update={name: _remove_defaults(getattr(part, name)) for name in type(part).model_fields})
    defaults = _find_defaults(plain)
    redundant = [name for name, value in defaults.items() if getattr(plain, name) in (value, "")]
    return plain.model_copy(update=dict.fromkeys(redundant)) if redundant else plain


def _remove_defaults(value: object) -> object:
    if isinstance(value, Part):
        plain = remove_defaults(value)
        return None if isinstance(plain, OptionsPart | TracePart) and not plain.to_data() else plain
    if isinstance(value, tuple):
        return tuple(map(_remove_defaults, value))
    if isinstance(value, Mapping):
        return {name: _remove_defaults(item) if isinstance(item, Part) else item for name, item in value.items()}
    return value


def _find_defaults(part: Part) -> Mapping[str, object]:
    """Return the defaults of the fields of a part, which may depend on other fields."""
    match part:
        case AgentFields():
            return _find_agent_defaults(part)
        case RouterBlueprint():
            return {"description": "; ".join(route.description for route in part.routes), "instructions": ""}
        case NetworkBlueprint():
            description = f"a discussion between {_list_labels(part.peers)}"
            return {"description": description, "concurrent": False, "mode": "discuss"}
        case ParallelBlueprint():
            return {"description": f"{_list_labels(part.members)}, all at once", "mode": "all"}
        case HierarchicalBlueprint():
            return {"description": "", "name": f"{part.executive.label}_Hierarchy"}
        case PlannedBlueprint():
            return {"arguments": {}}
        case TaskPart():
            return {"type": "task"}
        case HandoffPart():
            return {"awareness": _AWARENESS} if part.awareness else {}
        case ProviderPart():
            return {"filters": {}}
        case OptionsPart():
            return dict.fromkeys(("native_tools", "fallbacks", "instances"), ())
        case TracePart():
            return {"metadata": {}}
        case ResponderPart():
            return _find_responder_defaults(part)
    return {}


def _find_agent_defaults(part: AgentFields) -> Mapping[str, object]:
    text = part.instructions if isinstance(part.instructions, str) else None
    optional = (name for name in PLAIN if not AgentFields.model_fields[name].is_required())
    return {
        **{name: getattr(AgentSpec, name) for name in optional},
        "id": snake_case(part.name),
        "description": "" if text is None else text or part.name,
    }


def _find_responder_defaults(part: ResponderPart) -> Mapping[str, object]:
    if part.provider is None:
        return {"api_format": "openai-responses"}
    provider = next(
        (provider for name, provider in PROVIDERS.items() if _normalize(name) == _normalize(part.provider)), None
    )
    return {} if provider is None else {"api_key_env_var": provider.key_variable}


def _list_labels(blueprints: Iterable[Blueprint]) -> str:
    return ", ".join(blueprint.label for blueprint in blueprints)


def _normalize(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
