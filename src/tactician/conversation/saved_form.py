"""JSON form of conversations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, NotRequired, TypeVar

from typing_extensions import TypedDict

from tactician.conversation.run_part import RunPart
from tactician.errors import StoredStateError
from tactician.frozen import frozen
from tactician.llm import Message
from tactician.stores.checks import translate_json_errors

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, TypeAdapter
    from pydantic_core import CoreSchema

T = TypeVar("T")
_MAX_SIZE: Final = 256 * 1024 * 1024


class SavedMessages(TypedDict):
    """Messages of a conversation. `ids` belong to `messages`, `waiting` to `waiting_messages`."""

    next: int
    ids: list[int]
    messages: tuple[Message, ...]
    waiting: list[int]
    waiting_messages: tuple[Message, ...]
    part: RunPart | None
    user: NotRequired[str | None]
    agent: NotRequired[str | None]


class SavedConversation(SavedMessages):
    """Data of a conversation."""

    format: Literal[1]
    id: str


@frozen
class Addition:
    """Messages appended to a conversation, as an entry in the log of its document.

    Attributes:
        version: version of the conversation that the step makes.
        begin: number of messages before those that were added.
        saved: the messages that were added, and all else that may have changed.
    """

    version: int
    begin: int
    saved: SavedMessages

    def to_json(self) -> str:
        """Return the addition as JSON text.

        Raises:
            StoredStateError: when a message has no JSON form.
        """
        with translate_json_errors("The messages that were added"):
            return _addition_adapter().dump_json(self).decode()


class VersionedConversation(TypedDict):
    """Data of a conversation inside another object, with its version in the store."""

    version: int
    conversation: SavedConversation


def write_conversation(saved: SavedConversation) -> str:
    """Return a conversation as JSON text.

    Raises:
        StoredStateError: when a message has no JSON form.
    """
    with translate_json_errors(f"The conversation {saved['id']!r}"):
        return _conversation_adapter().dump_json(saved).decode()


def read_conversation(text: str | bytes) -> SavedConversation:
    """Return the conversation of an untrusted text.

    Raises:
        StoredStateError: when the text is not a conversation, or is too large.
    """
    return _read(text, _conversation_adapter())


def read_addition(text: str | bytes) -> Addition:
    """Return the addition of an untrusted text.

    Raises:
        StoredStateError: when the text is not an addition, or is too large.
    """
    return _read(text, _addition_adapter())


def _read(text: str | bytes, adapter: TypeAdapter[T]) -> T:
    from pydantic import ValidationError

    if len(text) > _MAX_SIZE:
        raise StoredStateError(f"The saved conversation cannot be read: it is longer than {_MAX_SIZE:,}.")
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the text"
        raise StoredStateError(f"The saved conversation cannot be read: {where}: {first['msg']}") from error


@cache
def _conversation_adapter() -> TypeAdapter[SavedConversation]:
    from pydantic import TypeAdapter

    return TypeAdapter(SavedConversation)


@cache
def _addition_adapter() -> TypeAdapter[Addition]:
    from pydantic import TypeAdapter

    return TypeAdapter(Addition)


def create_schema(
    kind: type,
    save: Callable[[Any], VersionedConversation],
    restore: Callable[[VersionedConversation], object],
    handler: GetCoreSchemaHandler,
) -> CoreSchema:
    """Return a pydantic schema for conversations as fields; instances stay the same objects.

    Args:
        kind: the class of the conversations.
        save: returns the data of a conversation.
        restore: returns the conversation of such data.
        handler: the handler that pydantic gives.
    """
    from pydantic_core import core_schema

    saved = handler.generate_schema(VersionedConversation)
    return core_schema.json_or_python_schema(
        json_schema=core_schema.no_info_after_validator_function(restore, saved),
        python_schema=core_schema.is_instance_schema(kind),
        serialization=core_schema.plain_serializer_function_ser_schema(save, return_schema=saved, when_used="json"),
    )
