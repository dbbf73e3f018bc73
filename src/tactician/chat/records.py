"""Records of the sessions of chats: who talks, and which run answers."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from tactician.conversation import ChatUser
from tactician.errors import ConversationNotFoundError, DocumentConflictError, StoredStateError
from tactician.frozen import frozen
from tactician.stores import DocumentStore
from tactician.stores.document import StoredDocument

_COLLECTION: Final = "chats"
_MAX_ATTRIBUTES: Final = 100_000


@frozen
class ChatRecord:
    """Record of a session.

    Attributes:
        id: id of the session, and of its conversation.
        bot: name of the chatbot.
        run_id: id of the process of a planned agent; `None` for any other agent.
        user: the user, if any.
        memory_id: id of the memory that the session shares with others.
    """

    id: str
    bot: str
    run_id: str | None = None
    user: ChatUser | None = None
    memory_id: str | None = None

    def to_json(self) -> str:
        """Return the record as JSON."""
        return to_json(asdict(self)).decode()


class ChatRecords:
    """Records of sessions in a store.

    Args:
        store: the store.
    """

    def __init__(self, store: DocumentStore) -> None:
        self._store = store

    async def load(self, id: str) -> ChatRecord | None:
        """Return the record of a session, or `None`.

        Raises:
            StoredStateError: when the record cannot be read.
        """
        document = await self._store.load(_COLLECTION, id)
        return None if document is None else _read(document)

    async def add(self, record: ChatRecord) -> ChatRecord:
        """Store a new record, and return it; or the record that another program has stored at the same moment."""
        user = "" if record.user is None else record.user.id
        document = StoredDocument(
            collection=_COLLECTION, id=record.id, body=record.to_json(), kind=record.bot, name=user
        )
        try:
            await self._store.save(document)
        except DocumentConflictError:
            return await self.load(record.id) or record
        return record

    async def give_to(self, record: ChatRecord, user: ChatUser) -> ChatRecord:
        """Store that a session without a user belongs to a user, and return its record.

        Raises:
            ConversationNotFoundError: when another program has deleted it, or given it to somebody else.
        """
        document = await self._store.load(_COLLECTION, record.id)
        stored_record = None if document is None else _read(document)
        if (
            document is None
            or stored_record is None
            or (stored_record.user is not None and stored_record.user.id != user.id)
        ):
            raise ConversationNotFoundError(f"{record.bot} has no session {record.id!r} with this user")
        renamed = replace(stored_record, user=user)
        try:
            await self._store.save(replace(document, body=renamed.to_json(), name=user.id))
        except DocumentConflictError:
            return await self.give_to(record, user)
        return renamed

    async def delete(self, id: str) -> bool:
        """Delete the record of a session, and return whether it existed."""
        return await self._store.delete(_COLLECTION, id)

    async def find(self, bot: str, user_id: str | None, limit: int) -> list[ChatRecord]:
        """Return the records of the sessions of a chatbot, of a user or of all, newest first."""
        names = () if user_id is None else (user_id,)
        documents = await self._store.find(_COLLECTION, names=names, limit=limit, newest_first=True)
        return [record for record in map(_read, documents) if record.bot == bot]


def _read(document: StoredDocument) -> ChatRecord:
    try:
        return TypeAdapter(ChatRecord).validate_json(document.text)
    except ValidationError as error:
        raise StoredStateError(f"The record of the chat {document.id!r} cannot be read: {error}") from error
