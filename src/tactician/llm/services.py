"""Where a provider has what it serves beside conversations: embeddings and images."""

from __future__ import annotations

from dataclasses import replace

from tactician.errors import ConfigurationError
from tactician.llm.providers import Provider
from tactician.llm.remote import Endpoint


def service_endpoint(
    provider: Provider,
    path: str,
    key: str | None,
    *,
    base_url: str | None = None,
    name: str | None = None,
    api_version: str | None = None,
    versioned: bool = False,
) -> Endpoint:
    """The endpoint at a path of a provider; a `versioned` one has the API version in its query.

    Raises:
        ConfigurationError: when the address or the API version is missing.
    """
    called = name or provider.name
    if not (base_url or provider.base_url):
        raise ConfigurationError(f"{called}: {provider.name} has no fixed address; set base_url")
    if versioned and not api_version:
        raise ConfigurationError(f"{called}: {provider.name} needs api_version")
    at_path = replace(provider, path=path, query={}, sends_api_version=versioned, elsewhere=None)
    return at_path.endpoint(key, base_url, name=name, api_version=api_version)
