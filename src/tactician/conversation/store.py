"""Store of conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final
from weakref import WeakKeyDictionary

from tactician.cancellation import run_to_completion
from tactician.conversation.conversation import Conversation
from tactician.conversation.saved_form import Addition, read_addition
from tactician.conversation.summary import ConversationSummary, read_summary
from tactician.errors import ConversationConflictError, DocumentConflictError, StoredStateError
from tactician.stores import DocumentStore
from tactician.stores.document import StoredDocument, StoredStep

_COLLECTION: Final = "conversations"
_FOLD_AT_LEAST: Final = 64


@dataclass(slots=True)
class _Baseline:
    """State of a conversation at its last load or save.

    Attributes:
        document: its document, without the body; `None` before the first time.
        length: number of its messages in the store.
        folded: number of those that are in the body; the others are in the log.
        revision: revision of the conversation.
        saving: lock of the save in progress.
    """

    document: StoredDocument | None = None
    length: int = 0
    folded: int = 0
    revision: int = 0
    saving: asyncio.Lock = field(default_factory=asyncio.Lock)

    def can_grow(self, conversation: Conversation) -> bool:
        """Return whether new messages can be added to the log, instead of a new body."""
        is_known = self.document is not None and self.document.version == conversation.version
        log = self.length - self.folded
        return (
            is_known
            and conversation.find_change_since(self.revision) >= self.length
            and log <= max(self.folded, _FOLD_AT_LEAST)
        )


class ConversationStore:
    """Store of conversations by id, in a document store.

    A loaded conversation is a copy whose changes are private until it is saved. Of two writers of the same version,
    the second to save gets an error.

    A save adds the new messages to the log of the conversation's document, so that it costs the same however long the
    conversation is. When the log has grown as large as the body, and when messages were removed, the body is written as
    a whole, and takes the place of the log.
    """

    def __init__(self, documents: DocumentStore) -> None:
        self._documents = documents
        self._baselines: WeakKeyDictionary[Conversation, _Baseline] = WeakKeyDictionary()

    async def create(self, id: str | None = None) -> Conversation:
        """Store a new, empty conversation, with a random id by default.

        Raises:
            ConversationConflictError: when there is a conversation with this id.
        """
        conversation = Conversation(id=id)
        await self.save(conversation)
        return conversation

    async def load(self, id: str) -> Conversation | None:
        """Return the conversation with this id, or `None`.

        Raises:
            StoredStateError: when the stored conversation cannot be read.
        """
        try:
            return await self._load(id)
        except StoredStateError as error:
            raise StoredStateError(
                f"The conversation {id!r} cannot be read; delete it, or restore it. {error}"
            ) from error

    async def is_current(self, conversation: Conversation) -> bool:
        """Return whether nobody else has saved or deleted the conversation since it was last loaded or saved here."""
        document = await self._documents.load(_COLLECTION, conversation.id, with_body=False)
        return document is not None and document.version == conversation.version

    def has_changed(self, conversation: Conversation) -> bool:
        """Return whether messages were added or removed since it was last loaded or saved here."""
        baseline = self._baselines.get(conversation)
        same = baseline is not None and (baseline.length, baseline.revision) == (
            len(conversation),
            conversation.revision,
        )
        return not same

    async def save(self, conversation: Conversation) -> None:
        """Save a conversation, and set its new version.

        Overlapping saves of a conversation run in sequence; the later ones include what was added meanwhile. A
        save that has begun is finished, even when its task is cancelled.

        Raises:
            ConversationConflictError: when another writer has changed or deleted it since it was loaded.
            StoredStateError: when a message has no JSON form.
        """
        baseline = self._baselines.setdefault(conversation, _Baseline())
        async with baseline.saving:
            await run_to_completion(self._save(conversation, baseline))

    async def delete(self, id: str) -> bool:
        """Delete a conversation, and return whether it existed."""
        return await self._documents.delete(_COLLECTION, id)

    async def ids(self) -> tuple[str, ...]:
        """Return the ids of all conversations, oldest first."""
        return tuple(await self._documents.list_ids(_COLLECTION))

    async def find_summaries(self, *, limit: int = 100, after: int | None = None) -> list[ConversationSummary]:
        """Return what a list shows of each conversation, the newest first.

        Args:
            limit: number of conversations at most.
            after: number of the conversation before the first; from the newest by default.
        """
        documents = await self._documents.find(
            _COLLECTION, limit=limit, with_bodies=False, newest_first=True, after=after
        )
        return [read_summary(document) if document.header else await self._sum_up(document) for document in documents]

    async def _sum_up(self, document: StoredDocument) -> ConversationSummary:
        """Return the summary of a conversation that an earlier version has saved, without a summary."""
        try:
            conversation = await self._load(document.id)
        except StoredStateError:
            conversation = None
        if conversation is None:  # it is gone, or damaged: nobody can tell whose it is
            return ConversationSummary(document.id, user="").place(document)
        return ConversationSummary.of(conversation).place(document)

    async def _load(self, id: str) -> Conversation | None:
        document = await self._documents.load(_COLLECTION, id)
        while document is not None:
            steps = await self._documents.load_steps(_COLLECTION, id, until=document.steps) if document.steps else []
            try:
                return self._read(document, steps)
            except StoredStateError:
                read, document = document, await self._documents.load(_COLLECTION, id)
                if document is not None and document.version == read.version:
                    raise
                # somebody has folded the log between its document and its steps
        return None

    def _read(self, document: StoredDocument, steps: list[StoredStep]) -> Conversation:
        body = document.body
        # A store in memory has the object.
        conversation = body.copy() if isinstance(body, Conversation) else Conversation.from_json(document.text)
        if conversation.id != document.id:
            raise StoredStateError(f"The stored conversation has the id {conversation.id!r}.")
        conversation.version = document.version - document.steps
        folded = len(conversation)
        conversation.apply(_read_additions(steps))
        if conversation.version != document.version:
            raise StoredStateError("Steps of its log are missing.")
        self._baselines[conversation] = _Baseline(document, len(conversation), folded, conversation.revision)
        return conversation

    async def _save(self, conversation: Conversation, baseline: _Baseline) -> None:
        version, length, revision = conversation.version, len(conversation), conversation.revision
        try:
            if baseline.can_grow(conversation):
                saved = await self._add(conversation, baseline)
            else:
                saved = await self._write(conversation)
                baseline.folded = length
        except DocumentConflictError as error:
            raise _create_conflict_error(conversation.id, version) from error
        baseline.document, baseline.length, baseline.revision = saved, length, revision
        conversation.version = saved.version

    async def _add(self, conversation: Conversation, baseline: _Baseline) -> StoredDocument:
        assert baseline.document is not None
        addition = conversation.to_addition(baseline.length)
        body = addition if self._documents.keeps_objects else addition.to_json()
        header = ConversationSummary.of(conversation).to_header()
        return await self._documents.add_step(replace(baseline.document, header=header), body)

    async def _write(self, conversation: Conversation) -> StoredDocument:
        document = StoredDocument(
            collection=_COLLECTION,
            id=conversation.id,
            body=conversation.copy(),
            header=ConversationSummary.of(conversation).to_header(),
            version=conversation.version,
        )
        return await (self._documents.fold(document) if conversation.version else self._documents.save(document))


def _read_additions(steps: list[StoredStep]) -> Iterator[Addition]:
    for step in steps:
        yield step.body if isinstance(step.body, Addition) else read_addition(step.text)


def _create_conflict_error(id: str, version: int) -> ConversationConflictError:
    if not version:
        return ConversationConflictError(f"There is a conversation {id} already: load that, or choose another id.")
    return ConversationConflictError(
        f"The conversation {id} was changed or deleted since it was loaded: load it again, and add what is missing."
    )
