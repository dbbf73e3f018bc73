"""`${NAME}` in the texts of a blueprint: what the environment says, except for what is secret."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

from pydantic import ValidationError

from tactician.blueprint.parts import Part, mistakes_of
from tactician.blueprint.pending import FILLED, Pending
from tactician.blueprint.places import Path
from tactician.blueprint.secrecy import holds_secret, is_own_variable, is_secret_name
from tactician.blueprint.texts import Unreadable
from tactician.blueprint.yaml_texts import plain

P = TypeVar("P", bound=Part)
_VARIABLE = re.compile(r"\$(\$)?\{(?:([A-Za-z_]\w*)(?::-([^}]*))?\})?")
_NAMES_A_VARIABLE = "api_key_env_var"


def expanded(part: P, environment: Mapping[str, str]) -> tuple[P, Sequence[tuple[Path, str]]]:
    """The same part with what `${NAME}` and `${NAME:-otherwise}` stand for, and what is wrong with them.

    `$${` is a plain `${`. The names of variables that hold secrets say what they say, and nothing stands for a secret:
    a model or a log would be told.
    """
    problems: list[tuple[Path, str]] = []

    def expand(text: str, path: Path, is_name: bool) -> str:
        def value(match: re.Match[str]) -> str:
            escaped, name, otherwise = match.groups()
            if escaped:
                return match[0].removeprefix("$")
            if name is None:
                problems.append((path, "write $${ where ${ is meant, or name a variable, as in ${NAME}"))
            elif is_name:
                problems.append((path, f"it is the name of a variable: write {name}, without ${{}}"))
            elif (why := _secrecy(name, environment)) is not None:
                problems.append((path, f"{why} may be a secret; only apiKeyEnvVar names those"))
            elif (found := environment.get(name, otherwise)) is not None:
                return found
            else:
                problems.append((path, f"the environment variable {name} is not set"))
            return match[0]

        return _VARIABLE.sub(value, text)

    def filled(text: str, path: Path, is_name: bool) -> object:
        before, said = len(problems), expand(text, path, is_name)
        if not isinstance(text, Pending) or len(problems) > before:
            return said
        try:
            return plain(said)
        except Unreadable as error:
            problems.append((path, str(error)))
            return said

    return cast("P", _mapped(part, (), False, filled)), problems


def checked(part: P, environment: Mapping[str, str]) -> tuple[P | None, Sequence[tuple[Path, str]]]:
    """What `expanded` gives, where that may stand there: else nothing."""
    said, problems = expanded(part, environment)
    if said is part:
        return part, problems
    try:
        made = type(part).model_validate(said.to_data(), by_alias=True, by_name=False, context=FILLED)
    except ValidationError as error:
        told = {path for path, _ in problems}
        return None, [*problems, *((path, why) for path, why in mistakes_of(error).items() if path not in told)]
    return made, problems


def escaped(part: P) -> P:
    """The same part, in whose texts every `${` is to be taken as it is."""
    return cast("P", _mapped(part, (), False, lambda text, path, is_name: _VARIABLE.sub(r"$\g<0>", text)))


def _secrecy(name: str, environment: Mapping[str, str]) -> str | None:
    """What of a variable may be a secret."""
    if is_secret_name(name) or is_own_variable(name):
        return f"${{{name}}}"
    return f"what ${{{name}}} says" if name in environment and holds_secret(name, environment) else None


def _mapped(value: object, path: Path, is_name: bool, change: Callable[[str, Path, bool], object]) -> object:
    """The value itself where nothing in it changes."""
    if isinstance(value, str):
        return change(value, path, is_name) if "${" in value else value
    if isinstance(value, Part):
        return _changed(value, path, change)
    if isinstance(value, Mapping):
        inner = {name: _mapped(one, (*path, name), is_name, change) for name, one in value.items()}
        return inner if any(inner[name] is not value[name] for name in inner) else value
    if isinstance(value, Sequence):
        items = tuple(_mapped(one, (*path, place), is_name, change) for place, one in enumerate(value))
        return items if any(one is not other for one, other in zip(items, value, strict=True)) else value
    return value


def _changed(part: Part, path: Path, change: Callable[[str, Path, bool], object]) -> Part:
    changes = dict(_changes(part, path, change))
    return part.model_copy(update=changes) if changes else part


def _changes(part: Part, path: Path, change: Callable[[str, Path, bool], object]) -> Iterator[tuple[str, object]]:
    for name, field in type(part).model_fields.items():
        value = getattr(part, name)
        if value is None or isinstance(value, int | float):
            continue
        changed = _mapped(value, (*path, field.alias or name), name == _NAMES_A_VARIABLE, change)
        if changed is not value:
            yield name, changed
