"""Pictures that people upload, to send them with messages and with the inputs of runs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from typing import Final

from pydantic import TypeAdapter
from starlette.responses import Response

from tactician.errors import DocumentConflictError
from tactician.frozen import frozen
from tactician.llm import Image
from tactician.people.person import Person
from tactician.platform.conversations.pictures import read_picture
from tactician.serve.api.forms.forms import PictureForm
from tactician.serve.api.forms.pictures import send_picture
from tactician.serve.api.serving.operations import ApiOperation, Call
from tactician.serve.problems import ApiError
from tactician.stores import DocumentStore
from tactician.stores.document import StoredDocument

UPLOADS_PATH: Final = "/api/pictures"
_REFERENCE: Final = re.compile(rf"[\w./-]{{0,200}}{UPLOADS_PATH}/([0-9a-f]{{64}})")
_COLLECTION: Final = "uploads"
_KEPT: Final = 24 * 60 * 60.0
"""Seconds after which an upload is deleted. Messages and runs that have the picture keep it."""
_MOST: Final = 100
"""Number of uploads of a person; the oldest are deleted."""


@frozen
class _Upload:
    """Picture as the body of its document."""

    media_type: str
    data: str

    def to_json(self) -> str:
        return _adapter().dump_json(self).decode()


@cache
def _adapter() -> TypeAdapter[_Upload]:
    return TypeAdapter(_Upload)


class Uploads:
    """Pictures by the hashes of their contents. A person finds the own ones only.

    Args:
        store: the store.
        person: the person.
    """

    def __init__(self, store: DocumentStore, person: Person) -> None:
        self._store = store
        self._person = person

    async def add(self, content: bytes) -> tuple[str, Image]:
        """Keep a picture for a day, and return its id and the picture.

        Raises:
            ValueError: when it is no picture, or is too large.
        """
        picture, picture_id = read_picture(content), sha256(content).hexdigest()
        await self._delete_old()
        stored_picture = await self._store.load(_COLLECTION, self._create_key(picture_id), with_body=False)
        document = StoredDocument(
            collection=_COLLECTION,
            id=self._create_key(picture_id),
            body=_Upload(picture.media_type, picture.data or ""),
            name=self._person.name,
            version=0 if stored_picture is None else stored_picture.version,
            is_closed=True,
        )
        with suppress(DocumentConflictError):  # the person uploads it twice at the same moment
            await self._store.save(document)
        return picture_id, picture

    async def find(self, picture_id: str) -> Image | None:
        """Return a picture, or `None`."""
        document = await self._store.load(_COLLECTION, self._create_key(picture_id))
        if document is None:
            return None
        upload = _adapter().validate_json(document.text)
        return Image(data=upload.data, media_type=upload.media_type)

    async def _delete_old(self) -> None:
        await self._store.prune(_COLLECTION, _KEPT)
        uploads = await self._store.find(_COLLECTION, names=(self._person.name,), with_bodies=False, newest_first=True)
        for document in uploads[_MOST - 1 :]:
            await self._store.delete(_COLLECTION, document.id)

    def _create_key(self, picture_id: str) -> str:
        return f"{sha256(self._person.name.encode()).hexdigest()}.{picture_id}"


async def read_pictures(call: Call, pictures: Iterable[str]) -> tuple[Image, ...]:
    """Return the pictures of a request: base64, URLs, and addresses of uploads.

    Raises:
        ApiError: when a picture is not valid, or was not uploaded by the caller.
    """
    return tuple([await _read_picture(call, picture) for picture in pictures])


async def upload_picture(call: Call) -> PictureForm:
    """Keep the picture in the body for a day, and return its address, for messages and runs."""
    try:
        picture_id, picture = await _find_uploads(call).add(await call.request.body())
    except ValueError as error:
        raise ApiError(400, f"The body is no picture: {error}.") from None
    address = f"{call.base}{UPLOADS_PATH}/{picture_id}"
    return PictureForm(id=picture_id, url=address, media_type=picture.media_type)


async def show_upload(call: Call) -> Response:
    """Return a picture that the caller has uploaded."""
    return send_picture(await _find_uploads(call).find(call.find_id("picture_id")), call.request)


async def _read_picture(call: Call, picture: str) -> Image:
    if (match := _REFERENCE.fullmatch(picture)) is not None:
        if (uploaded := await _find_uploads(call).find(match[1])) is None:
            raise ApiError(404, f"pictures: the upload {match[1]} no longer exists, or is not yours.")
        return uploaded
    try:
        return read_picture(picture)
    except ValueError as error:
        raise ApiError(400, f"pictures: {error}.") from None


def _find_uploads(call: Call) -> Uploads:
    return Uploads(call.server.platform.store, call.person)


UPLOAD_OPERATIONS: Final = (
    ApiOperation("POST", UPLOADS_PATH, upload_picture, "Upload a picture", PictureForm, "start", status=201),
    ApiOperation(
        "GET",
        f"{UPLOADS_PATH}/{{picture_id}}",
        show_upload,
        "Get a picture that was uploaded",
        right="start",
        media_type="image/*",
    ),
)
