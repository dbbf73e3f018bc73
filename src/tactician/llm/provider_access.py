"""Access to providers: address and key from the environment, by a provider's name or by a base URL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Literal, TypeAlias, get_args
from urllib.parse import SplitResult, parse_qsl, urlsplit

from tactician.documents.problems import Problems
from tactician.errors import ConfigurationError, UnsupportedFeatureError
from tactician.frozen import frozen
from tactician.llm.model_profiles import BUILT_IN_PROFILES, ModelProfiles
from tactician.llm.provider import Provider, join_url
from tactician.llm.providers import AZURE_IN_FORMAT, IN_FORMAT, OPENROUTER_RESPONSES, PROVIDERS
from tactician.llm.remote import Endpoint
from tactician.llm.usage import NO_PRICES, ModelPrice
from tactician.suggestions import did_you_mean

ApiFormat: TypeAlias = Literal["openai-responses", "openai-chat", "anthropic-messages"]

INSTANCES_VARIABLE = "LLM_INSTANCES"
PROVIDERS_VARIABLE = "ENABLED_PROVIDERS"
HAS_A_PASSWORD = "has a user or a password in it"
NOT_A_URL = 'is not a URL; it begins with "https://" or "http://" and a host'
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")
_AZURE = re.compile(r"\.(openai|services\.ai|cognitiveservices)\.azure\.(com|us|cn)$")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@frozen
class ProviderAccess:
    """Provider with the address and key for its calls.

    Attributes:
        key: the key, if the provider requires it.
        base_url: the address; the provider's own if `None`.
        instance: the id of an instance, or a host; the provider's name if empty.
        api_version: the version of the API, if the provider has several.
    """

    provider: Provider
    key: str | None = field(default=None, repr=False)
    base_url: str | None = field(default=None, repr=False)
    instance: str = ""
    api_version: str | None = None

    @property
    def name(self) -> str:
        """Name in messages, and before the colon of `instance:model`."""
        return self.instance or self.provider.name

    def create_chat_endpoint(
        self,
        model: str = "",
        profiles: ModelProfiles = BUILT_IN_PROFILES,
        prices: Mapping[str, ModelPrice] = NO_PRICES,
    ) -> Endpoint:
        """Return the endpoint of a chat model; without a name, as for a model without a profile."""
        return self.provider.create_endpoint(
            self.key,
            self.base_url,
            name=self.name,
            api_version=self.api_version,
            model=model,
            profiles=profiles,
            prices=prices,
        )

    def create_media_endpoint(
        self,
        path: str,
        *,
        feature: str,
        endpoint: str,
        versioned: bool = False,
        prices: Mapping[str, ModelPrice] = NO_PRICES,
    ) -> Endpoint:
        """Return the endpoint of embedding models or image models.

        Args:
            path: the path, unless a specification has another; `{model}` stands for the model's name.
            feature: the feature that a specification must declare.
            endpoint: the name of the path in a specification.
            versioned: true when the API version goes into the query.
            prices: custom prices of the models.

        Raises:
            ConfigurationError: when the address or the API version is missing.
            UnsupportedFeatureError: when the features that the provider declares lack it.
        """
        provider = self.provider
        if not (self.base_url or provider.base_url):
            raise ConfigurationError(f"{self.name}: {provider.name} has no fixed address; set base_url")
        if versioned and not self.api_version:
            raise ConfigurationError(f"{self.name}: {provider.name} needs api_version")
        declared = provider.declared
        if declared is not None and feature not in declared and provider.on_unsupported == "throw":
            raise UnsupportedFeatureError(self.name, feature, declared)
        path = provider.endpoints.get(endpoint, path)
        query = {} if declared is None else provider.query
        there = replace(provider, path=path, query=query, sends_api_version=versioned, elsewhere=None)
        return replace(self, provider=there).create_chat_endpoint(prices=prices)


def check_provider_kind(provider: str, kind: str, serving: Iterable[str]) -> None:
    """Check that a built-in provider serves a kind of models. Custom providers always pass.

    Raises:
        ConfigurationError: when the provider does not serve the kind.
    """
    if provider in PROVIDERS and provider not in (served_providers := tuple(serving)):
        raise ConfigurationError(f"{provider} serves no {kind}; those that do are {', '.join(served_providers)}")


# Access from environment variables.


def list_enabled_providers(environment: Mapping[str, str]) -> frozenset[str] | None:
    """Return the names in `ENABLED_PROVIDERS`, or `None` if all providers are enabled."""
    names = environment.get(PROVIDERS_VARIABLE, "").split(",")
    return frozenset(name.strip().lower() for name in names if name.strip()) or None


def is_enabled(name: str, environment: Mapping[str, str]) -> bool:
    """Return whether `ENABLED_PROVIDERS` allows the provider."""
    enabled = list_enabled_providers(environment)
    return enabled is None or name in enabled


def find_base_url(name: str, environment: Mapping[str, str]) -> str | None:
    """Return the value of `<PROVIDER>_BASE_URL`, or `None` if the provider has its own address.

    Raises:
        ConfigurationError: when the value is not a URL. The message does not show it.
    """
    url = environment.get(variable := get_base_url_variable(name), "").strip()
    if url and (problem := find_url_problem(url)) is not None:
        raise ConfigurationError(f"{variable} {problem}")
    return url or None


def get_base_url_variable(name: str) -> str:
    """Return the environment variable of another address for a provider."""
    return f"{name.upper().replace('-', '_')}_BASE_URL"


def check_base_urls(environment: Mapping[str, str]) -> None:
    """Check every `<PROVIDER>_BASE_URL`.

    Raises:
        ConfigurationError: when the address of an endpoint is not a URL.
    """
    for name in PROVIDERS:
        find_base_url(name, environment)


def find_key(name: str, environment: Mapping[str, str]) -> str | None:
    """Return the key in the provider's own variable."""
    variable = PROVIDERS[name].find_key_variable(environment)
    return environment.get(variable) if variable else None


def create_access(name: str, model: str, environment: Mapping[str, str]) -> ProviderAccess:
    """Return the access to a provider for a model of its own, from the environment.

    Raises:
        ConfigurationError: when the provider has no address, is not enabled, or its key is not set.
    """
    provider = PROVIDERS[name]
    if not is_enabled(name, environment):
        raise ConfigurationError(f"{name}:{model}: {name} is not among the providers that {PROVIDERS_VARIABLE} names")
    if provider.base_url is None:
        raise ConfigurationError(f"{name}:{model}: {name} has no fixed address; configure it in {INSTANCES_VARIABLE}")
    key, base_url = find_key(name, environment), find_base_url(name, environment)
    if provider.key_variable and not key and not base_url:
        raise ConfigurationError(f"{name}:{model}: set {provider.key_variable} to your key for {name}")
    return ProviderAccess(provider, key, base_url)


# Access from the fields of a file.


def find_access_by_name(
    name: str, variable: str | None, environment: Mapping[str, str], problems: Problems
) -> ProviderAccess | None:
    """Return the access to a provider by its name in files, such as `OPEN_ROUTER`, or add the problems."""
    if (provider := find_provider_by_name(name)) is None:
        hint = did_you_mean(name.upper(), _SPELLED)
        problems.add(f"there is no {name!r}; known are {', '.join(_SPELLED)}.{hint}", "provider")
        return None
    try:
        base_url = find_base_url(provider.name, environment)
    except ConfigurationError as error:
        problems.add(str(error), "provider")
        return None
    if provider.base_url is None and base_url is None:
        problems.add(f"{name} has no address of its own; set base_url to the address of your resource", "provider")
    if provider.sends_api_version:
        problems.add(f"{name} needs an API version, which only instances of LLM_INSTANCES have", "provider")
    _check_enabled(provider.name, environment, problems)
    needs_key = provider.base_url is None or (provider.key_variable is not None and base_url is None)
    return ProviderAccess(
        provider,
        _read_key(variable, provider.find_key_variable(environment), needs_key, environment, problems),
        base_url,
    )


def find_provider_by_name(name: str) -> Provider | None:
    """Return the provider with a name in files, such as `OPEN_ROUTER`."""
    return _NAMED.get(_plain(name))


def find_access_by_url(
    base_url: str, spoken: str, variable: str | None, environment: Mapping[str, str], problems: Problems
) -> ProviderAccess | None:
    """Return the access to a base URL in a wire format, or add the problems. No problem shows the URL."""
    if spoken not in get_args(ApiFormat):
        problems.add(f"there is no {spoken!r}; known are {', '.join(get_args(ApiFormat))}", "api_format")
        return None
    if (parts := split_url(base_url := base_url.strip())) is None:
        problems.add(NOT_A_URL, "base_url")
        return None
    if parts.username is not None:
        problems.add(f"{HAS_A_PASSWORD}; name the variable of the key in api_key_env instead", "base_url")
    host = parts.hostname or ""
    is_azure = _AZURE.search(host) is not None
    provider = _provider_at(base_url, spoken, is_azure)
    is_home = provider.is_home(base_url)
    _check_enabled(provider.name if is_azure or is_home else "custom", environment, problems)
    usual = provider.find_key_variable(environment) if is_home else None
    key = _read_key(variable, usual, is_azure or is_home, environment, problems)
    query = {**provider.query, **dict(parse_qsl(parts.query))}
    there = replace(provider, path=_path(parts.path.rstrip("/"), provider.path), query=query)
    return ProviderAccess(there, key, f"{parts.scheme}://{parts.netloc}", host)


def find_url_problem(url: str) -> str | None:
    """Return what is wrong with the URL of a server, without showing it; `None` when nothing is."""
    if (parts := split_url(url)) is None:
        return NOT_A_URL
    return None if parts.username is None else f"{HAS_A_PASSWORD}; the key goes into a field or variable of its own"


def split_url(url: str) -> SplitResult | None:
    """Return the parts of an HTTP URL, or `None` if the text is not an HTTP URL."""
    if not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return None
    return parts if is_url else None


def _plain(name: str) -> str:
    return name.upper().replace("_", "").replace("-", "")


_SPELLED = tuple("OPEN_ROUTER" if name == "openrouter" else name.upper().replace("-", "_") for name in PROVIDERS)
_NAMED = {
    **{_plain(name): provider for name, provider in PROVIDERS.items()},
    "OPENROUTER": OPENROUTER_RESPONSES,
    "AZUREANTHROPIC": AZURE_IN_FORMAT["anthropic-messages"],
}


def _provider_at(base_url: str, spoken: str, is_azure: bool) -> Provider:
    if is_azure:
        return AZURE_IN_FORMAT[spoken]
    if OPENROUTER_RESPONSES.is_home(base_url) and spoken != "anthropic-messages":
        return OPENROUTER_RESPONSES if spoken == "openai-responses" else PROVIDERS["openrouter"]
    return IN_FORMAT[spoken]


def _path(path: str, provider_path: str) -> str:
    """Return the path of a base URL, extended by the parts of the format's path that it lacks."""
    last = provider_path.rpartition("/v1")[2]
    if path.endswith(last):
        return path
    return join_url(path or ("/v1" if last == provider_path else ""), provider_path)


def _check_enabled(name: str, environment: Mapping[str, str], problems: Problems) -> None:
    if not is_enabled(name, environment):
        problems.add(f"{name} is not among the providers that {PROVIDERS_VARIABLE} names")


def _read_key(
    named: str | None, usual: str | None, is_needed: bool, environment: Mapping[str, str], problems: Problems
) -> str | None:
    """Return the value of the named variable, else of the provider's own. Invalid names are never shown."""
    if named is not None and not _VARIABLE.fullmatch(named):
        problems.add("is not the name of an environment variable; the key itself does not belong here", "api_key_env")
        return None
    if (variable := named or usual) is None:
        if is_needed:
            problems.add("is missing; name the environment variable that holds the key", "api_key_env")
        return None
    key = environment.get(variable, "").strip()
    if not key and (named is not None or is_needed):
        problems.add(f"the environment variable {variable} is not set; set it to your key", "api_key_env")
    if UNPRINTABLE.search(key):
        problems.add(f"{variable} has characters that no header can carry, such as a line break", "api_key_env")
    return key or None
