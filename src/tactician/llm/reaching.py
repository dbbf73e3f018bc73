"""How a model is reached whose provider is known by its name, or by a base URL alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args
from urllib.parse import SplitResult, parse_qsl, urlsplit

from tactician.llm.instances import PROVIDERS_VARIABLE
from tactician.llm.provider import Provider, joined
from tactician.llm.providers import AZURE_IN_FORMAT, IN_FORMAT, OPENROUTER_RESPONSES, PROVIDERS
from tactician.llm.remote import Endpoint
from tactician.llm.single_keys import is_enabled, own_address
from tactician.suggestions import did_you_mean

ApiFormat: TypeAlias = Literal["openai-responses", "openai-chat", "anthropic-messages"]

_AZURE = re.compile(r"\.(openai|services\.ai|cognitiveservices)\.azure\.(com|us|cn)$")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Reach:
    """Where requests go and with which key. `name` is what messages call it."""

    provider: Provider
    name: str
    base_url: str | None = field(repr=False)
    key: str | None = field(repr=False)

    def endpoint(self, model: str) -> Endpoint:
        """The endpoint of a model."""
        return self.provider.endpoint(self.key, self.base_url, name=self.name, model=model)


def reach_by_name(
    given: str, variable: str | None, environment: Mapping[str, str], problems: list[str]
) -> Reach | None:
    """How a provider is reached, by the name that it has in files, such as `OPEN_ROUTER`; what is wrong, otherwise."""
    if (provider := _NAMED.get(_plain(given))) is None:
        hint = did_you_mean(given.upper(), _SPELLED)
        problems.append(f"provider: there is no {given!r}; known are {', '.join(_SPELLED)}.{hint}")
        return None
    base_url = own_address(provider.name, environment)
    if provider.base_url is None and base_url is None:
        problems.append(
            f"provider: {given} has no address of its own; name the one of your resource as base_url instead"
        )
    if provider.sends_api_version:
        problems.append(f"provider: {given} needs an API version, which only instances of LLM_INSTANCES have")
    _check_enabled(provider.name, environment, problems)
    needs_key = provider.base_url is None or (provider.key_variable is not None and base_url is None)
    key = _key(variable, provider.key_variable, needs_key, environment, problems)
    return Reach(provider, provider.name, base_url, key)


def reach_by_url(
    base_url: str, spoken: str, variable: str | None, environment: Mapping[str, str], problems: list[str]
) -> Reach | None:
    """How a base URL is reached in a wire format; what is wrong, otherwise. No problem shows the URL."""
    if spoken not in get_args(ApiFormat):
        problems.append(f"api_format: there is no {spoken!r}; known are {', '.join(get_args(ApiFormat))}")
        return None
    if (parts := _split(base_url := base_url.strip())) is None:
        problems.append('base_url: is not a URL; it begins with "https://" or "http://" and a host')
        return None
    if parts.username is not None:
        problems.append("base_url: has a user or a password in it; name the variable of the key in api_key_env instead")
    host = parts.hostname or ""
    is_azure = _AZURE.search(host) is not None
    provider = _spoken_at(base_url, spoken, is_azure)
    is_home = provider.is_home(base_url)
    _check_enabled(provider.name if is_azure or is_home else "custom", environment, problems)
    key = _key(variable, provider.key_variable if is_home else None, is_azure or is_home, environment, problems)
    query = {**provider.query, **dict(parse_qsl(parts.query))}
    there = replace(provider, path=_path(parts.path.rstrip("/"), provider.path), query=query)
    return Reach(there, host, f"{parts.scheme}://{parts.netloc}", key)


def _plain(name: str) -> str:
    return name.upper().replace("_", "").replace("-", "")


_SPELLED = tuple("OPEN_ROUTER" if name == "openrouter" else name.upper().replace("-", "_") for name in PROVIDERS)
_NAMED = {
    **{_plain(name): provider for name, provider in PROVIDERS.items()},
    "OPENROUTER": OPENROUTER_RESPONSES,
    "AZUREANTHROPIC": AZURE_IN_FORMAT["anthropic-messages"],
}


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return None
    return parts if is_url else None


def _spoken_at(base_url: str, spoken: str, is_azure: bool) -> Provider:
    if is_azure:
        return AZURE_IN_FORMAT[spoken]
    if OPENROUTER_RESPONSES.is_home(base_url) and spoken != "anthropic-messages":
        return OPENROUTER_RESPONSES if spoken == "openai-responses" else PROVIDERS["openrouter"]
    return IN_FORMAT[spoken]


def _path(given: str, own: str) -> str:
    """The path of a base URL with that of the format after it, as far as it is not there already."""
    last = own.rpartition("/v1")[2]
    if given.endswith(last):
        return given
    return joined(given or ("/v1" if last == own else ""), own)


def _check_enabled(name: str, environment: Mapping[str, str], problems: list[str]) -> None:
    if not is_enabled(name, environment):
        problems.append(f"{name} is not among the providers that {PROVIDERS_VARIABLE} names")


def _key(
    named: str | None, usual: str | None, is_needed: bool, environment: Mapping[str, str], problems: list[str]
) -> str | None:
    """The value of the variable that is named, else of the provider's own. What is no name is never shown."""
    if named is not None and not _VARIABLE.fullmatch(named):
        problems.append("api_key_env: is not the name of an environment variable; the key itself does not belong here")
        return None
    if (variable := named or usual) is None:
        if is_needed:
            problems.append("api_key_env: is missing; name the environment variable that holds the key")
        return None
    key = environment.get(variable, "").strip()
    if not key and (named is not None or is_needed):
        problems.append(f"api_key_env: the environment variable {variable} is not set; set it to your key")
    if _UNPRINTABLE.search(key):
        problems.append(f"api_key_env: {variable} has characters that no header can carry, such as a line break")
    return key or None
