"""Instances: an endpoint, the models that it serves, and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tactician.errors import ConfigurationError, UnsupportedFeatureError
from tactician.frozen import frozen
from tactician.llm.embeddings.model import EmbeddingModel
from tactician.llm.embeddings.remote import RemoteEmbeddingModel
from tactician.llm.images import ImageModel, RemoteImageModel
from tactician.llm.model import LanguageModel
from tactician.llm.model_kinds import KindName, guess_kind
from tactician.llm.model_profiles import BUILT_IN_PROFILES, ModelProfiles
from tactician.llm.provider_access import ProviderAccess
from tactician.llm.remote import Endpoint, RemoteModel
from tactician.llm.usage import ModelPrice


@frozen
class Instance:
    """Endpoint and the models that it serves.

    Attributes:
        access: the provider, address and key.
        rate_limits: requests per second, by model; `"*"` means all others.
        token_limits: tokens per second, likewise.
        concurrencies: how many calls may run at once, likewise.
        kinds: the kinds of models whose names do not imply them.
        profiles: the model profiles.
        prices: custom prices.
    """

    access: ProviderAccess = field(repr=False)
    models: tuple[str, ...]
    rate_limits: Mapping[str, float] = field(default_factory=dict)
    token_limits: Mapping[str, float] = field(default_factory=dict)
    concurrencies: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, KindName] = field(default_factory=dict)
    profiles: ModelProfiles = field(default=BUILT_IN_PROFILES, repr=False)
    prices: Mapping[str, ModelPrice] = field(default_factory=dict, repr=False)

    @property
    def id(self) -> str:
        """Name before the colon of `instance:model`."""
        return self.access.name

    @property
    def provider(self) -> str:
        """Name of the provider."""
        return self.access.provider.name

    @property
    def endpoint(self) -> Endpoint:
        """Endpoint of a model without a profile."""
        return self.access.create_chat_endpoint("", self.profiles, self.prices)

    def create_model(self, name: str) -> RemoteModel:
        """Return a chat model of the instance."""
        return RemoteModel(name, self.access.create_chat_endpoint(name, self.profiles, self.prices))

    def find_rate_limit(self, model: str) -> float | None:
        """Return the requests per second for a model, or `None` if only the general limit applies."""
        return self.rate_limits.get(model, self.rate_limits.get("*"))

    def find_token_limit(self, model: str) -> float | None:
        """Return the tokens per second for a model, or `None` if only the general limit applies."""
        return self.token_limits.get(model, self.token_limits.get("*"))

    def find_concurrency(self, model: str) -> int | None:
        """Return how many calls of a model may run at once, or `None` if only the general limit applies."""
        return self.concurrencies.get(model, self.concurrencies.get("*"))

    def find_kind(self, model: str) -> KindName:
        """Return the kind of a model: the entry's, else the name's if the provider serves it."""
        if (kind := self.kinds.get(model, self.kinds.get("*"))) is not None:
            return kind
        guessed = guess_kind(model)
        try:
            self.create_model_of_kind(model, guessed)
        except (ConfigurationError, UnsupportedFeatureError):
            return "chat"
        return guessed

    def create_model_of_kind(self, model: str, kind: KindName) -> LanguageModel | EmbeddingModel | ImageModel:
        """Return a model of this kind.

        Raises:
            ConfigurationError: when the provider serves no models of the kind.
            UnsupportedFeatureError: when a custom specification does not declare such models.
        """
        if kind == "embeddings":
            return RemoteEmbeddingModel.at_provider(self.access, model, prices=self.prices)
        if kind == "images":
            return RemoteImageModel.at_provider(self.access, model, prices=self.prices)
        return self.create_model(model)
