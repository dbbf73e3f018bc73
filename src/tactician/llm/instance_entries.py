"""Instances, read from the entries of `LLM_INSTANCES`. Every mistake is collected, and none shows a possible key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tactician.documents import did_you_mean
from tactician.llm.model_profiles import BUILT_IN_PROFILES, ModelProfiles
from tactician.llm.provider import Provider
from tactician.llm.provider_access import UNPRINTABLE, ProviderAccess, split_url
from tactician.llm.providers import PROVIDERS
from tactician.llm.remote import Endpoint, RemoteModel
from tactician.llm.usage import ModelPrice

KNOWN_PROVIDERS = (*PROVIDERS, "custom")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}

_RESERVED = ("local", "role")

Raw = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Instance:
    """An endpoint and the models that it serves.

    Attributes:
        access: its provider, address and key.
        rate_limits: requests per second, by model; `"*"` is for all others.
        profiles: what is known of models.
        prices: prices of one's own.
    """

    access: ProviderAccess = field(repr=False)
    models: tuple[str, ...]
    rate_limits: Mapping[str, float] = field(default_factory=dict)
    profiles: ModelProfiles = field(default=BUILT_IN_PROFILES, repr=False)
    prices: Mapping[str, ModelPrice] = field(default_factory=dict, repr=False)

    @property
    def id(self) -> str:
        """The name before the colon of `instance:model`."""
        return self.access.name

    @property
    def provider(self) -> str:
        """The provider's name."""
        return self.access.provider.name

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint of a model of which nothing is known."""
        return self.access.chat_endpoint("", self.profiles, self.prices)

    def model(self, name: str) -> RemoteModel:
        """Return one of the models."""
        return RemoteModel(name, self.access.chat_endpoint(name, self.profiles, self.prices))

    def rate_limit(self, model: str) -> float | None:
        """Return the requests per second for a model; `None` where only the general limit holds."""
        return self.rate_limits.get(model, self.rate_limits.get("*"))


class Mistakes:
    """Every mistake of all entries, each with its instance and field."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.ids: list[str] = []
        self._instance = ""
        self._unset: set[str] = set()

    def at(self, identity: object, place: int) -> None:
        """From here on, mistakes are those of this instance."""
        named = identity.strip() if isinstance(identity, str) else ""
        self._instance = named or f"entry {place}"
        self._unset.clear()

    def add(self, name: str, message: str) -> None:
        """A mistake in a field of the instance; nothing, where it lacks a variable and cannot be right."""
        if name.partition(".")[0] not in self._unset:
            self.found.append(f"{self._instance}: {name}: {message}")

    def add_unset(self, name: str, variable: str) -> None:
        """An environment variable that a field of the instance needs."""
        self.found.append(
            f"{self._instance}: {name}: the environment variable {variable} is not set; set it, or write the value"
        )
        self._unset.add(name.partition(".")[0])


def is_wanted(raw: Raw, environment: Mapping[str, str], providers: frozenset[str] | None, mistakes: Mistakes) -> bool:
    """Whether the entry is enabled, and so is its provider."""
    enabled = resolved({"enabled": raw.get("enabled", True)}, environment, Mistakes())["enabled"]
    if isinstance(enabled, str):
        enabled = _TRUTHS.get(enabled.strip().lower(), enabled)
    if not isinstance(enabled, bool):
        mistakes.add("enabled", "is neither true nor false")
        return True
    provider = resolved({"provider": raw.get("provider")}, environment, Mistakes())["provider"]
    return enabled and (providers is None or not isinstance(provider, str) or provider.strip().lower() in providers)


def resolved(raw: Raw, environment: Mapping[str, str], mistakes: Mistakes) -> dict[str, object]:
    """The entry with environment variables in the place of `${NAME}`, in every value."""

    def resolve(value: object, place: str) -> object:
        if isinstance(value, dict):
            return {key: resolve(inner, f"{place}.{key}") for key, inner in value.items()}
        if isinstance(value, list):
            return [resolve(inner, place) for inner in value]
        if not isinstance(value, str):
            return value
        for name in _REFERENCE.findall(value):
            if not environment.get(name):
                mistakes.add_unset(place, name)
        return _REFERENCE.sub(lambda match: environment.get(match[1], ""), value)

    return {name: resolve(value, name) for name, value in raw.items()}


def read_entry(raw: Raw, mistakes: Mistakes) -> Instance | None:
    """Return the instance, or `None` when something is wrong with it."""
    before = len(mistakes.found)
    identity = _text(raw, "id", mistakes, "name the instance")
    if identity in _RESERVED:
        mistakes.add("id", f'"{identity}:..." names something else already; give the instance another id')
    if identity:
        mistakes.ids.append(identity)
    url = _url(raw, mistakes)
    models = _models(raw, mistakes)
    limits = _rate_limits(raw, models, mistakes)
    provider = _provider(raw, mistakes)
    if provider is None:
        _key(raw, None, url, mistakes)
        return None
    version = _api_version(raw, provider, mistakes)
    key = _key(raw, provider, url, mistakes)
    if len(mistakes.found) > before:
        return None
    return Instance(ProviderAccess(provider, key, url, identity, version), models, limits)


def _text(raw: Raw, name: str, mistakes: Mistakes, remedy: str) -> str:
    """A text that has to be there; empty when it is not."""
    value = raw.get(name)
    if value is None or value == "":
        mistakes.add(name, f"is missing; {remedy}")
    elif not isinstance(value, str):
        mistakes.add(name, f"is not a text; {remedy}")
    else:
        return value.strip()
    return ""


def _url(raw: Raw, mistakes: Mistakes) -> str:
    url = _text(raw, "url", mistakes, 'name the address, as in "https://api.openai.com"')
    if url and split_url(url) is None:
        mistakes.add("url", 'is not a URL; it begins with "https://" or "http://" and a host')
    return url


def _models(raw: Raw, mistakes: Mistakes) -> tuple[str, ...]:
    value = raw.get("models")
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        value = ",".join(value)
    if value is not None and not isinstance(value, str):
        mistakes.add("models", "is not a text; name the models, separated by commas")
        return ()
    models = tuple(dict.fromkeys(one.strip() for one in (value or "").split(",") if one.strip()))
    if not models:
        mistakes.add("models", "is empty; name at least one, separated by commas")
    return models


def _rate_limits(raw: Raw, models: tuple[str, ...], mistakes: Mistakes) -> dict[str, float]:
    value = raw.get("rateLimits") or {}
    if not isinstance(value, dict):
        mistakes.add("rateLimits", 'is not an object; write requests per second by model, as in {"gpt-5.4": 40}')
        return {}
    limits = {}
    for model, limit in value.items():
        number = _number(limit)
        if number is None or not 0 < number < float("inf"):
            mistakes.add(f"rateLimits.{model}", "is not a number of requests per second above 0")
        elif models and model not in (*models, "*"):
            mistakes.add(f"rateLimits.{model}", "is not one of the models; add it to them, or take the limit out")
        else:
            limits[model] = number
    return limits


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
    except ValueError:
        return None


def _provider(raw: Raw, mistakes: Mistakes) -> Provider | None:
    name = _text(raw, "provider", mistakes, f"name one of {', '.join(KNOWN_PROVIDERS)}").lower()
    if name == "custom":
        return _custom(raw, mistakes)
    if name and name not in PROVIDERS:
        hint = did_you_mean(name, KNOWN_PROVIDERS)
        mistakes.add("provider", f"there is no {name!r}; known are {', '.join(KNOWN_PROVIDERS)}.{hint}")
    provider = PROVIDERS.get(name)
    return provider if provider is None or raw.get("apiFormat") is None else _in_format(raw, provider, mistakes)


def _in_format(raw: Raw, provider: Provider, mistakes: Mistakes) -> Provider:
    """The provider in the format that the entry names."""
    spoken = {one.wire.name: one for one in (provider.elsewhere, provider) if one is not None}
    name = raw["apiFormat"]
    if not isinstance(name, str) or name not in spoken:
        mistakes.add("apiFormat", f"{provider.name} speaks {' or '.join(spoken)}")
        return provider
    return replace(provider, **{n: getattr(spoken[name], n) for n in ("wire", "path", "dialect")}, elsewhere=None)


def _custom(raw: Raw, mistakes: Mistakes) -> Provider | None:
    if raw.get("custom") is None:
        mistakes.add("custom", "is missing; describe the provider: apiFormat, auth and endpoints")
        return None
    from tactician.llm.custom import custom_provider  # its pydantic models take a while to build

    made = custom_provider(raw["custom"])
    for problem in made.problems:
        mistakes.add(problem.field, problem.message)
    return made.provider


def _api_version(raw: Raw, provider: Provider, mistakes: Mistakes) -> str | None:
    value = raw.get("apiVersion")
    if provider.needs_api_version:
        return _text(raw, "apiVersion", mistakes, f'{provider.name} needs it, as in "2024-08-01-preview"') or None
    return value.strip() if isinstance(value, str) and value.strip() else None


def _key(raw: Raw, provider: Provider | None, url: str, mistakes: Mistakes) -> str | None:
    value = raw.get("key")
    if value is not None and not isinstance(value, str):
        mistakes.add("key", 'is not a text; write the key, or "${NAME}" for that of an environment variable')
        return None
    key = (value or "").strip()
    if UNPRINTABLE.search(key):
        mistakes.add("key", "has characters that no header can carry, such as a line break")
    if not key and provider is not None and _needs_key(provider, url):
        mistakes.add("key", 'is missing; write the key, or "${NAME}" for that of an environment variable')
    return key or None


def _needs_key(provider: Provider, url: str) -> bool:
    """Servers of one's own may need none."""
    return provider.needs_api_version or (provider.key_variable is not None and provider.is_home(url))
