"""Logs of dated texts in a document store."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from typing import Final

from tactician.errors import DocumentConflictError, StoredStateError
from tactician.frozen import frozen
from tactician.stores import DocumentStore
from tactician.stores.document import StoredDocument

_SLACK: Final = 20
_MOST_SURPLUS: Final = 1000


@frozen
class DatedText:
    """Text with its time, and an id that is unique among the texts on the same subject."""

    id: str
    created_at: datetime
    text: str


class DatedLog:
    """Logs of dated texts by subject, newest first.

    Each text is a document of its own, so that writers on several machines lose nothing. The times come from the texts;
    texts of the same time are in the order in which they were added.

    Args:
        documents: the store.
        collection: the collection of the documents.
    """

    def __init__(self, documents: DocumentStore, collection: str) -> None:
        self._documents = documents
        self._collection = collection

    def __repr__(self) -> str:
        return repr(self._documents)

    async def add(self, subject: str, text: DatedText, *, kind: str = "") -> None:
        """Add a text, unless a text with its id is in the log already."""
        document = StoredDocument(
            collection=self._collection,
            id=_hash(f"{subject}\n{text.id}"),
            name=text.id,
            parent_id=_hash(subject),
            status=kind,
            header=text.created_at.isoformat(),
            body=text.text,
        )
        try:
            await self._documents.save(document)
        except DocumentConflictError:
            if await self._documents.load(self._collection, document.id, with_body=False) is None:
                raise

    async def list_newest(self, subject: str, limit: int, *, oldest: datetime | None = None) -> list[DatedText]:
        """Return the newest texts on a subject, newest first.

        Args:
            subject: the subject.
            limit: number of texts.
            oldest: time before which a text is left out.

        Raises:
            StoredStateError: when a text cannot be read.
        """
        documents = await self._find(subject, limit + max(_SLACK, limit // 5), with_bodies=True)
        return [DatedText(document.name, at, document.text) for at, document in _select(documents, oldest)][:limit]

    async def evict(
        self, subject: str, keep_last: int, *, oldest: datetime | None = None, kind: str = ""
    ) -> list[datetime]:
        """Delete the texts of a kind but the newest ones, and those before a time. Return the times of the others."""
        documents = await self._find(subject, keep_last + _MOST_SURPLUS, kind=kind)
        kept = _select(documents, oldest)[:keep_last]
        ids = {document.id for _, document in kept}
        for document in documents:
            if document.id not in ids:
                await self._documents.delete(self._collection, document.id)
        return [time for time, _ in kept]

    async def clear(self, subject: str) -> None:
        """Delete all texts on a subject."""
        while documents := await self._find(subject, _MOST_SURPLUS):
            for document in documents:
                await self._documents.delete(self._collection, document.id)

    async def aclose(self) -> None:
        """Close the store. It opens again when it is used."""
        await self._documents.aclose()

    async def _find(
        self, subject: str, limit: int, *, kind: str | None = None, with_bodies: bool = False
    ) -> list[StoredDocument]:
        return await self._documents.find(
            self._collection,
            statuses=() if kind is None else (kind,),
            parent_id=_hash(subject),
            limit=limit,
            with_bodies=with_bodies,
            newest_first=True,
        )


def _select(documents: list[StoredDocument], oldest: datetime | None) -> list[tuple[datetime, StoredDocument]]:
    """Return documents with their times, newest first, without those before a time."""
    dated = [(_read_time(document), document) for document in documents]
    recent = [(time, document) for time, document in dated if oldest is None or time >= oldest]
    return sorted(recent, key=lambda entry: entry[0], reverse=True)  # which keeps the order of equal times


def _read_time(document: StoredDocument) -> datetime:
    try:
        at = datetime.fromisoformat(document.header)
        if at.tzinfo is None:
            raise ValueError("it has no time zone")
    except ValueError as error:
        place = f"{document.collection}/{document.id}"
        raise StoredStateError(f"{place} cannot be read: its time is not valid ({error}). Delete it.") from error
    return at


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
