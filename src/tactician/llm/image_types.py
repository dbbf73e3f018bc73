"""Types of images, by their first bytes."""

from __future__ import annotations

import re

_SIGNATURES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"BM.{12}", re.DOTALL), "image/bmp"),
    (re.compile(rb"II\*\x00|MM\x00\*"), "image/tiff"),
    (re.compile(rb".{4}ftypavi[fs]", re.DOTALL), "image/avif"),
    (re.compile(rb".{4}ftyp(?:heic|heix|mif1)", re.DOTALL), "image/heic"),
)


def find_image_type(content: bytes) -> str:
    """Return the media type of an image.

    Raises:
        ValueError: when the bytes begin like no known type of image.
    """
    for signature, media_type in _SIGNATURES:
        if signature.match(content):
            return media_type
    raise ValueError(
        "the bytes begin like no PNG, JPEG, GIF, WebP, BMP, TIFF, AVIF or HEIC; name their type, as in "
        'Image.from_bytes(content, "image/png")'
    )
