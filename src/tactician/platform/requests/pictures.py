"""Pictures as callers have them: an `Image`, its bytes, base64, or a URL."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from tactician.llm import Image, Message, UserMessage

Picture: TypeAlias = Image | str | bytes
"""An image, its bytes, or a text: base64, or a URL (`https:`, `http:` or `data:`)."""


def read_picture(picture: Picture) -> Image:
    """Convert a picture to an image, whose type follows from its first bytes.

    Raises:
        ValueError: when a text is neither a URL nor base64, or the bytes tell no type of image.
    """
    if isinstance(picture, Image):
        return picture
    if isinstance(picture, bytes):
        return Image.from_bytes(picture)
    if picture.startswith(("https://", "http://")):
        return Image(url=picture)
    if picture.startswith("data:"):
        return _inline(picture)
    return Image.from_bytes(_decode(picture))


def with_pictures(messages: Sequence[Message], pictures: Iterable[Picture]) -> tuple[Message, ...]:
    """Return the messages, with the pictures in the last user message, or else in a new message.

    Raises:
        ValueError: when a picture is not valid.
    """
    images = tuple(map(read_picture, pictures))
    if not images:
        return tuple(messages)
    for position in reversed(range(len(messages))):
        if isinstance(message := messages[position], UserMessage):
            return (*messages[:position], UserMessage((*message.parts, *images)), *messages[position + 1 :])
    return (*messages, UserMessage(images))


def _inline(url: str) -> Image:
    head, comma, data = url.removeprefix("data:").partition(",")
    media_type, _, encoding = head.partition(";")
    if not comma or encoding != "base64" or not media_type.startswith("image/"):
        raise ValueError("a picture as a data URL begins with data:image/...;base64,")
    _decode(data)
    return Image(data=data, media_type=media_type)


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("a picture as text is a URL or base64, and this is neither") from error
