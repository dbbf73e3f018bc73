"""Catalog of the models of this machine: chat, embedding and image models by name, and the default of each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from threading import RLock
from typing import Final, TypeVar

from tactician.config import Settings
from tactician.config.loading import load_settings
from tactician.environment import read_environment
from tactician.errors import ConfigurationError
from tactician.llm.embeddings.model import EmbeddingModel
from tactician.llm.endpoint_resolver import (
    CHAT,
    EMBEDDINGS,
    IMAGES,
    MODEL_VARIABLE,
    EndpointResolver,
    ModelEntry,
    ModelKind,
    is_local,
)
from tactician.llm.images import ImageModel
from tactician.llm.model import LanguageModel
from tactician.llm.options import NO_ROUTING_OPTIONS, LlmOptions, RoutingOptions
from tactician.llm.router_settings import apply_environment
from tactician.llm.routing.deployment import Deployment, DeploymentStatus, ServedModel, create_deployments
from tactician.llm.routing.media import RoutedEmbeddingModel, RoutedImageModel
from tactician.llm.routing.router import ModelRouter
from tactician.llm.routing.router_arguments import create_router_arguments

M = TypeVar("M", bound=ServedModel)
REGISTERED: Final = "program"
"""Instance of models that the program registers."""


class ModelCatalog:
    """Models of this machine: instances, providers whose key is set, Ollama, and the embedded model.

    All models but the embedded one are called through a shared `ModelRouter`, which limits calls, retries them, fails
    over and falls back: chat models, embedding models and image models alike.

    Attributes:
        instances: the instances of `LLM_INSTANCES`, else of the settings.
    """

    def __init__(self, settings: Settings | None = None, environment: Mapping[str, str] | None = None) -> None:
        """Read settings (else `tactician.toml`) and an environment (else this process's).

        Raises:
            ConfigurationError: when the settings or the variables are not valid.
        """
        variables = self._environment = read_environment(environment)
        models = (settings if settings is not None else load_settings()).models
        self._settings = apply_environment(models, variables)
        self._resolver = EndpointResolver(self._settings, variables)
        self.instances = self._resolver.instances
        self._router = ModelRouter(create_deployments(self.instances), **create_router_arguments(self._settings.router))
        self._chat_models: dict[str, LanguageModel] = {}
        self._embedding_models: dict[str, EmbeddingModel] = {}
        self._image_models: dict[str, ImageModel] = {}
        self._lock = RLock()  # threads with event loops of their own may name a model for the first time at once

    def resolve(self, options: LlmOptions) -> LanguageModel:
        """Return the model that the options ask for; the same name gives the same object.

        Raises:
            UnknownModelError: when no provider or instance serves the name.
            ConfigurationError: when the role or the key is not set.
        """
        model = self._find(CHAT, self._chat_models, options.requested_model, self._chat_model)
        for fallback in options.fallbacks:
            self._serve(CHAT, fallback)
        return model

    def embedding_model(self, name: str | None = None, options: RoutingOptions = NO_ROUTING_OPTIONS) -> EmbeddingModel:
        """Return the embedding model of this name, else the default; the same name gives the same object.

        The default is, in this order: `TACTICIAN_EMBEDDING`, `default_embedding` in `tactician.toml`, a model of the
        instances, a model of a provider whose key is set, the embedded model.

        Raises:
            UnknownModelError: when no provider or instance serves the name.
            ConfigurationError: when no model is configured, the role or the key is not set, the provider has no
                embeddings, or `[models.fallbacks]` has some for it.
        """
        model = self._find(EMBEDDINGS, self._embedding_models, name, self._embedding_model)
        if options == NO_ROUTING_OPTIONS or not isinstance(model, RoutedEmbeddingModel):
            return model
        return model.with_options(options)

    def image_model(self, name: str | None = None, options: RoutingOptions = NO_ROUTING_OPTIONS) -> ImageModel:
        """Return the image model of this name, else the default; the same name gives the same object.

        The default is, in this order: `TACTICIAN_IMAGE`, `default_image` in `tactician.toml`, a model of the instances,
        a model of a provider whose key is set.

        Raises:
            UnknownModelError: when no provider or instance serves the name.
            ConfigurationError: when no model is configured, the role or the key is not set, or the provider has no
                images.
        """
        model = self._find(IMAGES, self._image_models, name, self._image_model)
        return model.with_options(options) if isinstance(model, RoutedImageModel) else model

    def register(self, model: ServedModel, name: str | None = None) -> None:
        """Serve a model of the program, for chat, embeddings or images, by a name as any other model.

        Roles, defaults and fallbacks can name it, and calls are limited, retried and counted. A chat model with
        `Features(knowledge_cutoff=...)` has that day in its instructions.

        Args:
            model: the model.
            name: the name; the name of the model by default.

        Raises:
            ConfigurationError: when it is not a model, or another model already has the name.
        """
        if not isinstance(model, LanguageModel | EmbeddingModel | ImageModel):
            raise ConfigurationError(
                f"{type(model).__name__} is not a model: it needs the members of a LanguageModel, an EmbeddingModel or "
                "an ImageModel of tactician.llm"
            )
        added = Deployment(REGISTERED, name or model.name, model)
        with self._lock:
            if self._router.has_model(added.model, added.kind):
                raise ConfigurationError(
                    f"There is a model {added.model!r} already: register this model by another name"
                )
            self._router.add(added)
            self._resolver.registered.append(ModelEntry(added.model, REGISTERED, "it is registered", added.kind))

    @property
    def default(self) -> tuple[str, str]:
        """Name of the default model, and the reason why that is the default.

        Raises:
            ConfigurationError: when there is no model.
        """
        return self._resolver.find_default(CHAT)

    def list_entries(self) -> tuple[ModelEntry, ...]:
        """Return all models that can be used by name, in the order in which the default is chosen."""
        return self._resolver.list_entries()

    def list_named_entries(self) -> tuple[ModelEntry, ...]:
        """Return the models that the default and the roles name, besides the models of `list_entries`."""
        return self._resolver.list_named_entries()

    async def list_served_models(self) -> tuple[str, ...]:
        """Ask the server of `OPENAI_BASE_URL` for its models; none where it does not say within 5 seconds.

        Raises:
            ConfigurationError: when the value is not a URL.
        """
        from tactician.llm.served_models import list_served_models

        return await list_served_models(self._environment)

    def status(self) -> tuple[DeploymentStatus, ...]:
        """Return the status of each deployment that the router serves so far."""
        return self._router.status()

    def get_statuses(self) -> Mapping[str, DeploymentStatus]:
        """Return the status of each model that the router serves so far, by its full name, `instance:model`.

        A model that is served as several kinds has a status for each kind, as in `instance:model (images)`.
        """
        health: dict[str, DeploymentStatus] = {}
        for status in self.status():
            health[status.name if status.name not in health else f"{status.name} ({status.kind})"] = status
        return health

    def _find(self, kind: ModelKind[M], models: dict[str, M], requested: str | None, make: Callable[[str], M]) -> M:
        """Return the requested model, which is built once; a role shares the model that it stands for."""
        if requested is not None and (model := models.get(requested)) is not None:
            return model
        with self._lock:
            name = self._resolver.choose_model(kind, requested)
            if (model := models.get(name)) is None:
                model = models[name] = make(name)
            if requested is not None:
                models[requested] = model
            return model

    def _chat_model(self, name: str) -> LanguageModel:
        if is_local(name) and not self._settings.fallbacks.get(name):
            return self._resolver.build_local(CHAT, name)
        self._serve(CHAT, name)
        return self._router.for_model(name)

    def _embedding_model(self, name: str) -> EmbeddingModel:
        if is_local(name) and not self._settings.fallbacks.get(name):
            return self._resolver.build_local(EMBEDDINGS, name)
        self._serve(EMBEDDINGS, name)
        return self._router.embedding_model(name)

    def _image_model(self, name: str) -> ImageModel:
        self._serve(IMAGES, name)
        return self._router.image_model(name)

    def _serve(self, kind: ModelKind[M], name: str) -> None:
        """Make sure that the router serves the model and its fallbacks."""
        fallbacks = self._settings.fallbacks.get(name, ())
        with self._lock:
            for served in (name, *fallbacks):
                if not self._router.has_model(served, kind.name):
                    self._router.add(*self._resolver.find_deployments(kind, served))
            if fallbacks:
                self._router.set_fallbacks(name, *fallbacks, kind=kind.name)


@cache
def load_default_models() -> ModelCatalog:
    """Return the models of `tactician.toml` and of this process's environment. Both are read once."""
    return ModelCatalog()


def load_models_with_default(model: str) -> ModelCatalog:
    """Return the models of this machine, where `model` is the default. A name that no provider serves fails in runs."""
    return ModelCatalog(environment={**read_environment(), MODEL_VARIABLE: model})
