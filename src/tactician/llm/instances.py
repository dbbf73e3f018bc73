"""`LLM_INSTANCES`: the endpoints that a deployment configures, as a JSON list."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from tactician.errors import ConfigurationError, in_lines
from tactician.llm.instance_entries import KNOWN_PROVIDERS, Entry, Mistakes, is_wanted, read_entry, resolved
from tactician.llm.model_profiles import BUILT_IN_PROFILES, ModelProfiles
from tactician.llm.pricing import NO_PRICES, ModelPrice
from tactician.llm.remote import Endpoint, RemoteModel
from tactician.llm.routing import Deployment

VARIABLE = "LLM_INSTANCES"
PROVIDERS_VARIABLE = "ENABLED_PROVIDERS"


@dataclass(frozen=True, slots=True)
class Instance:
    """An endpoint and the models that it serves.

    Attributes:
        endpoint: its endpoint for a model of which nothing is known.
        entry: all that the list says of it.
        rate_limits: requests per second, by model; `"*"` is for all others.
        endpoints: its endpoint for each model.
    """

    id: str
    provider: str
    endpoint: Endpoint = field(repr=False)
    models: tuple[str, ...]
    entry: Entry = field(repr=False)
    rate_limits: Mapping[str, float] = field(default_factory=dict)
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict, repr=False)

    def model(self, name: str) -> RemoteModel:
        """One of its models."""
        return RemoteModel(name, self.endpoints.get(name, self.endpoint))

    def rate_limit(self, model: str) -> float | None:
        """Requests per second for a model; `None` where only the general limit holds."""
        return self.rate_limits.get(model, self.rate_limits.get("*"))


def deployments_of(instances: Iterable[Instance]) -> tuple[Deployment, ...]:
    """What a router spreads calls over: each model of each instance, within the limit that the instance sets."""
    return tuple(
        Deployment(instance.id, model, instance.model(model), instance.rate_limit(model))
        for instance in instances
        for model in instance.models
    )


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
    entries: list[Entry] = []
    for place, raw in enumerate(_listed(text)):
        mistakes.at(raw.get("id"), place)
        if is_wanted(raw, environment, providers, mistakes):
            entry = read_entry(resolved(raw, environment, mistakes), mistakes)
            if entry is not None:
                entries.append(entry)
    mistakes.found += _duplicates(mistakes.ids)
    if mistakes.found:
        raise _invalid(mistakes.found)
    return tuple(_instance(entry, profiles, prices) for entry in entries)


def enabled_providers(environment: Mapping[str, str]) -> frozenset[str] | None:
    """The only providers that may be used; `None` when all may."""
    named = environment.get(PROVIDERS_VARIABLE, "").split(",")
    return frozenset(one.strip().lower() for one in named if one.strip()) or None


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
    return ConfigurationError(f"{VARIABLE} is not valid:{in_lines(problems)}")


def _instance(entry: Entry, profiles: ModelProfiles, prices: Mapping[str, ModelPrice]) -> Instance:
    def endpoint(model: str) -> Endpoint:
        return entry.provider.endpoint(
            entry.key,
            entry.url,
            name=entry.id,
            api_version=entry.api_version,
            model=model,
            profiles=profiles,
            prices=prices,
        )

    endpoints = {model: endpoint(model) for model in entry.models}
    return Instance(entry.id, entry.provider.name, endpoint(""), entry.models, entry, entry.rate_limits, endpoints)
