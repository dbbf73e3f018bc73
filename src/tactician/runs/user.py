"""User that a run works for, and its conversation. The run keeps both for the program that continues it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pydantic

from tactician.frozen import frozen
from tactician.runs.progress.checkpoint import Checkpoint, Live, revive

_KEY: Final = "@user"
"""Key of the checkpoint with the user, inside the outermost checkpoint."""
_CONVERSATION: Final = "@conversation"
"""Key of the checkpoint with the id of the conversation, beside the user."""


@frozen
class ChatUser:
    """User of a conversation, or of a run. All code that works for the user finds it: `context.find(ChatUser)`.

    An action that takes a `ChatUser` gets the user of its session.

    Attributes:
        id: id of the user in the program.
        name: name that the assistant may use.
        attributes: what else the program says about the user, such as a language.
    """

    id: str
    name: str | None = None
    attributes: Mapping[str, str] | None = None


def record_user(tree: Checkpoint, user: ChatUser) -> None:
    """Set the user that a new run works for in its checkpoint."""
    tree.at(_KEY).set(user=Live(user))


def find_user(tree: Checkpoint) -> ChatUser | None:
    """Return the user that a run works for, if any.

    Raises:
        StoredStateError: when it cannot be read.
    """
    places = tree.find_upwards(_KEY)
    return revive(places[0].data["user"], _read) if places else None


def _read(saved: object) -> ChatUser:
    return pydantic.TypeAdapter(ChatUser).validate_python(saved)


@frozen
class ConversationId:
    """Id of the conversation that a run belongs to: `context.find(ConversationId)`.

    Attributes:
        id: the id.
    """

    id: str


def record_conversation(tree: Checkpoint, conversation: ConversationId) -> None:
    """Set the conversation that a new run belongs to in its checkpoint."""
    tree.at(_CONVERSATION).set(id=conversation.id)


def find_conversation(tree: Checkpoint) -> ConversationId | None:
    """Return the conversation that a run belongs to, if any; runs of earlier versions do not say."""
    places = tree.find_upwards(_CONVERSATION)
    return ConversationId(str(places[0].data["id"])) if places else None
