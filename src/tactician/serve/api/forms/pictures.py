"""Pictures in answers: an address replaces the content, and everybody who may see the answer can load it there."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue
from pydantic_core import from_json, to_json
from starlette.requests import Request
from starlette.responses import Response

from tactician.llm import Image
from tactician.serve.problems import ApiError
from tactician.trace.event_forms import CONTENT_NAME, name_content

_SHOWN: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"})
_MEDIA_TYPE: Final = re.compile(r"image/[a-zA-Z0-9][a-zA-Z0-9!#$&^_.+-]{0,126}")
"""Media type that a header may have (RFC 6838)."""
_IMAGE: Final = '"kind":"image"'
_HEADERS: Final = {
    # The name is the hash of the content, so that it never changes; a cache that people share must not have it.
    "cache-control": "private, max-age=31536000, immutable",
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "same-origin",
}


def find_picture_address(run_id: str, base: str) -> str:
    """Return the path below which the pictures of a run are, at a server with a base path."""
    return f"{base}/api/runs/{run_id}/pictures"


def link_pictures(value: JsonValue, address: str) -> JsonValue:
    """Return JSON data with addresses of pictures in the place of their content.

    Args:
        value: the data.
        address: address below which the pictures are, each by the hash of its content.
    """
    if isinstance(value, list):
        return [link_pictures(item, address) for item in value]
    if not isinstance(value, dict):
        return value
    if (data := _find_data(value)) is not None:
        return {**value, "data": None, "url": f"{address}/{name_picture(data)}"}
    return {key: link_pictures(item, address) for key, item in value.items()}


def has_picture(text: str) -> bool:
    """Return whether JSON text of an event may have a picture in it."""
    return _IMAGE in text


def link_event(text: str, address: str) -> str:
    """Return an event as JSON text with addresses of pictures, of which stored events have only the names."""
    return to_json(link_pictures(from_json(text), address)).decode() if has_picture(text) else text


def find_picture(value: JsonValue, name: str) -> Image | None:
    """Return the picture in JSON data whose content has a hash, or `None`."""
    images = (image for image in _walk(value) if not (image.data or "").startswith(CONTENT_NAME))
    return next((image for image in images if name_picture(image.data or "") == name), None)


def send_picture(picture: Image | None, request: Request) -> Response:
    """Return a picture as a response, which the caller may keep.

    Raises:
        ApiError: when the picture does not exist.
    """
    if picture is None or picture.data is None:
        raise ApiError(404, "There is no such picture.")
    tag = f'"{name_picture(picture.data)}"'
    headers = {**_HEADERS, "etag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if picture.media_type not in _SHOWN:
        headers["content-disposition"] = "attachment"
    media_type = picture.media_type if _MEDIA_TYPE.fullmatch(picture.media_type) else "application/octet-stream"
    return Response(base64.b64decode(picture.data), headers=headers, media_type=media_type)


def _walk(value: JsonValue) -> Iterator[Image]:
    if isinstance(value, list):
        for item in value:
            yield from _walk(item)
    elif isinstance(value, dict):
        if (data := _find_data(value)) is not None:
            yield Image(data=data, media_type=str(value.get("media_type")))
        else:
            for item in value.values():
                yield from _walk(item)


def _find_data(value: dict[str, JsonValue]) -> str | None:
    """Return the base64 of an object that is a picture; `None` for any other."""
    data = value.get("data")
    is_picture = value.get("kind") == "image" and str(value.get("media_type")).startswith("image/")
    return data if is_picture and isinstance(data, str) and data else None


def name_picture(data: str) -> str:
    """Return the hash of the content of a picture, of which stored events have nothing else."""
    return name_content(data).removeprefix(CONTENT_NAME)
