"""A conversation as Anthropic wants it: turns of user and assistant, each tool call answered in the very next turn.

Source: the Anthropic API reference, "Messages" and "Errors", and the guides "Handle tool calls", "Thinking" and
"Server tools". What the API answers with 400 is mended, so that a conversation that another provider began, that was
cut short or that was interrupted goes on:

- blank texts and thinking without a signature are left out;
- a tool call without a result gets one that says so, and a result without a call is told as text;
- ids and names of tools get the letters that are allowed, and an id is used once;
- arguments that are no JSON object are passed on as `{"invalid_json": "..."}`;
- what is left of a tool that Anthropic ran, but did not finish, is left out once the conversation has gone on;
- a conversation that does not begin or end with the user's words gets `Continue.` there: a model that would have to go
  on with its own message refuses to. Only a turn that Anthropic itself has paused ends with the assistant's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count

from tactician.llm.messages import (
    AssistantMessage,
    AssistantPart,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tactician.llm.wire.anthropic_answer import UNFINISHED, replayed, unfinished
from tactician.llm.wire.anthropic_blocks import (
    Block,
    input_of,
    own_calls,
    result_block,
    server_blocks,
    server_id,
    text_block,
    user_block,
)

CONTINUE = "Continue."
NO_RESULT = "There is no result: the tool was not run."
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 128
_THINKING = ("thinking", "redacted_thinking")


class Conversation:
    """The messages of a conversation as turns.

    Attributes:
        turns: what goes into the request's `messages`.
        container: where the code of an unfinished turn runs; empty when there is none.
    """

    def __init__(self, messages: Sequence[Message], model: str = "") -> None:
        self._model = model
        self.turns: list[dict[str, object]] = []
        self._results: list[Block] = []
        self._said: list[Block] = []
        self._waiting: list[tuple[str, str]] = []
        self._ids: set[str] = set()
        self._last, state = _open_turn(messages)
        self._paused = state.get("paused") is True and self._last is not None and bool(own_calls(self._last))
        self.container = str(state.get("container") or "")
        self._strays = _strays(messages, self._last)
        for message in messages:
            self._add(message)
        self._end()

    def _add(self, message: Message) -> None:
        if isinstance(message, UserMessage):
            self._said.extend(b for part in message.parts if (b := user_block(part, self._model)) is not None)
        elif isinstance(message, ToolResult):
            self._add_result(message)
        elif isinstance(message, AssistantMessage):
            self._add_answer(message)

    def _add_result(self, result: ToolResult) -> None:
        for waiting in self._waiting:
            if waiting[0] == result.call_id:
                self._waiting.remove(waiting)
                self._results.append(result_block(waiting[1], result.content, is_error=result.is_error))
                return
        self._said.append(text_block(f"The result of {result.name or 'a tool'}: {result.content}"))

    def _add_answer(self, message: AssistantMessage) -> None:
        blocks = [block for part in message.parts if (block := self._block(part)) is not None]
        while blocks and blocks[-1]["type"] in _THINKING and not (self._paused and message is self._last):
            blocks.pop()  # it led to nothing, and must not come last
        if not blocks:
            return
        self._close_user_turn()
        for part in blocks:
            if part["type"] == "tool_use":
                self._call(part)
        if self.turns and self.turns[-1]["role"] == "assistant":
            blocks = [*_content(self.turns.pop()), *blocks]
        self.turns.append({"role": "assistant", "content": blocks})

    def _call(self, block: Block) -> None:
        """Gives a call an id of its own, and waits for its result."""
        call_id = str(block["id"])
        base = call_id if _ID.fullmatch(call_id) else f"call_{call_id.encode('utf-8', 'replace').hex()}"
        unique = base if base not in self._ids else next(u for n in count(2) if (u := f"{base}_{n}") not in self._ids)
        self._ids.add(unique)
        self._waiting.append((call_id, unique))
        block["id"] = unique

    def _block(self, part: AssistantPart) -> Block | None:
        if isinstance(part, Text):
            return text_block(part.text) if part.text.strip() else None
        if isinstance(part, ToolCall):
            name = _NOT_IN_A_NAME.sub("_", part.name)[:_LONGEST_NAME] or "_"
            return {"type": "tool_use", "id": part.id, "name": name, "input": input_of(part)}
        if isinstance(part, Thinking):
            if part.signature is None:
                return None
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        block = replayed(part)
        return None if block is None or block["type"] == UNFINISHED or server_id(block) in self._strays else block

    def _close_user_turn(self) -> None:
        unanswered = (result_block(unique, NO_RESULT, is_error=True) for _, unique in self._waiting)
        content = [*self._results, *unanswered, *self._said]
        if not content and not self.turns:
            content = [text_block(CONTINUE)]
        if content:
            self.turns.append({"role": "user", "content": content})
        self._results, self._said, self._waiting = [], [], []

    def _end(self) -> None:
        self._close_user_turn()
        if self.turns[-1]["role"] == "assistant" and not self._paused:
            self.turns.append({"role": "user", "content": [text_block(CONTINUE)]})

    @property
    def thinks_first(self) -> bool:
        """Whether the answer whose tool calls were just answered began with thinking: what a token budget asks for."""
        user = _content(self.turns[-1])
        if user[0]["type"] != "tool_result":
            return True
        return _content(self.turns[-2])[0]["type"] in _THINKING

    @property
    def has_thinking(self) -> bool:
        """Whether earlier thinking is replayed."""
        return any(block["type"] in _THINKING for turn in self.turns for block in _content(turn))


def _content(turn: Mapping[str, object]) -> list[Block]:
    content = turn["content"]
    assert isinstance(content, list)
    return content


# A turn that Anthropic has not finished.


def _open_turn(messages: Sequence[Message]) -> tuple[AssistantMessage | None, Mapping[str, object]]:
    """The last answer, if the conversation has not gone on but for results of its tools; and how it is to go on."""
    results: Counter[str] = Counter()
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            state = unfinished(message) or {}
            known = results <= Counter(call.id for call in message.tool_calls)
            return (message, state) if known and (results or state.get("paused") is True) else (None, {})
        if isinstance(message, UserMessage):
            break
        if isinstance(message, ToolResult):
            results[message.call_id] += 1
    return None, {}


def _strays(messages: Sequence[Message], going_on: AssistantMessage | None) -> frozenset[str]:
    """The ids of Anthropic's own tools of which only the call or only the result is there; those that go on may be."""
    calls: set[str] = set()
    results: set[str] = set()
    for message in messages:
        for block in server_blocks(message):
            (results if "tool_use_id" in block else calls).add(server_id(block))
    running = own_calls(going_on) if going_on is not None and calls else ()
    return frozenset((calls ^ results).difference(running))
