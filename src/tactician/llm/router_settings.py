"""Settings of models from environment variables: a variable for every field of `[models]` and of `[models.router]`."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from tactician.config import ModelSettings
from tactician.config.model_settings import RouterSettings
from tactician.documents.data import Data
from tactician.documents.document import read_document
from tactician.documents.models import DocumentModel, list_mistakes
from tactician.documents.problems import Problems
from tactician.errors import DocumentError
from tactician.suggestions import did_you_mean

ROUTER_PREFIX = "TACTICIAN_ROUTER_"
MODEL_VARIABLES: Mapping[str, str] = {
    "TACTICIAN_ROLES": "roles",
    "TACTICIAN_FALLBACKS": "fallbacks",
    "TACTICIAN_PRICES": "prices",
    "TACTICIAN_PROFILES": "profiles",
}
"""Fields of `[models]` by their variables, except those that have a reason to show: the defaults and the instances."""
_TABLES = ("retries", "circuit_breaker", *MODEL_VARIABLES.values())


def apply_environment(settings: ModelSettings, environment: Mapping[str, str]) -> ModelSettings:
    """Return the settings, overridden by `MODEL_VARIABLES` and `TACTICIAN_ROUTER_<SETTING>`.

    Tables are written in JSON. Empty variables are ignored.

    Raises:
        ConfigurationError: with every variable that does not exist or has a wrong value.
    """
    problems = Problems()
    router = {
        name: _read_setting(RouterSettings, name, variable, text, problems)
        for variable, text in sorted(environment.items())
        if (name := _find_router_field(variable, text, problems)) is not None
    }
    changes: dict[str, object] = {
        name: _read_setting(ModelSettings, name, variable, text, problems)
        for variable, name in MODEL_VARIABLES.items()
        if (text := environment.get(variable, "").strip())
    }
    problems.check("The environment is wrong")
    return settings.model_copy(update={**changes, "router": settings.router.model_copy(update=router)})


def _find_router_field(variable: str, text: str, problems: Problems) -> str | None:
    """Return the field of `[models.router]` that a variable sets, or add the problem with its name."""
    if not variable.startswith(ROUTER_PREFIX) or not text.strip():
        return None
    name = variable.removeprefix(ROUTER_PREFIX).lower()
    if name in RouterSettings.model_fields:
        return name
    variable_names = [f"{ROUTER_PREFIX}{field.upper()}" for field in RouterSettings.model_fields]
    problems.add(f"there is no such setting.{did_you_mean(variable, variable_names)}", file=variable)
    return None


def _read_setting(kind: type[DocumentModel], name: str, variable: str, text: str, problems: Problems) -> object:
    """Return the value of a settings field in a variable, or add the problem with it."""
    try:
        value: Data = read_document(text, "json").data if name in _TABLES else text.strip()
        return getattr(kind.model_validate({name: value}), name)
    except DocumentError as error:
        problems.include(error, variable)
    except ValidationError as error:
        for path, message in list_mistakes(error).items():
            problems.add(message, *path[1:], file=variable)
    return None
