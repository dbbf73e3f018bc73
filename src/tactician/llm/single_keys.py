"""A provider that environment variables give access to: its key, and its address where that is another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tactician.errors import ConfigurationError
from tactician.llm.instances import PROVIDERS_VARIABLE, VARIABLE, enabled_providers
from tactician.llm.provider import Provider
from tactician.llm.providers import PROVIDERS


@dataclass(frozen=True, slots=True)
class SingleKey:
    """A provider, and what a call to it needs."""

    provider: Provider
    key: str | None = field(repr=False)
    base_url: str | None = None


def is_enabled(name: str, environment: Mapping[str, str]) -> bool:
    """Whether `ENABLED_PROVIDERS` lets the provider be used."""
    enabled = enabled_providers(environment)
    return enabled is None or name in enabled


def own_address(name: str, environment: Mapping[str, str]) -> str | None:
    """Where `<PROVIDER>_BASE_URL` says that the provider is; `None` when it is where it always is."""
    return environment.get(f"{name.upper().replace('-', '_')}_BASE_URL") or None


def single_key(name: str, model: str, environment: Mapping[str, str]) -> SingleKey:
    """The access to a provider for one of its models.

    Raises:
        ConfigurationError: when the provider has no address, is not enabled, or its key is not set.
    """
    provider = PROVIDERS[name]
    if not is_enabled(name, environment):
        raise ConfigurationError(f"{name}:{model}: {name} is not among the providers that {PROVIDERS_VARIABLE} names")
    base_url = own_address(name, environment)
    key = environment.get(provider.key_variable) if provider.key_variable else None
    if provider.base_url is None:
        raise ConfigurationError(f"{name}:{model}: {name} has no fixed address; configure it in {VARIABLE}")
    if provider.key_variable and not key and not base_url:
        raise ConfigurationError(f"{name}:{model}: set {provider.key_variable} to your key for {name}")
    return SingleKey(provider, key, base_url)
