"""Instances of a configuration, from the JSON of `LLM_INSTANCES` or from `tactician.toml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from pydantic import TypeAdapter

from tactician.config import ModelSettings
from tactician.documents.data import Data
from tactician.documents.document import DataDocument, read_document
from tactician.documents.models import validate_document
from tactician.documents.problems import Problems
from tactician.environment import read_environment
from tactician.errors import DocumentError
from tactician.llm.instance import Instance
from tactician.llm.instance_entries import (
    KNOWN_PROVIDERS,
    Mistakes,
    is_wanted,
    read_entry,
    read_id,
    resolve_variables,
)
from tactician.llm.model_profiles import BUILT_IN_PROFILES, ModelProfiles
from tactician.llm.provider_access import INSTANCES_VARIABLE, PROVIDERS_VARIABLE, list_enabled_providers
from tactician.llm.usage import NO_PRICES, ModelPrice

_SUBJECT = f"{INSTANCES_VARIABLE} is not valid"


def find_instances(
    settings: ModelSettings,
    environment: Mapping[str, str],
    profiles: ModelProfiles = BUILT_IN_PROFILES,
    prices: Mapping[str, ModelPrice] = NO_PRICES,
) -> tuple[Instance, ...]:
    """Return the enabled instances of `LLM_INSTANCES`, else of `[[models.instances]]`.

    Raises:
        ConfigurationError: with every mistake in the list. No message contains a key.
    """
    if text := environment.get(INSTANCES_VARIABLE):
        return parse_instances(text, environment, profiles, prices)
    entries = cast("tuple[dict[str, Data], ...]", settings.instances)
    return _read_instances(entries, environment, profiles, prices, "[[models.instances]] is not valid")


def parse_prices(settings: ModelSettings) -> dict[str, ModelPrice]:
    """Return the prices of `[models.prices]`."""
    return {name: ModelPrice(**price.model_dump()) for name, price in settings.prices.items()}


def parse_instances(
    text: str,
    environment: Mapping[str, str] | None = None,
    profiles: ModelProfiles = BUILT_IN_PROFILES,
    prices: Mapping[str, ModelPrice] = NO_PRICES,
) -> tuple[Instance, ...]:
    """Return the enabled instances in a JSON list; `ENABLED_PROVIDERS`, if set, limits the providers.

    `${NAME}` in any value stands for an environment variable. Disabled entries may be incomplete.

    Raises:
        ConfigurationError: with every mistake in the list. No message contains a key.
    """
    return _read_instances(_list_entries(text), read_environment(environment), profiles, prices, _SUBJECT)


def _read_instances(
    entries: Sequence[Mapping[str, Data]],
    environment: Mapping[str, str],
    profiles: ModelProfiles,
    prices: Mapping[str, ModelPrice],
    subject: str,
) -> tuple[Instance, ...]:
    problems, providers = Problems(), list_enabled_providers(environment)
    for name in sorted((providers or frozenset()) - {*KNOWN_PROVIDERS}):
        message = f"there is no provider {name!r}; known are {', '.join(KNOWN_PROVIDERS)}"
        problems.add(message, file=PROVIDERS_VARIABLE)
    instances: list[Instance] = []
    ids: list[str] = []
    for place, raw in enumerate(entries):
        mistakes = Mistakes(problems, raw, place)
        if is_wanted(raw, environment, providers, mistakes):
            entry = {name: resolve_variables(value, environment, mistakes, name) for name, value in raw.items()}
            ids.append(read_id(entry))
            if (instance := read_entry(entry, mistakes)) is not None:
                instances.append(replace(instance, profiles=profiles, prices=prices))
    for name in sorted({name for name in ids if name and ids.count(name) > 1}):
        problems.add("is used twice; every instance needs its own", "id", file=name)
    problems.check(subject)
    return tuple(instances)


def _list_entries(text: str) -> list[dict[str, Data]]:
    try:
        data = read_document(text, "json").data
    except DocumentError as error:
        raise DocumentError(_SUBJECT, error.problems) from None
    validate = TypeAdapter(list[dict[str, object]]).validate_python
    return cast("list[dict[str, Data]]", validate_document(DataDocument(data), validate, _SUBJECT))
