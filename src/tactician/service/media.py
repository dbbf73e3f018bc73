"""Embeddings and images of a service."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tactician.llm import Image, RoutingOptions
from tactician.llm.embeddings.model import Vector
from tactician.llm.model_sources import MediaModelSource, ModelSource, as_media_source
from tactician.platform.conversations.pictures import Picture, read_picture
from tactician.runs import RunContext
from tactician.runs.reporting import report_model_call


class MediaService(ABC):
    """Embeddings and images, by the models, instances and keys that answer requests too.

    Args:
        models: where models come from, those for embeddings and images too.
    """

    def __init__(self, models: ModelSource) -> None:
        self._models = models

    @abstractmethod
    def context(self) -> RunContext:
        """Return a context of the platform, whose listeners hear of the calls."""

    async def embed(
        self, text: str, *, model: str | None = None, instances: Sequence[str] = (), session: str | None = None
    ) -> Vector:
        """Return the vector of a text; see `embed_all`."""
        return (await self.embed_all((text,), model=model, instances=instances, session=session))[0]

    async def embed_all(
        self,
        texts: Sequence[str],
        *,
        model: str | None = None,
        instances: Sequence[str] = (),
        session: str | None = None,
    ) -> tuple[Vector, ...]:
        """Return a vector for each text, in order.

        Args:
            texts: the texts.
            model: name of an embedding model; the default model, when `None`.
            instances: the only instances that may be called; any by default.
            session: calls with the same key go to the same instance, where the router is `sticky`.

        Raises:
            ConfigurationError: when there is no such model, or none of these instances has it.
            ModelError: when it cannot be called.
        """
        embedding_model = self._services.embedding_model(model, _route(instances, session))
        calling = embedding_model.embed(texts)
        return (await report_model_call(calling, self.context(), "embeddings", embedding_model.name)).vectors

    async def image(
        self,
        prompt: str,
        *,
        model: str | None = None,
        size: str = "1024x1024",
        quality: str = "standard",
        instances: Sequence[str] = (),
        session: str | None = None,
    ) -> Image:
        """Return an image of what the prompt says.

        Args:
            prompt: what to show.
            model: name of an image model; the default model, when `None`.
            size: width x height in pixels.
            quality: `"standard"` or `"hd"`, or a word of the model's own.
            instances: as for `embed_all`.
            session: as for `embed_all`.

        Raises:
            ConfigurationError: when there is no such model, or none of these instances has it.
            ModelError: when it cannot be called.
        """
        image_model = self._services.image_model(model, _route(instances, session))
        calling = image_model.generate(prompt, size=size, quality=quality)
        return (await report_model_call(calling, self.context(), "images", image_model.name)).images[0]

    async def edit_image(
        self,
        image: Picture,
        prompt: str,
        *,
        mask: Picture | None = None,
        model: str | None = None,
        instances: Sequence[str] = (),
        session: str | None = None,
    ) -> Image:
        """Return an image, changed as the prompt says; only where the mask is transparent, if any.

        Args:
            image: the image.
            prompt: what to change.
            mask: an image of the same size.
            model: as for `image`.
            instances: as for `embed_all`.
            session: as for `embed_all`.

        Raises:
            ConfigurationError: when there is no such model, or none of these instances has it.
            ValueError: when an image is not valid.
            ModelError: when the model cannot be called.
        """
        image_model = self._services.image_model(model, _route(instances, session))
        calling = image_model.edit(read_picture(image), prompt, mask=None if mask is None else read_picture(mask))
        return (await report_model_call(calling, self.context(), "images", image_model.name)).images[0]

    @property
    def _services(self) -> MediaModelSource:
        return as_media_source(self._models)


def _route(instances: Sequence[str], session: str | None) -> RoutingOptions:
    return RoutingOptions(instances=tuple(instances), session=session)
