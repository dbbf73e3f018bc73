"""Router settings from environment variables."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from tactician.config import ModelSettings, RouterSettings
from tactician.documents import Data, DocumentModel, Problems, did_you_mean, list_mistakes, read_document
from tactician.errors import DocumentError

ROUTER_PREFIX = "TACTICIAN_ROUTER_"
FALLBACKS_VARIABLE = "TACTICIAN_FALLBACKS"
_TABLES = ("retries", "circuit_breaker", "fallbacks")


def apply_environment(settings: ModelSettings, environment: Mapping[str, str]) -> ModelSettings:
    """Return the settings, overridden by `TACTICIAN_FALLBACKS` and `TACTICIAN_ROUTER_<SETTING>`.

    Tables are written in JSON. Empty variables are ignored.

    Raises:
        ConfigurationError: with every variable that does not exist or has a wrong value.
    """
    problems = Problems()
    router = {
        name.removeprefix(ROUTER_PREFIX).lower(): _read_setting(RouterSettings, ROUTER_PREFIX, name, text, problems)
        for name, text in sorted(environment.items())
        if name.startswith(ROUTER_PREFIX) and text.strip()
    }
    changes: dict[str, object] = {"router": settings.router.model_copy(update=router)}
    if text := environment.get(FALLBACKS_VARIABLE, "").strip():
        changes["fallbacks"] = _read_setting(ModelSettings, "TACTICIAN_", FALLBACKS_VARIABLE, text, problems)
    problems.check("The environment is wrong")
    return settings.model_copy(update=changes)


def _read_setting(kind: type[DocumentModel], prefix: str, variable: str, text: str, problems: Problems) -> object:
    """Return the value of a settings field in a variable, or add the problem with it."""
    name = variable.removeprefix(prefix).lower()
    if name not in kind.model_fields:
        known = [f"{prefix}{field.upper()}" for field in kind.model_fields]
        problems.add(f"there is no such setting.{did_you_mean(variable, known)}", file=variable)
        return None
    try:
        value: Data = read_document(text, "json").data if name in _TABLES else text.strip()
        return getattr(kind.model_validate({name: value}), name)
    except DocumentError as error:
        problems.include(error, variable)
    except ValidationError as error:
        for path, message in list_mistakes(error).items():
            problems.add(message, *path[1:], file=variable)
    return None
