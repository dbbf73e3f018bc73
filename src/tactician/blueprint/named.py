"""Blueprints of importable objects: `planned` agents, and `function`s that are Runnables."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Final, Literal, cast, get_args, get_origin

from pydantic import JsonValue, Secret, SecretBytes, SecretStr, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from tactician.agents import PlannedAgent, runnable
from tactician.agents.function import FunctionRunnable
from tactician.agents.planned.planned_agent import is_planned_class
from tactician.blueprint.blueprint import Blueprint, blueprint_type
from tactician.blueprint.builder import Builder
from tactician.blueprint.exporter import Exporter, blueprint_exporter
from tactician.blueprint.schema_base import Name
from tactician.grammar import add_article
from tactician.names import NameProblem, find_import_path
from tactician.secrets import has_secret, is_secret_name
from tactician.suggestions import find_closest
from tactician.tools.function import describe_validation_error
from tactician.tools.signature import resolve_hints

_MANY: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_SECRETS: Final = (Secret, SecretBytes, SecretStr)
_NO_SECRETS: Final = "it may be a secret; keep it out of the blueprint, with a default that reads the environment"


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
