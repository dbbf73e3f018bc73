"""`LLM_INSTANCES`: the endpoints that a deployment configures, as a JSON list."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from pydantic import TypeAdapter

from tactician.documents import Data, DataDocument, Problems, read_document, validate_document
from tactician.errors import DocumentError
from tactician.llm.instance_entries import (
    KNOWN_PROVIDERS,
    Instance,
    Mistakes,
    id_of,
    is_wanted,
    read_entry,
    resolve_variables,
)
from tactician.llm.model_profiles import BUILT_IN_PROFILES, ModelProfiles
from tactician.llm.provider_access import INSTANCES_VARIABLE, PROVIDERS_VARIABLE, enabled_providers
from tactician.llm.usage import NO_PRICES, ModelPrice

_SUBJECT = f"{INSTANCES_VARIABLE} is not valid"


def parse_instances(
    text: str,
    environment: Mapping[str, str] = os.environ,
    profiles: ModelProfiles = BUILT_IN_PROFILES,
    prices: Mapping[str, ModelPrice] = NO_PRICES,
) -> tuple[Instance, ...]:
    """The enabled instances in a JSON list; `ENABLED_PROVIDERS` names the only providers that are.

    `${NAME}` in any value stands for an environment variable. What is not enabled may be incomplete.

    Raises:
        ConfigurationError: with every mistake in the list. No message holds a key.
    """
    problems, providers = Problems(), enabled_providers(environment)
    for name in sorted((providers or frozenset()) - {*KNOWN_PROVIDERS}):
        message = f"there is no provider {name!r}; known are {', '.join(KNOWN_PROVIDERS)}"
        problems.add(message, file=PROVIDERS_VARIABLE)
    instances: list[Instance] = []
    ids: list[str] = []
    for place, raw in enumerate(_list_entries(text)):
        mistakes = Mistakes(problems, raw, place)
        if is_wanted(raw, environment, providers, mistakes):
            entry = {name: resolve_variables(value, environment, mistakes, name) for name, value in raw.items()}
            ids.append(id_of(entry))
            if (instance := read_entry(entry, mistakes)) is not None:
                instances.append(replace(instance, profiles=profiles, prices=prices))
    for name in sorted({one for one in ids if one and ids.count(one) > 1}):
        problems.add("is used twice; every instance needs its own", "id", file=name)
    problems.check(_SUBJECT)
    return tuple(instances)


def _list_entries(text: str) -> list[dict[str, Data]]:
    try:
        data = read_document(text, "json").data
    except DocumentError as error:
        raise DocumentError(_SUBJECT, error.problems) from None
    validate = TypeAdapter(list[dict[str, object]]).validate_python
    return cast("list[dict[str, Data]]", validate_document(DataDocument(data), validate, _SUBJECT))
