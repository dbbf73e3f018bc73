"""Fields of a blueprint that are equal to their defaults."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, TypeVar, cast, get_args, get_origin

from pydantic import JsonValue, Secret, SecretBytes, SecretStr, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from tactician.agents import PlannedAgent, runnable
from tactician.agents.function import FunctionRunnable
from tactician.agents.planned.planned_agent import is_planned_class
from tactician.agents.spec import AgentSpec
from tactician.blueprint.abilities import HandoffPart
from tactician.blueprint.agents import PLAIN, AgentFields
from tactician.blueprint.blueprint import Blueprint, blueprint_type
from tactician.blueprint.builder import Builder
from tactician.blueprint.constellations import (
    HierarchicalBlueprint,
    NetworkBlueprint,
    ParallelBlueprint,
    RouterBlueprint,
)
from tactician.blueprint.ensembles.task_parts import TaskPart
from tactician.blueprint.exporter import Exporter, blueprint_exporter
from tactician.blueprint.models import OptionsPart, ResponderPart, TracePart
from tactician.blueprint.schema_base import Name, Part
from tactician.blueprint.turn_settings import ProviderPart
from tactician.grammar import add_article
from tactician.llm.providers import PROVIDERS
from tactician.loop import Handoff
from tactician.names import NameProblem, find_import_path
from tactician.secrets import has_secret, is_secret_name
from tactician.suggestions import find_closest
from tactician.text import snake_case
from tactician.tools.function import describe_validation_error
from tactician.tools.signature import resolve_hints

_MANY: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_SECRETS: Final = (Secret, SecretBytes, SecretStr)
_NO_SECRETS: Final = "it may be a secret; keep it out of the blueprint, with a default that reads the environment"
P = TypeVar("P", bound=Part)
_AWARENESS = inspect.signature(Handoff).parameters["awareness"].default


@blueprint_type("planned")
class PlannedBlueprint(Blueprint):
    """Blueprint of an instance of a `@planned_agent` class, with its arguments."""

    type: Literal["planned"] = "planned"
    class_name: Name
    arguments: Mapping[str, JsonValue] | None = None

    @property
    def label(self) -> str:
        """Name in messages."""
        return self.class_name.rpartition(".")[2]

    def build_with(self, builder: Builder) -> PlannedAgent | None:
        """Return the agent."""
        kind = builder.attempt(
            lambda: _find_planned_class(builder.names.find(self.class_name), self.class_name), "className"
        )
        if kind is None:
            return None
        arguments = _list_arguments(kind, self.arguments or {}, builder.at("arguments"))
        return builder.attempt(lambda: PlannedAgent(kind(**arguments)))


@blueprint_exporter(PlannedAgent)
def export_planned(agent: PlannedAgent, exporter: Exporter) -> PlannedBlueprint | None:
    """Return the blueprint of a planned agent, with the attributes that have the names of arguments."""
    kind = type(agent.instance)
    name = exporter.find_import_path(kind, f"the class {kind.__name__}", "className")
    arguments = dict(_export_arguments(agent.instance, exporter.at("arguments")))
    return exporter.make(PlannedBlueprint, {"class_name": name or kind.__name__, "arguments": arguments or None})


@blueprint_type("function")
class FunctionBlueprint(Blueprint):
    """Blueprint of a function as a Runnable: `runnable(f)`, or `f` itself."""

    type: Literal["function"] = "function"
    function_name: Name
    name: Name | None = None
    description: str | None = None

    @property
    def label(self) -> str:
        """Name in messages."""
        return self.name or self.function_name.rpartition(".")[2]

    def build_with(self, builder: Builder) -> FunctionRunnable[object] | None:
        """Return the function as a Runnable."""
        return builder.attempt(lambda: self._of(builder.names.find(self.function_name)), "functionName")

    def _of(self, value: object) -> FunctionRunnable[object]:
        if isinstance(value, FunctionRunnable) and self.name is None and self.description is None:
            return value
        function = value.__wrapped__ if isinstance(value, FunctionRunnable) else value
        if not inspect.iscoroutinefunction(function):
            raise NameProblem(f"{self.function_name!r} is not an async function")
        return runnable(function, name=self.name, description=self.description)


@blueprint_exporter(FunctionRunnable)
def export_function(function: FunctionRunnable[object], exporter: Exporter) -> FunctionBlueprint | None:
    """Return the blueprint of a function."""
    if (path := find_import_path(function)) is None:
        exporter.add_problem(f"no import finds the function {function.name}; define it in a module")
        return None
    default = FunctionRunnable.of(function.__wrapped__)
    fields = {
        "function_name": path,
        "name": function.name if function.name != default.name else None,
        "description": function.description if function.description != default.description else None,
    }
    return exporter.make(FunctionBlueprint, fields)


def _find_planned_class(value: object, name: str) -> type:
    if not (isinstance(value, type) and is_planned_class(value)):
        raise NameProblem(f"{name!r} is not a class with @planned_agent")
    return value


def _list_arguments(kind: type, arguments: Mapping[str, JsonValue], builder: Builder) -> dict[str, object]:
    """Return the parameters of a class, as declared."""
    parameters = inspect.signature(kind).parameters
    hints = builder.attempt(lambda: resolve_hints(vars(kind).get("__init__", kind), {})) or {}
    for name in arguments.keys() - parameters.keys():
        meant = find_closest(name, parameters)
        builder.add_problem(f"there is no such argument{f'; did you mean {meant!r}?' if meant else ''}", name)
    values: dict[str, object] = {}
    for name, parameter in parameters.items():
        if name in arguments and _may_be_secret(name, arguments[name], hints.get(name)):
            builder.add_problem(_NO_SECRETS, name)
        elif name in arguments:
            values[name] = _read(hints.get(name, object), arguments[name], builder.at(name))
        elif parameter.default is parameter.empty and parameter.kind not in _MANY:
            builder.add_problem(f"{kind.__name__} needs it", name)
    return values


def _read(hint: object, value: JsonValue, builder: Builder) -> object:
    try:
        adapter: TypeAdapter[object] = TypeAdapter(cast("type[object]", hint))
        return adapter.validate_python(value)
    except ValidationError as error:
        builder.add_problem(describe_validation_error(error))
    except (PydanticSchemaGenerationError, PydanticUserError):
        builder.add_problem("its type has no JSON form")
    return None


def _export_arguments(instance: object, exporter: Exporter) -> Iterator[tuple[str, JsonValue]]:
    """Yield the arguments of an object that differ from their defaults."""
    for name, parameter in inspect.signature(type(instance)).parameters.items():
        value = getattr(instance, name, getattr(instance, f"_{name}", parameter.empty))
        if value is parameter.empty:
            exporter.add_problem(f"no attribute {name!r} has the argument of that name", name)
        elif parameter.default is parameter.empty or value != parameter.default:
            try:
                data = to_jsonable_python(value)
            except PydanticSerializationError:
                exporter.add_problem(f"{add_article(type(value).__name__)} has no JSON form", name)
                continue
            if _may_be_secret(name, data, type(value)):
                exporter.add_problem(_NO_SECRETS, name)
            else:
                yield name, data


def _may_be_secret(name: str, value: JsonValue, kind: object) -> bool:
    if value is None or isinstance(value, bool):
        return False
    return is_secret_name(name) or _is_of_secrets(kind) or has_secret(value)


def _is_of_secrets(kind: object) -> bool:
    plain = get_origin(kind) or kind
    return (isinstance(plain, type) and issubclass(plain, _SECRETS)) or any(map(_is_of_secrets, get_args(kind)))


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
