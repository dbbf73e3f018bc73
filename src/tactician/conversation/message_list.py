"""List of messages with ids, which grows during a run and may be changed from outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tactician.conversation.exchanges import count_equal, find_excess, find_exchange, find_last_answer, find_open_calls
from tactician.conversation.run_part import RunPart
from tactician.llm import AssistantMessage, Message, ToolCall, ToolResult


class MessageList:
    """Messages, each with an id that is unique in this list.

    A run appends to it. Others may change it meanwhile: `insert`, `remove` and `truncate` never part a tool call from
    its result. It belongs to a single event loop.

    Attributes:
        part: the messages that the last run has added, when a service runs it in the conversation.
    """

    __slots__ = ("_changes", "_list", "_next", "_numbers", "_waiting", "part")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._list = list(messages)
        self._next = len(self._list)
        self._numbers = list(range(self._next))
        self._waiting: list[tuple[int, Message]] = []
        self._changes: list[int] = []
        self.part: RunPart | None = None

    def __len__(self) -> int:
        return len(self._list)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the messages, in their order."""
        return tuple(map(_create_id, self._numbers))

    @property
    def revision(self) -> int:
        """The number of changes other than appended messages."""
        return len(self._changes)

    def find_change_since(self, revision: int) -> int:
        """Return the first position at which messages may have changed since a revision."""
        return min(self._changes[revision:], default=len(self._list))

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the last assistant message that have no result yet, in order."""
        return find_open_calls(self._list)

    def ends_with(self, message: Message) -> bool:
        """Return whether this object is the last message."""
        return bool(self._list) and self._list[-1] is message

    def to_tuple(self) -> tuple[Message, ...]:
        """Return the current messages."""
        return tuple(self._list)

    def append(self, message: Message) -> None:
        """Append a message, as a run does."""
        self._list.append(message)
        self._numbers.append(self._next)
        self._next += 1
        if self._waiting:
            self._let_in()

    def extend(self, messages: Iterable[Message]) -> None:
        """Append messages."""
        if not self._waiting:
            self._extend(messages)
            return
        for message in messages:
            self.append(message)

    def insert(self, message: Message) -> str:
        """Insert a message from outside the run, and return its id.

        While tool calls are open it waits, and goes in right after the last of their results.

        Raises:
            ValueError: when it is a tool result, or has tool calls: these belong to a run.
        """
        if isinstance(message, ToolResult) or (isinstance(message, AssistantMessage) and message.tool_calls):
            raise ValueError("Tool calls and their results cannot be inserted: the run that makes them appends them.")
        number = self._next
        self._next += 1
        self._waiting.append((number, message))
        self._let_in()
        return _create_id(number)

    def remove(self, message_id: str) -> bool:
        """Remove a message; with a tool call or a result, the whole exchange.

        Returns:
            Whether it is gone: not so when there is no such message, or when calls are open that belong to it.
        """
        for waiting in self._waiting:
            if _create_id(waiting[0]) == message_id:
                self._waiting.remove(waiting)
                return True
        ids = self.ids
        if message_id not in ids:
            return False
        begin, end = find_exchange(self._list, ids.index(message_id))
        if begin >= self._find_open_place():
            return False
        self._cut(begin, end)
        return True

    def truncate(self, keep_last: int) -> None:
        """Remove the oldest messages, so that at most `keep_last` are left.

        The system messages at the beginning are not counted, and stay. Calls and results that would be parted go
        together, and an exchange whose calls are open stays. The rest begins with a user message: the user message
        before that stays too, and is not counted.
        """
        for begin, end in find_excess(self._list, keep_last, self._find_open_place()):
            self._cut(begin, end)

    def rewind(self, length: int) -> None:
        """Remove all but the first messages, for a run that starts again, and let waiting messages in."""
        self._cut(max(length, 0), len(self._list))
        self._let_in()

    def begin_part(self, run_id: str) -> None:
        """Start the part of a run with the next message. A continued run keeps its part."""
        if self.find_part(run_id) is None:
            self.part = RunPart(run_id, len(self._list), len(self._list))

    def find_part(self, run_id: str) -> RunPart | None:
        """Return the part of a run if that run was the last to add messages."""
        return self.part if self.part is not None and self.part.run_id == run_id else None

    def restore_part(self, messages: Sequence[Message]) -> None:
        """Replace the part of the last run with these messages, before the run adds more.

        Messages that others added after the run stay after them.
        """
        assert self.part is not None
        begin, end = self.part.find_bounds(len(self._list))
        same = count_equal(self._list[begin:end], messages)
        if same < max(end - begin, len(messages)):
            self._waiting[:0] = zip(self._numbers[end:], self._list[end:], strict=True)
            self._cut(begin + same, len(self._list))
            self._extend(messages[same:])
            self._let_in()
        self.part.end = None

    def end_part(self) -> None:
        """End the part of the last run here, if the run has added messages."""
        if self.part is not None and self.part.end is None:
            self.part.end = len(self._list)

    def _extend(self, messages: Iterable[Message]) -> None:
        self._list += messages
        following = self._next + len(self._list) - len(self._numbers)
        self._numbers += range(self._next, following)
        self._next = following

    def _cut(self, begin: int, end: int) -> None:
        if begin < end:
            del self._list[begin:end], self._numbers[begin:end]
            self._changes.append(begin)
            if self.part is not None:
                self.part.cut(begin, end)

    def _let_in(self) -> None:
        """Append the waiting messages, unless calls are open."""
        if self._waiting and not self.open_calls:
            for number, message in self._waiting:
                self._numbers.append(number)
                self._list.append(message)
            self._waiting.clear()

    def _find_open_place(self) -> int:
        """Return the position of the message whose calls are open, or the length."""
        place = find_last_answer(self._list) if self.open_calls else None
        return len(self._list) if place is None else place


def _create_id(number: int) -> str:
    return f"m{number}"
