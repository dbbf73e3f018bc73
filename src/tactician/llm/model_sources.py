"""Sources of models: what resolves the name of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.grammar import add_article
from tactician.llm.model import LanguageModel
from tactician.llm.options import NO_ROUTING_OPTIONS, LlmOptions, RoutingOptions

if TYPE_CHECKING:  # their modules bring clients of services, which a program with a model of its own does not need
    from tactician.llm.embeddings.model import EmbeddingModel
    from tactician.llm.images import ImageModel
    from tactician.llm.routing.deployment import DeploymentStatus


@runtime_checkable
class ModelSource(Protocol):
    """Source of language models."""

    def resolve(self, options: LlmOptions) -> LanguageModel:
        """Return the model for `options.model`, `options.role` or, with neither, the default.

        Raises:
            ConfigurationError: when there is no such model, or its key is not set.
        """
        ...


@runtime_checkable
class MediaModelSource(Protocol):
    """Source of embedding models and image models, by name; without a name, of the default.

    The options come from the caller; a source without instances may ignore them.
    """

    def embedding_model(self, name: str | None = None, options: RoutingOptions = NO_ROUTING_OPTIONS) -> EmbeddingModel:
        """Return the embedding model of this name.

        Raises:
            ConfigurationError: when there is no such model, or its key is not set.
        """
        ...

    def image_model(self, name: str | None = None, options: RoutingOptions = NO_ROUTING_OPTIONS) -> ImageModel:
        """Return the image model of this name.

        Raises:
            ConfigurationError: when there is no such model, or its key is not set.
        """
        ...


@runtime_checkable
class ObservedModelSource(Protocol):
    """Source of models that knows the state of each model at each instance."""

    def status(self) -> tuple[DeploymentStatus, ...]:
        """Return the status of each deployment."""
        ...


@frozen
class OneModel:
    """Source in which every name and role means the same model, for tests and simple programs."""

    model: LanguageModel

    def resolve(self, options: LlmOptions) -> LanguageModel:
        """Return the only model."""
        return self.model


ModelLike: TypeAlias = str | LlmOptions | LanguageModel
"""A model: its name, options that may name it, or the model itself."""


def as_model_source(models: ModelSource | LanguageModel | str) -> ModelSource:
    """Return the source itself, a source for the model, or the models of this machine with the named default.

    Raises:
        ConfigurationError: when it is nothing of that.
    """
    if isinstance(models, ModelSource):  # a router is both, and knows which of its models is meant
        return models
    if isinstance(models, str):
        from tactician.llm.catalog import load_models_with_default

        return load_models_with_default(models)
    if not hasattr(models, "generate"):
        raise ConfigurationError(
            f"Models cannot come from {add_article(type(models).__name__)}. "
            "Give the name of a model, a model, a ModelRouter or a ModelCatalog."
        )
    return OneModel(models)


def as_media_source(models: ModelSource) -> MediaModelSource:
    """Return the source itself if it has embeddings and images. No other source or key replaces it.

    Raises:
        ConfigurationError: when the source has neither.
    """
    if isinstance(models, MediaModelSource):
        return models
    what = f"{type(models.model).__name__} alone" if isinstance(models, OneModel) else type(models).__name__
    raise ConfigurationError(
        f"{what} makes no embeddings and no images. Give a ModelRouter with deployments that do, or a ModelCatalog."
    )
