"""The models of this machine: chat models, embedding models and image models by name, and the default of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

from tactician.config import ModelSettings, Settings, load_settings
from tactician.llm.embeddings import EmbeddingModel
from tactician.llm.endpoint_resolver import CHAT, EMBEDDINGS, IMAGES, EndpointResolver, ModelEntry, ModelKind, is_local
from tactician.llm.images import ImageModel
from tactician.llm.model import LanguageModel
from tactician.llm.options import LlmOptions
from tactician.llm.routing import Deployment, DeploymentStatus, ModelRouter, deployments_of

M = TypeVar("M")


@runtime_checkable
class ModelSource(Protocol):
    """Source of language models."""

    def resolve(self, options: LlmOptions) -> LanguageModel:
        """Return the model for `options.model`, `options.role` or, with neither, the default.

        Raises:
            ConfigurationError: when there is none, or when its key is not set.
        """
        ...


@runtime_checkable
class MediaModelSource(Protocol):
    """Source of embedding models and image models, by name; without one, the default."""

    def embedding_model(self, name: str | None = None) -> EmbeddingModel:
        """Return the embedding model of this name.

        Raises:
            ConfigurationError: when there is none, or when its key is not set.
        """
        ...

    def image_model(self, name: str | None = None) -> ImageModel:
        """Return the image model of this name.

        Raises:
            ConfigurationError: when there is none, or when its key is not set.
        """
        ...


@dataclass(frozen=True, slots=True)
class OneModel:
    """A source in which every name and role stands for the same model: what tests and simple programs need."""

    model: LanguageModel

    def resolve(self, options: LlmOptions) -> LanguageModel:
        """Return the one model."""
        return self.model


ModelLike: TypeAlias = str | LlmOptions | LanguageModel
"""A model: its name, options that may name it, or the model itself."""


def source_of(models: ModelSource | LanguageModel) -> ModelSource:
    """Return the given source, or a source for the given model."""
    if isinstance(models, ModelSource):  # a router is both, and knows which of its models is meant
        return models
    return OneModel(models)


class ModelCatalog:
    """The models of this machine: instances from the environment, single keys, Ollama, and the embedded model.

    All chat models but the embedded one are called through one `ModelRouter`, which retries, fails over and falls back.

    Attributes:
        instances: the instances of `LLM_INSTANCES`.
    """

    def __init__(self, settings: Settings | None = None, environment: Mapping[str, str] | None = None) -> None:
        """Read settings (else `tactician.toml`) and an environment (else this process's).

        Raises:
            ConfigurationError: when the settings or `LLM_INSTANCES` are not valid.
        """
        self._settings: ModelSettings = (settings if settings is not None else load_settings()).models
        self._resolver = EndpointResolver(self._settings, os.environ if environment is None else environment)
        self.instances = self._resolver.instances
        self._router = ModelRouter(deployments_of(self.instances))
        self._chat_models: dict[str, LanguageModel] = {}
        self._embedding_models: dict[str, EmbeddingModel] = {}
        self._image_models: dict[str, ImageModel] = {}

    def resolve(self, options: LlmOptions) -> LanguageModel:
        """Return the model that the options ask for; the same name gives the same object.

        Raises:
            UnknownModelError: when nothing serves the name.
            ConfigurationError: when the role or the key is not set.
        """
        model = self._find(CHAT, self._chat_models, options.wanted, self._chat_model)
        for fallback in options.fallbacks:
            self._serve(fallback)
        return model

    def embedding_model(self, name: str | None = None) -> EmbeddingModel:
        """Return the embedding model of this name, else the default; the same name gives the same object.

        The default: `TACTICIAN_EMBEDDING`, `default_embedding` in `tactician.toml`, what the instances list, what there
        is a key for, the embedded one.

        Raises:
            UnknownModelError: when nothing serves the name.
            ConfigurationError: when there is none, the role or the key is not set, or the provider has no embeddings.
        """
        return self._find(EMBEDDINGS, self._embedding_models, name, partial(self._media_model, EMBEDDINGS))

    def image_model(self, name: str | None = None) -> ImageModel:
        """Return the image model of this name, else the default; the same name gives the same object.

        The default: `TACTICIAN_IMAGE`, `default_image` in `tactician.toml`, what the instances list, what there is a
        key for.

        Raises:
            UnknownModelError: when nothing serves the name.
            ConfigurationError: when there is none, the role or the key is not set, or the provider has no images.
        """
        return self._find(IMAGES, self._image_models, name, partial(self._media_model, IMAGES))

    @property
    def default(self) -> tuple[str, str]:
        """The name of the default model, and why it is that one.

        Raises:
            ConfigurationError: when there is no model at all.
        """
        return self._resolver.default(CHAT)

    def entries(self) -> tuple[ModelEntry, ...]:
        """Return all that can be used by name, in the order in which the default is looked for."""
        return self._resolver.entries()

    def health(self) -> Mapping[str, DeploymentStatus]:
        """Return the status of each model that the router serves by now, by its full name, `instance:model`."""
        return {status.name: status for status in self._router.status()}

    def _find(self, kind: ModelKind[M], models: dict[str, M], wanted: str | None, make: Callable[[str], M]) -> M:
        """Return the model that is wanted, which is made once; a role shares the model that it stands for."""
        if wanted is not None and (model := models.get(wanted)) is not None:
            return model
        name = self._resolver.choose(kind, wanted)
        if (found := models.get(name)) is None:
            found = models[name] = make(name)
        if wanted is not None:
            models[wanted] = found
        return found

    def _media_model(self, kind: ModelKind[M], name: str) -> M:
        return self._resolver.resolve(kind, name)[1]

    def _chat_model(self, name: str) -> LanguageModel:
        fallbacks = self._settings.fallbacks.get(name, ())
        if is_local(name) and not fallbacks:
            return self._resolver.resolve(CHAT, name)[1]
        for served in (name, *fallbacks):
            self._serve(served)
        if fallbacks:
            self._router.fall_back(name, *fallbacks)
        return self._router.for_model(name)

    def _serve(self, name: str) -> None:
        """Make sure that the router serves the model: outside the instances, it is one deployment of its own."""
        if not self._router.serves(name):
            instance, model = self._resolver.resolve(CHAT, name)
            self._router.add(Deployment(instance, name, model))


@cache
def default_models() -> ModelCatalog:
    """Return the models of `tactician.toml` and the environment of this process, which are read once."""
    return ModelCatalog()
