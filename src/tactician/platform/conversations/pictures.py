"""Pictures as callers have them: an `Image`, its bytes, base64, or a URL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from tactician.ai.prompt_parts import attach_images
from tactician.llm import Image, Message
from tactician.llm.image_checks import check_image, check_images, check_message_images

Picture: TypeAlias = Image | str | bytes
"""An image, its bytes, or a text: base64, or a URL (`https:`, `http:` or `data:`)."""


def read_picture(picture: Picture) -> Image:
    """Convert a picture to an image, whose type follows from its first bytes.

    Raises:
        ValueError: when a text is neither a URL nor base64, the bytes tell no type of image, or are too many.
    """
    if isinstance(picture, bytes):
        return check_image(Image.from_bytes(picture))
    if isinstance(picture, str):
        picture = Image(url=picture) if picture.startswith(("https:", "http:", "data:")) else Image(data=picture)
    return check_image(picture)


def with_pictures(messages: Sequence[Message], pictures: Iterable[Picture]) -> tuple[Message, ...]:
    """Return the messages, with the pictures in the last user message, or else in a new message.

    Raises:
        ValueError: when a picture is not valid, or there are too many in a message.
    """
    images = check_images(map(read_picture, pictures))
    return tuple(attach_images(list(check_message_images(messages)), images))
