"""Conversations in Anthropic's form: turns of user and assistant, each tool call answered in the very next turn.

Source: the Anthropic API reference, "Messages" (`ContentBlockParam`) and "Errors", and the guides "Handle tool calls",
"Thinking", "Server tools", "Vision" and "PDF support". What the API would answer with 400 is repaired, so that a
conversation that another provider began, that was cut short or that was interrupted can be continued:

- blank texts and thinking without a signature are left out;
- a tool call without a result gets a result that says so, and a result without a call becomes text;
- ids and names of tools get allowed characters only, and an id is used once;
- arguments that are not a JSON object are passed on as `{"invalid_json": "..."}`;
- the remains of a tool that Anthropic ran, but did not finish, are left out once the conversation has continued;
- a conversation that does not begin or end with the user's words gets `Continue.` there: a model that would have to
  continue its own message refuses to. Only a turn that Anthropic itself has paused ends with the assistant's.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count

from pydantic_core import from_json

from tactician.errors import ModelRequestError
from tactician.llm.messages import (
    AssistantMessage,
    AssistantPart,
    Document,
    Image,
    Message,
    ProviderItem,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    UserPart,
)
from tactician.llm.wire.anthropic_messages.response import UNFINISHED, decode_item, find_unfinished_state
from tactician.text import replace_surrogates

CONTINUE = "Continue."
NO_RESULT = "The tool was not run: it has no result."
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 128
_LONGEST_TITLE = 500
_READ_AS_TEXT = re.compile(r"text/.*|application/(.*\+)?(json|xml|yaml|toml|javascript|x-yaml|x-ndjson)")
Block = dict[str, object]
_THINKING = ("thinking", "redacted_thinking")


class AnthropicConversation:
    """Messages of a conversation as turns.

    Attributes:
        turns: the request's `messages`.
        container: the id of the container of an unfinished turn's code, or an empty text.
    """

    def __init__(self, messages: Sequence[Message], model: str = "") -> None:
        self._model = model
        self.turns: list[dict[str, object]] = []
        self._results: list[Block] = []
        self._user_blocks: list[Block] = []
        self._open_calls: list[tuple[str, str]] = []
        self._ids: set[str] = set()
        self._last, state = _open_turn(messages)
        self._paused = state.get("paused") is True and self._last is not None and bool(_server_calls(self._last))
        self.container = str(state.get("container") or "")
        self._strays = _strays(messages, self._last)
        for message in messages:
            self._add(message)
        self._end()

    def _add(self, message: Message) -> None:
        if isinstance(message, UserMessage):
            self._user_blocks.extend(b for part in message.parts if (b := _user_block(part, self._model)) is not None)
        elif isinstance(message, ToolResult):
            self._add_result(message)
        elif isinstance(message, AssistantMessage):
            self._add_answer(message)

    def _add_result(self, result: ToolResult) -> None:
        for call in self._open_calls:
            if call[0] == result.call_id:
                self._open_calls.remove(call)
                self._results.append(_result_block(call[1], result.content, result.images, is_error=result.is_error))
                return
        self._user_blocks.append(_text_block(f"The result of {result.name or 'a tool'}: {result.content}"))
        self._user_blocks.extend(map(_image_block, result.images))

    def _add_answer(self, message: AssistantMessage) -> None:
        blocks = [block for part in message.parts if (block := self._block(part)) is not None]
        while blocks and blocks[-1]["type"] in _THINKING and not (self._paused and message is self._last):
            blocks.pop()  # it has no result, and must not come last
        if not blocks:
            return
        self._close_user_turn()
        for block in blocks:
            if block["type"] == "tool_use":
                self._register_call(block)
        if self.turns and self.turns[-1]["role"] == "assistant":
            blocks = [*_content(self.turns.pop()), *blocks]
        self.turns.append({"role": "assistant", "content": blocks})

    def _register_call(self, block: Block) -> None:
        """Give a call an id of its own, and expect its result."""
        call_id = str(block["id"])
        base = call_id if _ID.fullmatch(call_id) else f"call_{call_id.encode('utf-8', 'replace').hex()}"
        unique = base if base not in self._ids else next(u for n in count(2) if (u := f"{base}_{n}") not in self._ids)
        self._ids.add(unique)
        self._open_calls.append((call_id, unique))
        block["id"] = unique

    def _block(self, part: AssistantPart) -> Block | None:
        if isinstance(part, Text):
            return _text_block(part.text) if part.text.strip() else None
        if isinstance(part, ToolCall):
            name = _NOT_IN_A_NAME.sub("_", part.name)[:_LONGEST_NAME] or "_"
            return {"type": "tool_use", "id": part.id, "name": name, "input": _input_of(part)}
        if isinstance(part, Thinking):
            if part.signature is None:
                return None
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        block = decode_item(part)
        return None if block is None or block["type"] == UNFINISHED or _server_id(block) in self._strays else block

    def _close_user_turn(self) -> None:
        unanswered = (_result_block(unique, NO_RESULT, is_error=True) for _, unique in self._open_calls)
        content = [*self._results, *unanswered, *self._user_blocks]
        if not content and not self.turns:
            content = [_text_block(CONTINUE)]
        if content:
            self.turns.append({"role": "user", "content": content})
        self._results, self._user_blocks, self._open_calls = [], [], []

    def _end(self) -> None:
        self._close_user_turn()
        if self.turns[-1]["role"] == "assistant" and not self._paused:
            self.turns.append({"role": "user", "content": [_text_block(CONTINUE)]})

    @property
    def thinks_first(self) -> bool:
        """`True` if the answer whose calls were just answered began with thinking, as a budget requires."""
        user = _content(self.turns[-1])
        if user[0]["type"] != "tool_result":
            return True
        return _content(self.turns[-2])[0]["type"] in _THINKING

    @property
    def has_thinking(self) -> bool:
        """`True` if earlier thinking is replayed."""
        return any(block["type"] in _THINKING for turn in self.turns for block in _content(turn))


def _content(turn: Mapping[str, object]) -> list[Block]:
    content = turn["content"]
    assert isinstance(content, list)
    return content


# A turn that Anthropic has not finished.


def _open_turn(messages: Sequence[Message]) -> tuple[AssistantMessage | None, Mapping[str, object]]:
    """Return the last answer and its state, if nothing but results of its tools came after it."""
    results: Counter[str] = Counter()
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            state = find_unfinished_state(message) or {}
            are_results_of_calls = results <= Counter(call.id for call in message.tool_calls)
            return (message, state) if are_results_of_calls and (results or state.get("paused") is True) else (None, {})
        if isinstance(message, UserMessage):
            break
        if isinstance(message, ToolResult):
            results[message.call_id] += 1
    return None, {}


def _strays(messages: Sequence[Message], unfinished: AssistantMessage | None) -> frozenset[str]:
    """Return the ids of Anthropic's own tools that have only a call or only a result, but for those still running."""
    calls: set[str] = set()
    results: set[str] = set()
    for message in messages:
        for block in _server_blocks(message):
            (results if "tool_use_id" in block else calls).add(_server_id(block))
    running = _server_calls(unfinished) if unfinished is not None and calls else ()
    return frozenset((calls ^ results).difference(running))


# Content blocks.


def _text_block(text: str) -> Block:
    """Return a block of text, which must not be blank."""
    return {"type": "text", "text": text}


def _input_of(call: ToolCall) -> Mapping[str, object]:
    """Return the arguments of a call as an object. Anything else is passed on, so that the model sees its mistake."""
    written = replace_surrogates(call.arguments)
    try:
        value: object = from_json(written or "{}", allow_inf_nan=False)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"invalid_json": written}


def _result_block(call_id: str, content: str, images: Sequence[Image] = (), *, is_error: bool) -> Block:
    """Return the result of a call, which may be empty unless it is an error. An error with pictures is not marked."""
    block: Block = {"type": "tool_result", "tool_use_id": call_id}
    text = content if content.strip() else "The tool failed." if is_error else ""
    if images:
        # Claude takes nothing but text in a result that is marked as an error.
        return {**block, "content": [*([_text_block(text)] if text else []), *map(_image_block, images)]}
    if text:
        block["content"] = text
    return {**block, "is_error": True} if is_error else block


def _user_block(part: UserPart, model: str) -> Block | None:
    """Return the block of a part of a user's message, or `None` if it is blank.

    Raises:
        ModelRequestError: when Claude cannot read the document.
    """
    if isinstance(part, Text):
        return _text_block(part.text) if part.text.strip() else None
    if isinstance(part, Image):
        return _image_block(part)
    return {"type": "document", "source": _document_source(part, model), "title": part.name[:_LONGEST_TITLE]}


def _image_block(image: Image) -> Block:
    return {"type": "image", "source": _source(image)}


def _source(part: Image | Document) -> Block:
    if part.url is None:
        return {"type": "base64", "media_type": part.media_type, "data": part.data or ""}
    if part.url.startswith("data:"):
        media_type, _, data = part.url.removeprefix("data:").partition(";base64,")
        return {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "url", "url": part.url}


def _document_source(part: Document, model: str) -> Block:
    """Return the source of a document: Claude reads PDF, and anything that is text."""
    if part.url is not None or part.media_type == "application/pdf":
        return _source(part)
    if _READ_AS_TEXT.fullmatch(part.media_type.partition(";")[0]):
        return {
            "type": "text",
            "media_type": "text/plain",
            "data": b64decode(part.data or "").decode("utf-8", "replace"),
        }
    raise ModelRequestError(f"{model}: Claude reads PDF and text, not {part.media_type} ({part.name})", model=model)


def _server_blocks(message: Message) -> Sequence[Block]:
    """Return the calls and results of tools that Anthropic ran in a message."""
    if not isinstance(message, AssistantMessage):
        return ()
    blocks = [decode_item(part) for part in message.parts if isinstance(part, ProviderItem)]
    return [block for block in blocks if block is not None and _server_id(block)]


def _server_calls(message: AssistantMessage) -> Sequence[str]:
    """Return the ids of the calls of tools that Anthropic runs in a message."""
    return [_server_id(block) for block in _server_blocks(message) if "tool_use_id" not in block]


def _server_id(block: Block) -> str:
    """Return the id that a call of such a tool and its result share; empty for any other block."""
    block_id = block.get("id") if block["type"] in ("server_tool_use", "mcp_tool_use") else None
    return str(block.get("tool_use_id") or block_id or "")
