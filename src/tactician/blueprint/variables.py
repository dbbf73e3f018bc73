"""`${NAME}` in the texts of a blueprint: environment variables, except possible secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast

from pydantic import ValidationError

from tactician.blueprint.permissions import BuildPermissions
from tactician.blueprint.schema_base import FILLED, Part, Pending
from tactician.documents.data import DEFAULT_DOCUMENT_LIMITS, DataPath
from tactician.documents.models import list_mistakes
from tactician.documents.scalars import parse_scalar
from tactician.documents.variables import Variable, escape_variables, substitute_variables
from tactician.errors import DocumentError
from tactician.secrets import holds_secret, is_secret_name

_OUR_OWN: Final = re.compile(r"(?:LLM_INSTANCES|ENABLED_PROVIDERS|(?:TACTICIAN|LANGFUSE)_\w*)")


def is_own_variable(name: str) -> bool:
    """Return whether Tactician reads the variable itself, whose value may hold keys."""
    return _OUR_OWN.fullmatch(name) is not None


P = TypeVar("P", bound=Part)
_NAMES_A_VARIABLE = "api_key_env_var"


def expand_variables(
    part: P, environment: Mapping[str, str], permissions: BuildPermissions
) -> tuple[P, Sequence[tuple[DataPath, str]]]:
    """Return the part with `${NAME}` and `${NAME:-default}` expanded, and the problems.

    `$${` is a plain `${`. Variables that may hold secrets are never expanded, as a model or a log would receive them.
    """
    expansion = _Expansion(environment, permissions)
    return cast("P", _map_texts(part, (), False, expansion.expand)), expansion.problems


@dataclass(slots=True)
class _Expansion:
    """Expansion of variables that collects the problems."""

    environment: Mapping[str, str]
    permissions: BuildPermissions
    problems: list[tuple[DataPath, str]] = field(default_factory=list)
    _room: int = DEFAULT_DOCUMENT_LIMITS.size
    _secret_descriptions: dict[str, str | None] = field(default_factory=dict)

    def expand(self, text: str, path: DataPath, is_name: bool) -> object:
        """Return the text with its variables expanded; for a number or a flag, the value."""
        before = len(self.problems)

        def replace(variable: Variable) -> str:
            try:
                return self._find_value(variable, is_name)
            except ValueError as error:
                self.problems.append((path, str(error)))
                return variable.text

        filled = substitute_variables(text, replace)
        if not isinstance(text, Pending) or len(self.problems) > before:
            return filled
        try:
            return parse_scalar(filled)
        except DocumentError as error:
            self.problems.append((path, error.problems[0].message))
            return filled

    def _find_value(self, variable: Variable, is_name: bool) -> str:
        """Return the value of a variable.

        Raises:
            ValueError: when it stands for nothing, or for what may be secret.
        """
        name = variable.name
        if not name:
            raise ValueError("write $${ where ${ is meant, or name a variable, as in ${NAME}")
        if is_name:
            raise ValueError(f"it is the name of a variable: write {name}, without ${{}}")
        if name not in self._secret_descriptions:
            self._secret_descriptions[name] = _describe_secret(name, self.environment)
        if (why := self._secret_descriptions[name]) is not None:
            raise ValueError(f"{why} may be a secret; only apiKeyEnvVar may name one")
        if (why_not := self.permissions.find_problem_of_variable(name)) is not None:
            raise ValueError(why_not)
        if (value := self.environment.get(name, variable.default)) is None:
            raise ValueError(f"the environment variable {name} is not set")
        if len(value) > self._room:
            raise ValueError(f"with it, the variables have more than {DEFAULT_DOCUMENT_LIMITS.size:,} characters")
        self._room -= len(value)
        return value


def fill_variables(
    part: P, environment: Mapping[str, str], permissions: BuildPermissions
) -> tuple[P | None, Sequence[tuple[DataPath, str]]]:
    """Return the part with its variables expanded and validated; `None` when a value does not fit."""
    expanded, problems = expand_variables(part, environment, permissions)
    if expanded is part:
        return part, problems
    try:
        filled = type(part).model_validate(expanded.to_data(), by_alias=True, by_name=False, context=FILLED)
    except ValidationError as error:
        paths = {path for path, _ in problems}
        return None, [*problems, *((path, why) for path, why in list_mistakes(error).items() if path not in paths)]
    return filled, problems


def escape_part(part: P) -> P:
    """Return the part with every `${` in its texts escaped."""
    return cast("P", _map_texts(part, (), False, lambda text, path, is_name: escape_variables(text)))


def _describe_secret(name: str, environment: Mapping[str, str]) -> str | None:
    """Return the part of a variable that may be secret, for messages, or `None`."""
    if is_secret_name(name) or is_own_variable(name):
        return f"${{{name}}}"
    return f"the value of ${{{name}}}" if name in environment and holds_secret(name, environment) else None


def _map_texts(value: object, path: DataPath, is_name: bool, change: Callable[[str, DataPath, bool], object]) -> object:
    """Return the value with its texts mapped; the same object when nothing changes."""
    if isinstance(value, str):
        return change(value, path, is_name) if "${" in value else value
    if isinstance(value, Part):
        return _map_part(value, path, change)
    if isinstance(value, Mapping):
        inner = {name: _map_texts(item, (*path, name), is_name, change) for name, item in value.items()}
        return inner if any(inner[name] is not value[name] for name in inner) else value
    if isinstance(value, Sequence):
        items = tuple(_map_texts(item, (*path, place), is_name, change) for place, item in enumerate(value))
        return items if any(item is not other for item, other in zip(items, value, strict=True)) else value
    return value


def _map_part(part: Part, path: DataPath, change: Callable[[str, DataPath, bool], object]) -> Part:
    changes = dict(_map_fields(part, path, change))
    return part.model_copy(update=changes) if changes else part


def _map_fields(
    part: Part, path: DataPath, change: Callable[[str, DataPath, bool], object]
) -> Iterator[tuple[str, object]]:
    for name, info in type(part).model_fields.items():
        value = getattr(part, name)
        if value is None or isinstance(value, int | float):
            continue
        changed = _map_texts(value, (*path, info.alias or name), name == _NAMES_A_VARIABLE, change)
        if changed is not value:
            yield name, changed
