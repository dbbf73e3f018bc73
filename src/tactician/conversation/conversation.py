"""Conversation: a list of messages with an id, which a store keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, overload

from tactician.conversation.message_list import MessageList
from tactician.conversation.saved_form import (
    Addition,
    SavedConversation,
    SavedMessages,
    VersionedConversation,
    create_schema,
    read_conversation,
    write_conversation,
)
from tactician.errors import StoredStateError
from tactician.events.event import new_id
from tactician.grammar import format_count
from tactician.llm import Message
from tactician.suggestions import suggest_options

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema


class Messages(Sequence[Message]):
    """View of the messages of a conversation, which grows with the conversation."""

    __slots__ = ("_list", "conversation")

    def __init__(self, conversation: Conversation, messages: list[Message]) -> None:
        self.conversation = conversation
        self._list = messages

    @overload
    def __getitem__(self, place: int) -> Message: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Message]: ...
    def __getitem__(self, place: int | slice) -> Message | Sequence[Message]:
        return self._list[place]

    def __len__(self) -> int:
        return len(self._list)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._list)

    def __reversed__(self) -> Iterator[Message]:
        return reversed(self._list)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Messages):
            return self._list == other._list
        return isinstance(other, list | tuple) and self._list == list(other)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"Messages({self._list!r})"


@suggest_options
class Conversation(MessageList):
    """List of messages, each with an id that is unique in this conversation.

    A run appends to it. Others may change it meanwhile: `insert`, `remove` and `truncate` never part a tool call from
    its result. It belongs to a single event loop.

    Attributes:
        user: id of the user that it belongs to; `None` when it belongs to the program.
        agent: id or name of the agent that answers in it, if it is an agent of a platform.
        version: which version of it a store holds; 0 when none does.
        part: the messages that the last run has added, when a service runs it in the conversation.
    """

    __slots__ = ("__weakref__", "_id", "agent", "user", "version")

    def __init__(self, messages: Iterable[Message] = (), id: str | None = None) -> None:
        super().__init__(messages)
        self._id = id
        self.user: str | None = None
        self.agent: str | None = None
        self.version = 0

    def __repr__(self) -> str:
        return f"Conversation({format_count(len(self._list), 'message')}, id={self._id!r})"

    @property
    def messages(self) -> Messages:
        """The messages, in order: a view, not a copy."""
        # A view that the conversation kept would be a cycle, which only the garbage collector takes apart.
        return Messages(self, self._list)

    @property
    def id(self) -> str:
        """The id of the conversation; a random id by default."""
        if self._id is None:
            self._id = new_id()
        return self._id

    def copy(self) -> Conversation:
        """Return a conversation with the same messages, ids and version."""
        other = Conversation(id=self.id)
        other._list.extend(self._list)
        other._numbers = self._numbers.copy()
        other._waiting = self._waiting.copy()
        other._next = self._next
        other.part = None if self.part is None else replace(self.part)
        other.user, other.agent = self.user, self.agent
        other.version = self.version
        return other

    def to_json(self) -> str:
        """Return the conversation as JSON text, without its version, which belongs to the store."""
        return write_conversation(self._save())

    @classmethod
    def from_json(cls, text: str | bytes) -> Conversation:
        """Return the conversation in an untrusted text that `to_json` wrote.

        Raises:
            StoredStateError: when it is none.
        """
        return cls._restore(read_conversation(text))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return create_schema(cls, cls._save_versioned, cls._restore_versioned, handler)

    def to_addition(self, begin: int) -> Addition:
        """Return the messages from a position on, as the addition that makes the next version."""
        return Addition(self.version + 1, begin, self._save_messages(begin))

    def apply(self, additions: Iterable[Addition]) -> None:
        """Apply an addition to the stored version of the conversation.

        Raises:
            StoredStateError: when the additions do not fit.
        """
        for addition in additions:
            saved = addition.saved
            if addition.begin != len(self._list) or addition.version != self.version + 1:
                raise StoredStateError("The saved conversation cannot be read: an addition does not fit the others.")
            self._list.extend(saved["messages"])
            self._numbers.extend(saved["ids"])
            self._adopt(saved)
            self.version += 1
        self._check()

    def _save(self) -> SavedConversation:
        return SavedConversation(format=1, id=self.id, **self._save_messages(0))

    def _save_messages(self, begin: int) -> SavedMessages:
        saved = SavedMessages(
            next=self._next,
            ids=self._numbers[begin:],
            messages=tuple(self._list[begin:]),
            waiting=[number for number, _ in self._waiting],
            waiting_messages=tuple(message for _, message in self._waiting),
            part=None if self.part is None else self.part.close(len(self._list)),
        )
        if self.user is not None:
            saved["user"] = self.user
        if self.agent is not None:
            saved["agent"] = self.agent
        return saved

    def _adopt(self, saved: SavedMessages) -> None:
        """Take over everything except the messages."""
        if len(saved["waiting"]) != len(saved["waiting_messages"]):
            raise _create_mismatch_error()
        self._next, self.part = saved["next"], None if saved["part"] is None else replace(saved["part"])
        self.user, self.agent = saved.get("user"), saved.get("agent")
        self._waiting = list(zip(saved["waiting"], saved["waiting_messages"], strict=True))

    def _check(self) -> None:
        """Check that the ids are unique, and that the part of the run is inside the conversation."""
        numbers = [*self._numbers, *(number for number, _ in self._waiting)]
        is_whole = len(self._numbers) == len(self._list) and len(set(numbers)) == len(numbers)
        if not is_whole or any(not 0 <= number < self._next for number in numbers):
            raise _create_mismatch_error()
        if self.part is not None and not self.part.is_valid_for(len(self._list)):
            raise StoredStateError("The saved conversation cannot be read: the part of its run is not inside it.")

    def _save_versioned(self) -> VersionedConversation:
        return VersionedConversation(version=self.version, conversation=self._save())

    @classmethod
    def _restore(cls, saved: SavedConversation) -> Conversation:
        conversation = cls(saved["messages"], saved["id"])
        conversation._numbers = saved["ids"]
        conversation._adopt(saved)
        conversation._check()
        return conversation

    @classmethod
    def _restore_versioned(cls, saved: VersionedConversation) -> Conversation:
        conversation = cls._restore(saved["conversation"])
        conversation.version = saved["version"]
        return conversation


def _create_mismatch_error() -> StoredStateError:
    return StoredStateError("The saved conversation cannot be read: its ids do not fit its messages.")
