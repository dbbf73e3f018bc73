"""Checks of images that come from outside the program: from users, servers and tools."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from tactician.llm.image_types import find_image_type
from tactician.llm.messages import Image, Message, ToolResult, UserMessage

MOST_IMAGES: Final = 20
"""Number of images in a message."""
MOST_IMAGE_BYTES: Final = 20 * 1024 * 1024
"""Size of an image."""
_LONGEST_URL: Final = 8_000
_INLINE: Final = "data:"


def check_image(image: Image) -> Image:
    """Return an image with the media type of its content.

    Raises:
        ValueError: when it is neither an image that is not too large, nor an `http` or `https` URL.
    """
    if image.url is not None and not image.url.startswith(_INLINE):
        return _check_url(image)
    content = _decode(image.data or "" if image.url is None else _cut_head(image.url))
    media_type = find_image_type(content)
    if image.url is None and media_type == image.media_type:
        return image
    return Image(data=base64.b64encode(content).decode("ascii"), media_type=media_type)


def check_images(images: Iterable[Image]) -> tuple[Image, ...]:
    """Return the images of a message, each as `check_image` returns it.

    Raises:
        ValueError: when one is not valid, or there are too many.
    """
    checked = tuple(map(check_image, images))
    if len(checked) > MOST_IMAGES:
        raise ValueError(f"a message has at most {MOST_IMAGES} pictures, not {len(checked)}")
    return checked


def check_message_images(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return messages whose images have been checked, as by `check_images`.

    Raises:
        ValueError: when an image is not valid, or there are too many in a message.
    """
    return tuple(map(_check_message, messages))


def _check_message(message: Message) -> Message:
    if isinstance(message, ToolResult):
        return replace(message, images=check_images(message.images)) if message.images else message
    if not isinstance(message, UserMessage) or isinstance(message.content, str):
        return message
    images = iter(check_images(part for part in message.content if isinstance(part, Image)))
    return UserMessage(tuple(next(images) if isinstance(part, Image) else part for part in message.content))


def _check_url(image: Image) -> Image:
    url = image.url or ""
    scheme, colon, _ = url.partition(":")
    if colon and scheme.lower() not in ("https", "http"):
        raise ValueError("the URL of a picture begins with https://, http:// or data:")
    if len(url) > _LONGEST_URL:
        raise ValueError(f"the URL of a picture has at most {_LONGEST_URL:,} characters, not {len(url):,}")
    return image


def _cut_head(url: str) -> str:
    head, comma, data = url.removeprefix(_INLINE).partition(",")
    media_type, _, encoding = head.partition(";")
    if not comma or encoding != "base64" or not media_type.startswith("image/"):
        raise ValueError("a picture as a data URL begins with data:image/...;base64,")
    return data


def _decode(data: str) -> bytes:
    if len(data) * 3 // 4 > MOST_IMAGE_BYTES:
        raise ValueError(f"a picture has at most {MOST_IMAGE_BYTES:,} bytes, not {len(data) * 3 // 4:,}")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("a picture as text is a URL or base64, and this is neither") from error
