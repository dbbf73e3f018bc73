"""What a list of conversations shows of each, which its document keeps beside the messages."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

from tactician.conversation.conversation import Conversation
from tactician.errors import StoredStateError
from tactician.frozen import frozen
from tactician.llm import UserMessage
from tactician.stores.document import StoredDocument

_LONGEST_TITLE: Final = 120


@frozen
class ConversationSummary:
    """Conversation in a list.

    Attributes:
        id: its id.
        title: beginning of the first message of the user, if any.
        agent: id or name of the agent that answers in it, if the store knows it.
        user: id of the user that it belongs to; `None` when it belongs to the program.
        run_id: id of the run that answered last, if any.
        changed_at: seconds since the epoch of the last change.
        number: place of the conversation in the order in which conversations began.
    """

    id: str
    title: str = ""
    agent: str | None = None
    user: str | None = None
    run_id: str | None = None
    changed_at: float = 0.0
    number: int = 0

    @classmethod
    def of(cls, conversation: Conversation) -> ConversationSummary:
        """Return the summary of a conversation."""
        texts = (message.text for message in conversation.messages if isinstance(message, UserMessage))
        title = " ".join(next(texts, "")[: _LONGEST_TITLE * 2].split())[:_LONGEST_TITLE]
        return cls(conversation.id, title, conversation.agent, conversation.user, find_run_id(conversation))

    def to_header(self) -> str:
        """Return the summary as the header of a document."""
        return json.dumps({"title": self.title, "agent": self.agent, "user": self.user, "run_id": self.run_id})

    def place(self, document: StoredDocument) -> ConversationSummary:
        """Return the summary with the time and the place of a document."""
        return replace(self, changed_at=document.updated_at, number=document.number)


def read_summary(document: StoredDocument) -> ConversationSummary:
    """Return the summary in the header of a document.

    Raises:
        StoredStateError: when the header is no summary.
    """
    try:
        values = json.loads(document.header)
        texts = {name: values[name] for name in ("title", "agent", "user", "run_id")}
    except (ValueError, TypeError, KeyError) as error:
        raise StoredStateError(f"The summary of the conversation {document.id!r} cannot be read: {error}") from error
    return ConversationSummary(document.id, **texts).place(document)


def find_run_id(conversation: Conversation) -> str | None:
    """Return the id of the run that answered last in a conversation; a process names its parts `id/number`."""
    return None if conversation.part is None else conversation.part.run_id.partition("/")[0]
