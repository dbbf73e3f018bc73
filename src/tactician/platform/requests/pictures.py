"""Pictures as callers have them: an `Image`, its bytes, base64, or a URL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from tactician.llm import Image, Message, UserMessage, check_image, check_images, check_message_images

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
    messages = check_message_images(messages)
    if not images:
        return messages
    for position in reversed(range(len(messages))):
        if isinstance(message := messages[position], UserMessage):
            return (*messages[:position], UserMessage((*message.parts, *images)), *messages[position + 1 :])
    return (*messages, UserMessage(images))
