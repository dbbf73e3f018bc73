"""Vectors and pictures."""

from __future__ import annotations

from collections.abc import Sequence

from tactician.llm import Image, MediaModelSource, ModelSource, Vector, media_source_of
from tactician.platform import Picture, read_picture


class MediaService:
    """What models make beside answers.

    Args:
        models: where models come from, those for embeddings and images too.
    """

    def __init__(self, models: ModelSource) -> None:
        self._models = models

    async def embed(self, text: str, *, model: str | None = None) -> Vector:
        """The vector of a text, by the embedding model of this name, else the default one.

        Raises:
            ConfigurationError: when there is no such model.
            ModelError: when it cannot be called.
        """
        return (await self.embed_all((text,), model=model))[0]

    async def embed_all(self, texts: Sequence[str], *, model: str | None = None) -> tuple[Vector, ...]:
        """One vector for each text, in order.

        Raises:
            ConfigurationError: when there is no such model.
            ModelError: when it cannot be called.
        """
        return (await self._services.embedding_model(model).embed(texts)).vectors

    async def image(
        self, prompt: str, *, model: str | None = None, size: str = "1024x1024", quality: str = "standard"
    ) -> Image:
        """A picture of what the prompt says.

        Args:
            prompt: what to show.
            model: the name of an image model; the default one by default.
            size: width x height in pixels.
            quality: `"standard"` or `"hd"`, or a word of the model's own.

        Raises:
            ConfigurationError: when there is no such model.
            ModelError: when it cannot be called.
        """
        made = await self._services.image_model(model).generate(prompt, size=size, quality=quality)
        return made.images[0]

    async def edit_image(
        self, image: Picture, prompt: str, *, mask: Picture | None = None, model: str | None = None
    ) -> Image:
        """A picture, changed as the prompt says; only where the mask is transparent, when there is one.

        Raises:
            ConfigurationError: when there is no such model.
            ValueError: when a picture is none.
            ModelError: when the model cannot be called.
        """
        painter = self._services.image_model(model)
        made = await painter.edit(read_picture(image), prompt, mask=None if mask is None else read_picture(mask))
        return made.images[0]

    @property
    def _services(self) -> MediaModelSource:
        return media_source_of(self._models)
