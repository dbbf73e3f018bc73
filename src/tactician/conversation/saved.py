"""A conversation as JSON text."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

from typing_extensions import TypedDict

from tactician.errors import StoredStateError
from tactician.llm import Message

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_MAX_SIZE = 256 * 1024 * 1024


class SavedConversation(TypedDict):
    """All of a conversation. `ids` are those of the `messages`, `waiting` those of the `waiting_messages`."""

    format: Literal[1]
    id: str
    next: int
    ids: list[int]
    messages: tuple[Message, ...]
    waiting: list[int]
    waiting_messages: tuple[Message, ...]


def written_conversation(saved: SavedConversation) -> str:
    """The conversation as text."""
    return _adapter().dump_json(saved).decode()


def read_conversation(text: str | bytes) -> SavedConversation:
    """The conversation of an untrusted text.

    Raises:
        StoredStateError: when it is none, or when it is too large.
    """
    from pydantic import ValidationError

    if len(text) > _MAX_SIZE:
        raise StoredStateError(f"The saved conversation cannot be read: it is longer than {_MAX_SIZE:,}.")
    try:
        return _adapter().validate_json(text)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the text"
        raise StoredStateError(f"The saved conversation cannot be read: {where}: {first['msg']}") from error


@cache
def _adapter() -> TypeAdapter[SavedConversation]:
    from pydantic import TypeAdapter

    return TypeAdapter(SavedConversation)
