"""`LLM_INSTANCES`: the endpoints that a deployment configures, as a JSON list."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import AliasGenerator, BaseModel, ConfigDict, SecretStr, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from tactician.errors import ConfigurationError
from tactician.llm.providers import PROVIDERS
from tactician.llm.remote import Endpoint

VARIABLE = "LLM_INSTANCES"
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Instance:
    """An endpoint and the models that it serves."""

    id: str
    provider: str
    endpoint: Endpoint = field(repr=False)
    models: tuple[str, ...]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="ignore", alias_generator=AliasGenerator(to_camel), populate_by_name=True)

    id: str
    url: str
    models: str
    provider: str
    key: SecretStr | None = None
    api_version: str | None = None
    enabled: bool = True


def parse_instances(text: str, environment: Mapping[str, str] = os.environ) -> tuple[Instance, ...]:
    """The enabled instances in a JSON list.

    `${NAME}` in a key, URL, list of models or API version stands for an environment variable.

    Raises:
        ConfigurationError: with every mistake in the list. No message holds a key.
    """
    problems: list[str] = []
    entries = _entries(text, problems)
    instances = [_instance(entry, environment, problems) for entry in entries if entry.enabled]
    ids = [instance.id for instance in instances if instance]
    problems += [f"{twice}: the id is used twice" for twice in sorted({one for one in ids if ids.count(one) > 1})]
    if problems:
        raise _invalid(problems)
    return tuple(instance for instance in instances if instance)


def _entries(text: str, problems: list[str]) -> list[_Entry]:
    """The entries that are complete; a problem for each mistake in the others."""
    try:
        listed = TypeAdapter(list[dict[str, object]]).validate_json(text)
    except ValidationError as error:
        problems += _problems(error)
        return []
    entries = []
    for position, values in enumerate(listed):
        try:
            entries.append(_Entry.model_validate(values))
        except ValidationError as error:
            problems += _problems(error, position)
    return entries


def _problems(error: ValidationError, *place: int) -> list[str]:
    return [f"{'.'.join(map(str, (*place, *e['loc']))) or 'it'}: {e['msg']}" for e in error.errors(include_input=False)]


def _invalid(problems: Sequence[str]) -> ConfigurationError:
    return ConfigurationError(f"{VARIABLE} is not valid:" + "".join(f"\n  - {problem}" for problem in problems))


def _instance(entry: _Entry, environment: Mapping[str, str], problems: list[str]) -> Instance | None:
    def resolve(value: str) -> str:
        unset = [name for name in _REFERENCE.findall(value) if name not in environment]
        problems.extend(f"{entry.id}: the environment variable {name} is not set" for name in unset)
        return _REFERENCE.sub(lambda match: environment.get(match[1], ""), value)

    provider = PROVIDERS.get(entry.provider)
    if provider is None:
        problems.append(f"{entry.id}: unknown provider {entry.provider!r}; known are {', '.join(PROVIDERS)}")
        return None
    if provider.sends_api_version and not entry.api_version:
        problems.append(f"{entry.id}: {provider.name} needs apiVersion")
    key = resolve(entry.key.get_secret_value()) if entry.key is not None else None
    version = resolve(entry.api_version) if entry.api_version else None
    endpoint = provider.endpoint(key, resolve(entry.url), name=entry.id, api_version=version)
    models = tuple(model.strip() for model in resolve(entry.models).split(",") if model.strip())
    if not models:
        problems.append(f"{entry.id}: models is empty; name at least one, separated by commas")
    return Instance(entry.id, provider.name, endpoint, models)
