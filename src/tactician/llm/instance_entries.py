"""Parsing of the entries of `LLM_INSTANCES`. Every mistake is collected, and no message shows a possible key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from tactician.documents.data import Data
from tactician.documents.problems import Problems
from tactician.documents.variables import Variable, substitute_variables
from tactician.errors import ConfigurationError, DocumentError, UnsupportedFeatureError
from tactician.llm.instance import Instance
from tactician.llm.model_kinds import KIND_NAMES, KindName
from tactician.llm.provider import Provider
from tactician.llm.provider_access import UNPRINTABLE, ProviderAccess, find_url_problem
from tactician.llm.providers import PROVIDERS
from tactician.suggestions import did_you_mean

KNOWN_PROVIDERS = (*PROVIDERS, "custom")
_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}

_RESERVED = ("local", "role")
_SPOKEN = ("wire", "path", "dialect", "native_tools_remedy")

Raw: TypeAlias = Mapping[str, Data]


class Mistakes:
    """Collector of the mistakes in an entry of the list, each with the instance and the field."""

    def __init__(self, problems: Problems, entry: Raw, place: int) -> None:
        self.count = 0
        self._problems = problems
        self._label = read_id(entry) or f"entry {place}"
        self._unset: set[str | int] = set()

    def add(self, message: str, *path: str | int) -> None:
        """Add a mistake in a field, unless the field's variable is not set, which is a mistake already."""
        if path[0] not in self._unset:
            self._problems.add(message, *path, file=self._label)
            self.count += 1

    def include(self, error: DocumentError, field: str) -> None:
        """Add the mistakes of a nested document in a field."""
        if field not in self._unset:
            self._problems.include(error, self._label)
            self.count += 1

    def add_unset(self, variable: str, *path: str | int) -> None:
        """Add an environment variable that a field needs and that is not set."""
        message = f"the environment variable {variable} is not set; set it, or write the value"
        self._problems.add(message, *path, file=self._label)
        self._unset.add(path[0])
        self.count += 1


def read_id(entry: Raw) -> str:
    """Return the id of the instance, or an empty string."""
    return identity.strip() if isinstance(identity := entry.get("id"), str) else ""


def is_wanted(raw: Raw, environment: Mapping[str, str], providers: frozenset[str] | None, mistakes: Mistakes) -> bool:
    """Return whether the entry and its provider are enabled."""
    enabled = resolve_variables(raw.get("enabled", True), environment)
    if isinstance(enabled, str):
        enabled = _TRUTHS.get(enabled.strip().lower(), enabled)
    if not isinstance(enabled, bool):
        mistakes.add("is neither true nor false", "enabled")
        return True
    provider = resolve_variables(raw.get("provider"), environment)
    return enabled and (providers is None or not isinstance(provider, str) or provider.strip().lower() in providers)


def resolve_variables(
    value: Data, environment: Mapping[str, str], mistakes: Mistakes | None = None, *path: str | int
) -> Data:
    """Return the data with environment variables in place of `${NAME}`, in every value."""

    def replace_variable(variable: Variable) -> str:
        if not variable.name:
            return variable.text
        if text := environment.get(variable.name):
            return text
        if variable.default is None and mistakes is not None:
            mistakes.add_unset(variable.name, *path)
        return variable.default or ""

    if isinstance(value, dict):
        return {key: resolve_variables(item, environment, mistakes, *path, key) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve_variables(item, environment, mistakes, *path, place) for place, item in enumerate(value)]
    return substitute_variables(value, replace_variable) if isinstance(value, str) else value


def read_entry(raw: Raw, mistakes: Mistakes) -> Instance | None:
    """Return the instance, or `None` if the entry has mistakes."""
    identity = _text(raw, "id", mistakes, "name the instance")
    if identity in _RESERVED:
        mistakes.add(f'"{identity}:..." names something else already; give the instance another id', "id")
    url = _url(raw, mistakes)
    models = _models(raw, mistakes)
    limits = _limits(raw, "rateLimits", "requests per second", models, mistakes)
    tokens = _limits(raw, "tokenLimits", "tokens per second", models, mistakes)
    concurrencies = _concurrencies(raw, models, mistakes)
    kinds = _kinds(raw, models, mistakes)
    provider = _provider(raw, mistakes)
    if provider is None:
        _key(raw, None, url, mistakes)
        return None
    version = _api_version(raw, provider, mistakes)
    key = _key(raw, provider, url, mistakes)
    if mistakes.count:
        return None
    access = ProviderAccess(provider, key, url, identity, version)
    instance = Instance(access, models, limits, tokens, concurrencies, kinds)
    return instance if _serves_its_kinds(instance, mistakes) else None


def _serves_its_kinds(instance: Instance, mistakes: Mistakes) -> bool:
    for model, kind in instance.kinds.items():
        try:
            instance.create_model_of_kind(model, kind)
        except (ConfigurationError, UnsupportedFeatureError) as error:
            mistakes.add(str(error), "kinds", model)
    return not mistakes.count


def _text(raw: Raw, name: str, mistakes: Mistakes, remedy: str) -> str:
    """Return a required text, or an empty string if it is missing."""
    value = raw.get(name)
    if value is None or value == "":
        mistakes.add(f"is missing; {remedy}", name)
    elif not isinstance(value, str):
        mistakes.add(f"is not a text; {remedy}", name)
    else:
        return value.strip()
    return ""


def _url(raw: Raw, mistakes: Mistakes) -> str:
    url = _text(raw, "url", mistakes, 'name the address, as in "https://api.openai.com"')
    if url and (problem := find_url_problem(url)) is not None:
        mistakes.add(problem, "url")
    return url


def _models(raw: Raw, mistakes: Mistakes) -> tuple[str, ...]:
    value = raw.get("models")
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = ",".join(map(str, value))
    if value is not None and not isinstance(value, str):
        mistakes.add("is not a text; name the models, separated by commas", "models")
        return ()
    models = tuple(dict.fromkeys(name.strip() for name in (value or "").split(",") if name.strip()))
    if not models:
        mistakes.add("is empty; name at least one, separated by commas", "models")
    return models


def _limits(raw: Raw, name: str, unit: str, models: tuple[str, ...], mistakes: Mistakes) -> dict[str, float]:
    limits = {}
    for model, limit in _by_model(raw, name, "limit", f'{unit} by model, as in {{"gpt-5.4": 40}}', models, mistakes):
        number = _number(limit)
        if number is None or not 0 < number < float("inf"):
            mistakes.add(f"is not a number of {unit} above 0", name, model)
        else:
            limits[model] = number
    return limits


def _concurrencies(raw: Raw, models: tuple[str, ...], mistakes: Mistakes) -> dict[str, int]:
    limits, form = {}, 'how many calls may be under way at once by model, as in {"gpt-5.4": 10}'
    for model, limit in _by_model(raw, "maxConcurrency", "limit", form, models, mistakes):
        number = _number(limit)
        if number is None or number < 1 or not number.is_integer():
            mistakes.add("is not a whole number from 1 up", "maxConcurrency", model)
        else:
            limits[model] = int(number)
    return limits


def _kinds(raw: Raw, models: tuple[str, ...], mistakes: Mistakes) -> dict[str, KindName]:
    kinds: dict[str, KindName] = {}
    kind_names = ", ".join(KIND_NAMES)
    form = f'the kinds of models ({kind_names}), as in {{"bge-m3": "embeddings"}}'
    for model, named in _by_model(raw, "kinds", "kind", form, models, mistakes):
        kind = next((kind for kind in KIND_NAMES if kind == named), None)
        if kind is None:
            mistakes.add(f"is not one of {kind_names}", "kinds", model)
        else:
            kinds[model] = kind
    return kinds


def _by_model(
    raw: Raw, name: str, noun: str, form: str, models: tuple[str, ...], mistakes: Mistakes
) -> Iterator[tuple[str, Data]]:
    """Yield the value of a field for each of the models, and for all others under `"*"`."""
    value = raw.get(name) or {}
    if not isinstance(value, dict):
        mistakes.add(f"is not an object; write {form}", name)
        return
    for model, setting in value.items():
        if models and model not in (*models, "*"):
            mistakes.add(f"is not one of the models; add it to them, or take the {noun} out", name, model)
        else:
            yield model, setting


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        return None


def _provider(raw: Raw, mistakes: Mistakes) -> Provider | None:
    name = _text(raw, "provider", mistakes, f"name one of {', '.join(KNOWN_PROVIDERS)}").lower()
    if name == "custom":
        return _custom(raw, mistakes)
    if name and name not in PROVIDERS:
        hint = did_you_mean(name, KNOWN_PROVIDERS)
        mistakes.add(f"there is no {name!r}; known are {', '.join(KNOWN_PROVIDERS)}.{hint}", "provider")
    provider = PROVIDERS.get(name)
    return provider if provider is None or raw.get("apiFormat") is None else _in_format(raw, provider, mistakes)


def _in_format(raw: Raw, provider: Provider, mistakes: Mistakes) -> Provider:
    """Return the provider in the format that the entry names."""
    spoken = {endpoint.wire.name: endpoint for endpoint in (provider.elsewhere, provider) if endpoint is not None}
    name = raw["apiFormat"]
    if not isinstance(name, str) or name not in spoken:
        mistakes.add(f"{provider.name} speaks {' or '.join(spoken)}", "apiFormat")
        return provider
    return replace(provider, **{n: getattr(spoken[name], n) for n in _SPOKEN}, elsewhere=None)


def _custom(raw: Raw, mistakes: Mistakes) -> Provider | None:
    if raw.get("custom") is None:
        mistakes.add("is missing; describe the provider: apiFormat, auth and endpoints", "custom")
        return None
    from tactician.llm.custom import parse_custom_provider  # its pydantic models take a while to build

    try:
        return parse_custom_provider(raw["custom"])
    except DocumentError as error:
        mistakes.include(error, "custom")
        return None


def _api_version(raw: Raw, provider: Provider, mistakes: Mistakes) -> str | None:
    value = raw.get("apiVersion")
    if provider.needs_api_version:
        return _text(raw, "apiVersion", mistakes, f'{provider.name} needs it, as in "2024-08-01-preview"') or None
    return value.strip() if isinstance(value, str) and value.strip() else None


def _key(raw: Raw, provider: Provider | None, url: str, mistakes: Mistakes) -> str | None:
    value = raw.get("key")
    if value is not None and not isinstance(value, str):
        mistakes.add('is not a text; write the key, or "${NAME}" for the key in an environment variable', "key")
        return None
    key = (value or "").strip()
    if UNPRINTABLE.search(key):
        mistakes.add("has characters that no header can carry, such as a line break", "key")
    if not key and provider is not None and _needs_key(provider, url):
        mistakes.add('is missing; write the key, or "${NAME}" for the key in an environment variable', "key")
    return key or None


def _needs_key(provider: Provider, url: str) -> bool:
    """Return whether the provider needs a key. A custom server may need none."""
    return provider.needs_api_version or (provider.key_variable is not None and provider.is_home(url))
