"""Environment variables that override settings of `tactician.toml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from tactician.documents.models import list_mistakes
from tactician.documents.problems import Problems
from tactician.suggestions import did_you_mean

S = TypeVar("S", bound=BaseModel)
_PREFIX: Final = "TACTICIAN_"
_ELSEWHERE: Final = "models"
"""Table whose variables the models read, from an environment that a program may give."""
_NAMES: Final[Mapping[str, str]] = {
    "process.store": "TACTICIAN_STORE",
    "platform.personality": "TACTICIAN_PERSONALITY",
    "telemetry.capture": "TACTICIAN_CAPTURE",
    "models.default": "TACTICIAN_MODEL",
    "models.default_embedding": "TACTICIAN_EMBEDDING",
    "models.default_image": "TACTICIAN_IMAGE",
    "models.fallbacks": "TACTICIAN_FALLBACKS",
    "models.roles": "TACTICIAN_ROLES",
    "models.prices": "TACTICIAN_PRICES",
    "models.profiles": "TACTICIAN_PROFILES",
    "models.instances": "LLM_INSTANCES",
}
"""Variables that are not named by the table of their setting."""


def find_variable(setting: str) -> str | None:
    """Return the variable that overrides a setting such as `platform.ranking.attempts`; `None` for a setting without.

    A table of the router is a single variable, in JSON.
    """
    if (variable := _NAMES.get(setting)) is not None:
        return variable
    table, _, rest = setting.partition(".")
    if table != _ELSEWHERE:
        return f"{_PREFIX}{setting.replace('.', '_').upper()}"
    inner, _, name = rest.partition(".")
    return f"{_PREFIX}ROUTER_{name.partition('.')[0].upper()}" if inner == "router" and name else None


def apply_variables(settings: S, environment: Mapping[str, str]) -> S:
    """Return the settings, overridden by the variables of all tables but `[models]`. Empty variables are ignored.

    Raises:
        ConfigurationError: with every variable that does not exist or has a wrong value.
    """
    variables = {variable: path for path in _list_settings(type(settings)) if (variable := find_variable(path))}
    problems = Problems()
    for name in sorted(environment):
        if name not in variables and name.startswith(tuple(_list_prefixes(type(settings)))):
            problems.add(f"there is no such setting.{did_you_mean(name, variables)}", file=name)
    for variable, path in variables.items():
        if text := environment.get(variable, "").strip():
            settings = _override(settings, path.split("."), text, variable, problems)
    problems.check("The environment is wrong")
    return settings


def _list_prefixes(kind: type[BaseModel]) -> Iterator[str]:
    """Yield the beginnings of the variables of tables."""
    for name, field in kind.model_fields.items():
        if name != _ELSEWHERE and _find_table(field.annotation) is not None:
            yield f"{_PREFIX}{name.upper()}_"


def _list_settings(kind: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the paths of all settings that are no tables, except for models and tables that users name."""
    for name, field in kind.model_fields.items():
        if (table := _find_table(field.annotation)) is not None and name != _ELSEWHERE:
            yield from _list_settings(table, f"{prefix}{name}.")
        elif prefix and table is None:
            yield f"{prefix}{name}"


def _find_table(annotation: object) -> type[BaseModel] | None:
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _override(settings: S, path: list[str], text: str, variable: str, problems: Problems) -> S:
    name, *inner = path
    if inner:
        value: object = _override(getattr(settings, name), inner, text, variable, problems)
    else:
        try:
            value = getattr(type(settings).model_validate({name: text}), name)
        except ValidationError as error:
            for message in list_mistakes(error).values():
                problems.add(message, file=variable)
            return settings
    return settings.model_copy(update={name: value})
