"""Token estimates of images and documents."""

from __future__ import annotations

from base64 import b64decode

from tactician.llm import Document, Image

# OpenAI, "Images and vision": a picture shown small takes 85 tokens, at ordinary size 765. Claude counts its
# pixels and comes to about the same.
_SMALL, _LARGE, _UNKNOWN = 85, 765, 170
_SMALL_SIDE = 512
_HEAD = 64 * 1024  # the size stands at the beginning; only JPEG puts other things before it
_DOCUMENT = 765
_BYTES_PER_TOKEN_OF_TEXT = 4
_BYTES_PER_TOKEN_OF_PAGES = 40  # a page of a PDF: some 2,000 tokens, some 80 kB
_SIZE_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def estimate_image_tokens(image: Image) -> int:
    """Return the estimated tokens of an image: 85 or 765 by its size, 170 when the size is unknown."""
    size = None if image.data is None else read_image_size(_read_head(image.data))
    if size is None:
        return _UNKNOWN
    return _SMALL if max(size) <= _SMALL_SIDE else _LARGE


def estimate_document_tokens(document: Document) -> int:
    """Return the estimated tokens of a document by its size; as for an image when the size is unknown."""
    if document.data is None:
        return _DOCUMENT
    size = len(document.data) * 3 // 4
    if document.media_type.startswith("text/"):
        return size // _BYTES_PER_TOKEN_OF_TEXT
    return max(_DOCUMENT, size // _BYTES_PER_TOKEN_OF_PAGES)


def read_image_size(head: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG, GIF or JPEG from its first bytes."""
    if head.startswith(b"\x89PNG") and len(head) >= 24:
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    if head.startswith(b"GIF8") and len(head) >= 10:
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    return _read_jpeg_size(head) if head.startswith(b"\xff\xd8") else None


def _read_jpeg_size(head: bytes) -> tuple[int, int] | None:
    """Return the size of a JPEG from the segment that has it."""
    place = 2
    while place + 9 <= len(head) and head[place] == 0xFF:
        if head[place + 1] in _SIZE_MARKERS:
            height, width = head[place + 5 : place + 7], head[place + 7 : place + 9]
            return int.from_bytes(width, "big"), int.from_bytes(height, "big")
        place += 2 + int.from_bytes(head[place + 2 : place + 4], "big")
    return None


def _read_head(data: str) -> bytes:
    try:
        return b64decode(data[:_HEAD])
    except ValueError:
        return b""
