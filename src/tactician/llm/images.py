"""Image generation: OpenAI's `POST /images/generations` and `POST /images/edits`.

Source: the OpenAI API reference, "Create image" and "Create image edit"; Azure OpenAI's REST API reference.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Protocol, Self, runtime_checkable
from urllib.parse import quote

from tactician.errors import MalformedResponseError, ModelRequestError, UnsupportedFeatureError
from tactician.frozen import frozen
from tactician.llm.http import MAX_ANSWER, FormField, post_form, post_json
from tactician.llm.messages import Image
from tactician.llm.provider_access import ProviderAccess, check_provider_kind
from tactician.llm.redaction import Redaction
from tactician.llm.remote import Endpoint
from tactician.llm.usage import NO_PRICES, NO_USAGE, ModelPrice, Usage
from tactician.llm.wire.decoding import expect_count

DEFAULT_IMAGE_MODEL = "gpt-image-2.5-sunburst"
DEFAULT_EDIT_MODEL = DEFAULT_IMAGE_MODEL
DEFAULT_SIZE = "1024x1024"
DEFAULT_QUALITY = "standard"
_GENERATIONS = "/images/generations"
_EDITS = "/images/edits"
IMAGE_PROVIDERS = ("openai", "azure-openai")
_MAKES_ONLY = frozenset({"image_generation"})
# The qualities of DALL-E, in the words of the models after it.
_QUALITIES = {"standard": "auto", "hd": "high"}


@frozen(kw_only=True)
class ImageOptions:
    """Options for calls of image models. `None` means the model's own default.

    Attributes:
        timeout: seconds for the request.
    """

    timeout: float | None = None


NO_IMAGE_OPTIONS = ImageOptions()


@frozen
class GeneratedImages:
    """Images that an image model generated.

    Attributes:
        model: the full name of the model.
        usage: the tokens of the images, where the provider counts images in tokens.
    """

    images: tuple[Image, ...] = field(repr=False)
    model: str
    usage: Usage = NO_USAGE

    def attribute_to(self, model: str, price: ModelPrice | None = None) -> GeneratedImages:
        """Return a copy whose usage names the model, or this object if its usage already does."""
        usage = self.usage.attribute_to(model, price)
        return self if usage is self.usage else replace(self, usage=usage)


@runtime_checkable
class ImageModel(Protocol):
    """Model that generates images."""

    @property
    def name(self) -> str:
        """Full name, for example `openai:dall-e-3`."""
        ...

    async def generate(
        self,
        prompt: str,
        *,
        size: str = DEFAULT_SIZE,
        quality: str = DEFAULT_QUALITY,
        n: int = 1,
        options: ImageOptions = NO_IMAGE_OPTIONS,
    ) -> GeneratedImages:
        """Generate `n` images from the prompt; `size` is width x height in pixels.

        Raises:
            ModelError: of the class that matches the failure.
        """
        ...

    async def edit(
        self, image: Image, prompt: str, *, mask: Image | None = None, options: ImageOptions = NO_IMAGE_OPTIONS
    ) -> GeneratedImages:
        """Edit the image as the prompt says, only where the `mask` is transparent, if given.

        Raises:
            ModelError: of the class that matches the failure.
        """
        ...


class RemoteImageModel(ImageModel):
    """Image model at an endpoint. `{model}` in the endpoint's URL stands for the model's name.

    Args:
        endpoint: the endpoint for new images.
        edit_url: the URL for edits; `None` if the provider edits no images.
        edit_model: the model for edits: `model` itself, or the default model for DALL-E 3, which cannot edit.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str = DEFAULT_IMAGE_MODEL,
        *,
        edit_url: str | None = None,
        edit_model: str | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.model = model
        self.edit_model = edit_model or (DEFAULT_EDIT_MODEL if model == "dall-e-3" else model)
        self._url = endpoint.url.replace("{model}", quote(model, safe=""))
        self._edit_url = edit_url

    @classmethod
    def at_provider(
        cls,
        access: ProviderAccess,
        model: str = DEFAULT_IMAGE_MODEL,
        *,
        prices: Mapping[str, ModelPrice] = NO_PRICES,
    ) -> Self:
        """Return a model at a provider: openai, azure-openai, or a compatible provider. Azure edits no images.

        Raises:
            ConfigurationError: when the provider has no images, or its address or API version is missing.
            UnsupportedFeatureError: when a custom specification does not declare images.
        """
        azure = access.provider.name == "azure-openai"
        check_provider_kind(access.provider.name, "images", IMAGE_PROVIDERS)
        path = f"/openai/deployments/{{model}}{_GENERATIONS}" if azure else f"/v1{_GENERATIONS}"
        endpoint = access.create_media_endpoint(
            path, feature="image_generation", endpoint="images_generations", versioned=azure, prices=prices
        )
        edits = endpoint.url.removesuffix(_GENERATIONS) + _EDITS if endpoint.url.endswith(_GENERATIONS) else None
        return cls(endpoint, model, edit_url=edits)

    def __repr__(self) -> str:
        return f"RemoteImageModel({self.name!r})"

    @property
    def name(self) -> str:
        """Name of the endpoint and the model, for example `openai:dall-e-3`."""
        return f"{self.endpoint.name}:{self.model}"

    async def generate(
        self,
        prompt: str,
        *,
        size: str = DEFAULT_SIZE,
        quality: str = DEFAULT_QUALITY,
        n: int = 1,
        options: ImageOptions = NO_IMAGE_OPTIONS,
    ) -> GeneratedImages:
        """Generate `n` images from the prompt.

        Args:
            prompt: a description of the image.
            size: width x height in pixels; the choices depend on the model.
            quality: `"standard"` or `"hd"`, or a value of the model's own, such as `"low"`.
            n: the number of images; DALL-E 3 generates a single image per request.
            options: options of the call.

        Raises:
            ModelError: of the class that matches the failure.
        """
        self._check_prompt(prompt)
        if n < 1 or (n > 1 and self.model == "dall-e-3"):
            raise ModelRequestError(
                f"{self.name}: n must be {'1' if n > 1 else 'at least 1'}, not {n}", model=self.name
            )
        dall_e = self.model.startswith("dall-e")
        quality = quality if dall_e else _QUALITIES.get(quality, quality)
        body = {"model": self.model, "prompt": prompt, "n": n, "size": size, "quality": quality}
        if dall_e:
            body["response_format"] = "b64_json"  # the models after it send nothing else, and refuse the field
        headers = {"Content-Type": "application/json", **self.endpoint.headers}
        seconds = options.timeout or self.endpoint.timeout
        with Redaction(self._url, self.endpoint.headers):
            answer = await post_json(self._url, body, headers, seconds, self.name, (n + 1) * MAX_ANSWER)
            return self._decode(answer, self.model)

    async def edit(
        self, image: Image, prompt: str, *, mask: Image | None = None, options: ImageOptions = NO_IMAGE_OPTIONS
    ) -> GeneratedImages:
        """Edit the image as the prompt says, only where the `mask` is transparent, if given.

        Raises:
            UnsupportedFeatureError: when the endpoint edits no images.
            ModelRequestError: when an image has no inline bytes.
            ModelError: of the class that matches any other failure.
        """
        if self._edit_url is None:
            raise UnsupportedFeatureError(self.endpoint.name, "image_editing", _MAKES_ONLY, model=self.name)
        self._check_prompt(prompt)
        fields = [
            FormField("model", self.edit_model),
            FormField("prompt", prompt),
            self._file("image", image),
            *([self._file("mask", mask)] if mask is not None else ()),
        ]
        headers, seconds = self.endpoint.headers, options.timeout or self.endpoint.timeout
        with Redaction(self._edit_url, headers):
            answer = await post_form(self._edit_url, fields, headers, seconds, self.name, 2 * MAX_ANSWER)
            return self._decode(answer, self.edit_model)

    def _check_prompt(self, prompt: str) -> None:
        if not prompt.strip():
            raise ModelRequestError(f"{self.name}: the prompt is empty", model=self.name)
        try:
            prompt.encode()
        except UnicodeEncodeError as error:
            raise ModelRequestError(f"{self.name}: the prompt is not valid Unicode", model=self.name) from error

    def _file(self, name: str, image: Image) -> FormField:
        if not image.data:
            raise ModelRequestError(
                f"{self.name}: the {name} must come as bytes: use Image.from_bytes or Image.from_path", model=self.name
            )
        try:
            content = base64.b64decode(image.data, validate=True)
        except binascii.Error as error:
            raise ModelRequestError(f"{self.name}: the {name} is not base64 ({error})", model=self.name) from None
        return FormField(name, content, f"{name}.{image.media_type.rpartition('/')[2]}", image.media_type)

    def _decode(self, body: object, model: str) -> GeneratedImages:
        try:
            if not isinstance(body, dict) or not isinstance(data := body["data"], list) or not data:
                raise TypeError("an object with a list `data` is needed")
            media_type = f"image/{body.get('output_format') or 'png'}"
            images, usage = tuple(_image(item, media_type) for item in data), _usage(body.get("usage"))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            message = f"{self.name}: the answer holds no pictures ({error!r}): {str(body)[:300]}"
            raise MalformedResponseError(message, model=self.name) from error
        name = f"{self.endpoint.name}:{model}"
        return GeneratedImages(images, name, usage.attribute_to(name, self.endpoint.find_price(model)))


def _image(item: dict[str, object], media_type: str) -> Image:
    if isinstance(data := item.get("b64_json"), str) and data:
        base64.b64decode(data, validate=True)
        return Image(data=data, media_type=media_type)
    if isinstance(url := item.get("url"), str) and url:
        return Image(url=url, media_type=media_type)
    raise ValueError("a picture has neither b64_json nor url")


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage(requests=1)
    return Usage(expect_count(usage.get("input_tokens")), expect_count(usage.get("output_tokens")), requests=1)
