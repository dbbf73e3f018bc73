"""Where a provider has what it serves beside conversations: embeddings and images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tactician.errors import ConfigurationError, UnsupportedFeatureError
from tactician.llm.pricing import NO_PRICES, ModelPrice
from tactician.llm.providers import PROVIDERS, Provider
from tactician.llm.remote import Endpoint

_ENDPOINTS = {"embeddings": "embeddings", "image_generation": "images_generations"}
"""What a specification calls the endpoint of each feature."""


def check_served(provider: str, service: str, serving: Iterable[str]) -> None:
    """Nothing, where the provider has the service, or is not one of ours.

    Raises:
        ConfigurationError: when it has not.
    """
    if provider in PROVIDERS and provider not in (known := tuple(serving)):
        raise ConfigurationError(f"{provider} serves no {service}; those that do are {', '.join(known)}")


def service_endpoint(
    provider: Provider,
    path: str,
    key: str | None,
    *,
    feature: str,
    base_url: str | None = None,
    name: str | None = None,
    api_version: str | None = None,
    versioned: bool = False,
    prices: Mapping[str, ModelPrice] = NO_PRICES,
) -> Endpoint:
    """The endpoint at a path of a provider, or at its own; a `versioned` one has the API version in its query.

    Raises:
        ConfigurationError: when the address or the API version is missing.
        UnsupportedFeatureError: when the provider declares its features, and not this one.
    """
    called = name or provider.name
    if not (base_url or provider.base_url):
        raise ConfigurationError(f"{called}: {provider.name} has no fixed address; set base_url")
    if versioned and not api_version:
        raise ConfigurationError(f"{called}: {provider.name} needs api_version")
    declared = provider.declared
    if declared is not None and feature not in declared and provider.on_unsupported == "throw":
        raise UnsupportedFeatureError(called, feature, declared)
    path = provider.endpoints.get(_ENDPOINTS[feature], path)
    query = {} if declared is None else provider.query
    at_path = replace(provider, path=path, query=query, sends_api_version=versioned, elsewhere=None)
    return at_path.endpoint(key, base_url, name=name, api_version=api_version, prices=prices)
