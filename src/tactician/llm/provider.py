"""What a provider is: where it is, how it is spoken to, and what it can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from tactician.llm.feature_check import FeatureCheck, OnUnsupported
from tactician.llm.model import Features
from tactician.llm.model_profiles import BUILT_IN_PROFILES, ModelProfiles
from tactician.llm.remote import FULL_FEATURES, Endpoint
from tactician.llm.usage import NO_PRICES, ModelPrice
from tactician.llm.wire import BINDING_HEADER, DEFAULT_DIALECT, OPENAI_CHAT, Dialect, WireFormat


@dataclass(frozen=True, slots=True)
class Provider:
    """How to reach a provider.

    Attributes:
        base_url: where its API is; an environment variable or an instance can say otherwise.
        path: what follows the base URL; it may have a query.
        key_variable: the environment variable of the key; `None` when it needs none.
        default_model: the model to use when its key is set and nobody says which model.
        auth_header: the header that carries the key, where `{key}` stands in `auth_format`.
        headers: what every request has beside the key; `{api_version}` stands for the instance's.
        query: what the query of every request has.
        features: what its models can do, where no fact says otherwise.
        wire: the wire format, and `dialect` its differences from that.
        sends_api_version: whether an instance's `apiVersion` goes into the query.
        needs_api_version: whether an instance has to have an `apiVersion`.
        declared: the features that a specification declares; those of `features` and `dialect` when `None`.
        streams: whether answers can be had in pieces.
        on_unsupported: what happens to a request that asks for more.
        endpoints: the paths of what it serves beside conversations, by the names of a specification.
        prices: prices of one's own, by the beginning of a model's name.
        elsewhere: how it is spoken to at another host than that of `base_url`.
    """

    name: str
    base_url: str | None
    key_variable: str | None = None
    default_model: str | None = None
    path: str = "/v1/chat/completions"
    auth_header: str = "Authorization"
    auth_format: str = "Bearer {key}"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    features: Features = FULL_FEATURES
    wire: WireFormat = OPENAI_CHAT
    dialect: Dialect = DEFAULT_DIALECT
    sends_api_version: bool = False
    needs_api_version: bool = False
    declared: frozenset[str] | None = None
    streams: bool = True
    on_unsupported: OnUnsupported = "throw"
    endpoints: Mapping[str, str] = field(default_factory=dict)
    prices: Mapping[str, ModelPrice] = field(default_factory=dict, repr=False)
    elsewhere: Provider | None = field(default=None, repr=False)

    def create_endpoint(
        self,
        key: str | None,
        base_url: str | None = None,
        *,
        name: str | None = None,
        api_version: str | None = None,
        model: str = "",
        profiles: ModelProfiles = BUILT_IN_PROFILES,
        prices: Mapping[str, ModelPrice] = NO_PRICES,
    ) -> Endpoint:
        """The endpoint of a model for a key, at `base_url` or the provider's own.

        Without a model, that of a model of which nothing is known.
        """
        spoken, called = self.for_base_url(base_url), name or self.name
        features, dialect = profiles.resolve(self.name, model, spoken.features, spoken.dialect, called)
        return Endpoint(
            called,
            spoken._url(base_url or spoken.base_url or "", api_version),
            _with_beta(spoken._headers(key, api_version), dialect),
            features,
            spoken.wire,
            dialect,
            prices=spoken.prices,
            default_prices=prices,
            feature_check=FeatureCheck(called, spoken.list_features(features, dialect), spoken.on_unsupported),
            streams=spoken.streams,
        )

    def for_base_url(self, base_url: str | None) -> Provider:
        """How it is spoken to at a base URL: servers that are like OpenAI's know only chat completions.

        A base URL that ends in the provider's own path, as in `https://gateway.example/v1/responses`, knows it.
        """
        if self.elsewhere is None or not base_url or base_url.rstrip("/").endswith(self.path):
            return self
        return self if self.is_home(base_url) else self.elsewhere

    def is_home(self, base_url: str) -> bool:
        """Whether a base URL is one of the provider's own."""
        host, home = urlsplit(base_url).hostname or "", urlsplit(self.base_url or "").hostname
        return home is not None and (host == home or host.endswith(f".{home}"))

    def list_features(self, features: Features, dialect: Dialect) -> frozenset[str]:
        """Return the names of the features that a model has, as a `FeatureCheck` knows them."""
        if self.declared is not None:
            return self.declared
        has = {
            "function_calling": features.tools,
            "structured_output": features.json_schema,
            "vision": features.images,
            "documents": bool(dialect.documents),
            # A model that refuses to be told how long to think is not told: that is no reason to fail.
            "reasoning": True,
            **dict.fromkeys(dialect.native_tools, True),
        }
        return frozenset(feature for feature, there in has.items() if there)

    def _url(self, base_url: str, api_version: str | None) -> str:
        url = join_url(base_url, self.path)
        query = {**self.query, **({"api-version": api_version} if self.sends_api_version and api_version else {})}
        return f"{url}{'&' if '?' in url else '?'}{urlencode(query)}" if query else url

    def _headers(self, key: str | None, api_version: str | None) -> dict[str, str]:
        headers = {name: value.replace("{api_version}", api_version or "") for name, value in self.headers.items()}
        if key and (stripped := key.strip()):
            headers[self.auth_header] = self.auth_format.replace("{key}", stripped)
        return headers


def _with_beta(headers: dict[str, str], dialect: Dialect) -> dict[str, str]:
    if dialect.drops_stale_thinking:
        name, value = BINDING_HEADER
        headers[name] = ",".join(filter(None, (headers.get(name), value)))
    return headers


def join_url(base_url: str, path: str) -> str:
    """A base URL and a path, where the base URL may have the beginning of the path already."""
    base = base_url.rstrip("/")
    plain, mark, query = path.partition("?")
    places = [place for place, letter in enumerate(plain) if letter == "/" and place] + [len(plain)]
    start = max((place for place in places if base.endswith(plain[:place])), default=0)
    return f"{base}{plain[start:]}{mark}{query}"
