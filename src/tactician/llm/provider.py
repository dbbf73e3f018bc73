"""Description of a provider: its address, protocol and features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from urllib.parse import urlencode, urlsplit

from tactician.frozen import frozen
from tactician.llm.feature_check import FeatureCheck, OnUnsupported
from tactician.llm.model import Features
from tactician.llm.model_profiles import BUILT_IN_PROFILES, ModelProfiles
from tactician.llm.remote import FULL_FEATURES, Endpoint
from tactician.llm.usage import NO_PRICES, ModelPrice
from tactician.llm.wire import Dialect
from tactician.llm.wire.anthropic_messages import BINDING_HEADER
from tactician.llm.wire.dialect import DEFAULT_DIALECT
from tactician.llm.wire.openai_chat import OPENAI_CHAT
from tactician.llm.wire.wire_format import WireFormat


@frozen
class Provider:
    """Address, protocol and features of a provider.

    Attributes:
        base_url: the address of the API; an environment variable or an instance can override it.
        path: the path after the base URL; may have a query.
        key_variable: the environment variable of the key; `None` if the provider needs none.
        other_key_variables: further variables that are common for its key, which are read when `key_variable` is not
            set.
        default_model: the default model if the key is set.
        auth_header: the header that carries the key, where `{key}` stands in `auth_format`.
        headers: headers of every request beside the key; `{api_version}` stands for the instance's version.
        query: query parameters of every request.
        features: the features of its models, unless a profile differs.
        wire: the wire format; `dialect` holds the provider's differences from it.
        sends_api_version: true when an instance's `apiVersion` goes into the query.
        needs_api_version: true when an instance must have an `apiVersion`.
        declared: the features that a custom specification declares; if `None`, `features` and `dialect` say them.
        streams: true when the provider streams answers.
        on_unsupported: the reaction to a request that needs an unsupported feature.
        endpoints: the paths of its other endpoints, by their names in a specification.
        prices: custom prices, by prefix of a model's name.
        elsewhere: the provider to use for another host than `base_url`'s.
        native_tools_remedy: what makes native tools available, in the error for a request that needs them.
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
    native_tools_remedy: str = ""
    other_key_variables: tuple[str, ...] = ()

    def find_key_variable(self, environment: Mapping[str, str]) -> str | None:
        """Return the first of the variables of its key that is set; `key_variable` if none is set."""
        others = (name for name in self.other_key_variables if environment.get(name, "").strip())
        if self.key_variable is None or environment.get(self.key_variable, "").strip():
            return self.key_variable
        return next(others, self.key_variable)

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
        """Return the endpoint of a model for a key, at `base_url` or the provider's own address.

        Without a model, the endpoint is as for a model without a profile.
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
            feature_check=FeatureCheck(
                called, spoken.list_features(features, dialect), spoken.on_unsupported, spoken.native_tools_remedy
            ),
            streams=spoken.streams,
        )

    def for_base_url(self, base_url: str | None) -> Provider:
        """Return the provider to use at a base URL: servers like OpenAI's support only chat completions.

        A base URL that ends in the provider's own path, as in `https://gateway.example/v1/responses`, supports that.
        """
        if self.elsewhere is None or not base_url or base_url.rstrip("/").endswith(self.path):
            return self
        return self if self.is_home(base_url) else self.elsewhere

    def is_home(self, base_url: str) -> bool:
        """Return whether a base URL belongs to the provider."""
        host, home = urlsplit(base_url).hostname or "", urlsplit(self.base_url or "").hostname
        return home is not None and (host == home or host.endswith(f".{home}"))

    def list_features(self, features: Features, dialect: Dialect) -> frozenset[str]:
        """Return the names of the features of a model, as a `FeatureCheck` uses them."""
        if self.declared is not None:
            return self.declared
        has = {
            "function_calling": features.tools,
            "structured_output": features.json_schema,
            "vision": features.images,
            "documents": bool(dialect.documents),
            # An unsupported reasoning effort is left out: that is not a reason to fail.
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
    """Return a base URL joined with a path, whose beginning the base URL may already have."""
    base = base_url.rstrip("/")
    plain, mark, query = path.partition("?")
    places = [place for place, letter in enumerate(plain) if letter == "/" and place] + [len(plain)]
    start = max((place for place in places if base.endswith(plain[:place])), default=0)
    return f"{base}{plain[start:]}{mark}{query}"
