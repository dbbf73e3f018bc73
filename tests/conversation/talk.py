"""Conversations for tests, made by hand and at random."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from hypothesis import strategies as st

from tactician.conversation import Conversation
from tactician.llm import AssistantMessage, Image, Message, Text, Thinking, ToolCall, ToolResult, UserMessage
from tactician.llm.messages import ProviderItem, SystemMessage, UserPart

PIXEL = Image.from_bytes(b"\x89PNG\r\n\x1a\n" + bytes(16))


def user(text: str) -> UserMessage:
    return UserMessage(text)


def says(text: str) -> AssistantMessage:
    return AssistantMessage((Text(text),))


def calls(*ids: str, text: str = "") -> AssistantMessage:
    said = (Text(text),) if text else ()
    return AssistantMessage((*said, *(ToolCall(one, "look", '{"x":1}') for one in ids)))


def result(id: str, content: str = "found") -> ToolResult:
    return ToolResult(id, "look", content)


def exchange(*ids: str, content: str = "found") -> list[Message]:
    return [calls(*ids), *(result(one, content) for one in ids)]


def completed(messages: Iterable[Message], conversation: Conversation) -> list[Message]:
    """The messages, with a result for each call that is still open in the conversation."""
    return [*messages, *(ToolResult(call.id, call.name, "done") for call in conversation.open_calls)]


class Ones:
    """Counts every message as one token."""

    def __init__(self) -> None:
        self.counted = 0

    def count(self, message: Message) -> int:
        self.counted += 1
        return 1


texts = st.text("ab c\né", min_size=1, max_size=60).map(lambda text: f"x{text}")
_user_parts: st.SearchStrategy[UserPart] = st.one_of(st.builds(Text, texts), st.just(PIXEL))
users = st.one_of(
    st.builds(UserMessage, texts), st.builds(UserMessage, st.lists(_user_parts, min_size=1, max_size=3).map(tuple))
)
_sizes = st.integers(0, 400).map(lambda size: "r" * size)


@st.composite
def exchanges(draw: st.DrawFn) -> list[Message]:
    """A message with parallel calls, perhaps with thinking and text, and their results in any order."""
    said = [Text(draw(texts))] if draw(st.booleans()) else []
    thought = [Thinking("Hm", "signed")] if draw(st.booleans()) else []
    ids = [f"new{n}" for n in range(draw(st.integers(1, 3)))]
    answered = draw(st.permutations(ids))
    return [
        AssistantMessage((*thought, *said, *(ToolCall(one, "look", '{"x":1}') for one in ids))),
        *(ToolResult(one, "look", draw(_sizes), draw(st.booleans())) for one in answered),
    ]


_steps = st.one_of(
    users.map(lambda one: [one]),
    st.builds(SystemMessage, texts).map(lambda one: [one]),
    texts.map(lambda text: [says(text)]),
    exchanges(),
    exchanges(),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """A conversation that every provider takes."""
    begin: list[Message] = [*draw(st.lists(st.builds(SystemMessage, texts), max_size=2)), draw(users)]
    steps: Sequence[Sequence[Message]] = draw(st.lists(_steps, max_size=14))
    return [*begin, *_numbered(steps)]


def _numbered(steps: Iterable[Sequence[Message]]) -> Iterable[Message]:
    """The steps, with ids of calls that differ."""
    numbers = count()
    for step in steps:
        names: dict[str, str] = {}
        for message in step:
            if isinstance(message, ToolResult):
                yield ToolResult(names[message.call_id], message.name, message.content, message.is_error)
            elif isinstance(message, AssistantMessage):
                names = {call.id: f"call{next(numbers)}" for call in message.tool_calls}
                yield AssistantMessage(
                    tuple(
                        ToolCall(names[part.id], part.name, part.arguments) if isinstance(part, ToolCall) else part
                        for part in message.parts
                    )
                )
            else:
                yield message


_ids = st.sampled_from(["", "a", "b", "c"])
_any_part = st.one_of(
    st.builds(Text, st.sampled_from(["", " ", "hm"])),
    st.just(Thinking("hm")),
    st.builds(ToolCall, _ids, st.just("look")),
    st.just(ProviderItem("some-format", "{}")),
)
anything = st.lists(
    st.one_of(
        st.builds(UserMessage, st.sampled_from(["", "\n", "hi"])),
        st.builds(UserMessage, st.lists(_user_parts, max_size=2).map(tuple)),
        st.builds(SystemMessage, st.sampled_from(["", "be kind"])),
        st.builds(AssistantMessage, st.lists(_any_part, max_size=3).map(tuple)),
        st.builds(ToolResult, _ids, st.just("look"), st.just("found")),
    ),
    max_size=10,
)
"""Messages in any order, most of which no provider takes."""
