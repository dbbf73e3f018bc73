"""`LLM_INSTANCES`: the endpoints that a deployment configures, as a JSON list."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import TypeAdapter, ValidationError

from tactician.errors import ConfigurationError, in_lines
from tactician.llm.instance_entries import KNOWN_PROVIDERS, Instance, Mistakes, is_wanted, read_entry, resolved
from tactician.llm.model_profiles import BUILT_IN_PROFILES, ModelProfiles
from tactician.llm.provider_access import INSTANCES_VARIABLE, PROVIDERS_VARIABLE, enabled_providers
from tactician.llm.usage import NO_PRICES, ModelPrice


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
    mistakes = Mistakes()
    providers = enabled_providers(environment)
    mistakes.found += [
        f"{PROVIDERS_VARIABLE}: there is no provider {name!r}; known are {', '.join(KNOWN_PROVIDERS)}"
        for name in sorted((providers or frozenset()) - {*KNOWN_PROVIDERS})
    ]
    instances: list[Instance] = []
    for place, raw in enumerate(_listed(text)):
        mistakes.at(raw.get("id"), place)
        if is_wanted(raw, environment, providers, mistakes):
            instance = read_entry(resolved(raw, environment, mistakes), mistakes)
            if instance is not None:
                instances.append(replace(instance, profiles=profiles, prices=prices))
    mistakes.found += _duplicates(mistakes.ids)
    if mistakes.found:
        raise _invalid(mistakes.found)
    return tuple(instances)


def _listed(text: str) -> Sequence[Mapping[str, object]]:
    try:
        return TypeAdapter(list[dict[str, object]]).validate_json(text)
    except ValidationError as error:
        told = error.errors(include_input=False, include_url=False)
        places = (".".join(map(str, one["loc"])) for one in told)
        listed = [
            f"{f'entry {place}' if place else 'the value'}: {one['msg']}; a JSON list of objects is needed"
            for place, one in zip(places, told, strict=True)
        ]
        raise _invalid(listed) from None


def _duplicates(ids: Sequence[str]) -> list[str]:
    twice = sorted({one for one in ids if ids.count(one) > 1})
    return [f"{one}: id: is used twice; every instance needs its own" for one in twice]


def _invalid(problems: Sequence[str]) -> ConfigurationError:
    return ConfigurationError(f"{INSTANCES_VARIABLE} is not valid:{in_lines(problems)}")
