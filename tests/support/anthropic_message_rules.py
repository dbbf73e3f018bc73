"""Which conversations Anthropic's Messages API answers with 400: see `anthropic_rules.py`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

Json = Mapping[str, object]
FOREIGN = "foreign"
"""How the signature of thinking begins that belongs to another account."""
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")

_BLOCK_FIELDS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"text", "citations"}),
    "image": frozenset({"source"}),
    "document": frozenset({"source", "title", "context", "citations"}),
    "tool_use": frozenset({"id", "name", "input", "caller"}),
    "tool_result": frozenset({"tool_use_id", "content", "is_error"}),
    "thinking": frozenset({"thinking", "signature"}),
    "redacted_thinking": frozenset({"data"}),
    "server_tool_use": frozenset({"id", "name", "input", "caller"}),
    "web_search_tool_result": frozenset({"tool_use_id", "content", "caller"}),
    "bash_code_execution_tool_result": frozenset({"tool_use_id", "content"}),
}
_OF_USERS = frozenset({"text", "image", "document", "tool_result"})
_SOURCES: Mapping[str, frozenset[str]] = {
    "base64": frozenset({"media_type", "data"}),
    "url": frozenset({"url"}),
    "text": frozenset({"media_type", "data"}),
}
_ID = re.compile(r"[a-zA-Z0-9_-]+")


class Refused(Exception):  # noqa: N818 - it says what happens to the request
    """The request is refused, with this message and type of error."""

    def __init__(self, message: str, kind: str = "invalid_request_error", status: int = 400) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status


def require(condition: object, message: str) -> None:
    """Refuses the request unless the condition holds."""
    if not condition:
        raise Refused(message)


def check_messages(body: Json, *, prefill: bool) -> None:
    messages = cast(Sequence[Json], body["messages"])
    require(messages, "messages: at least one message is required")
    require(messages[0]["role"] == "user", 'messages: first message must use the "user" role')
    contents = [_blocks(message) for message in messages]
    for place, (message, blocks) in enumerate(zip(messages, contents, strict=True)):
        require(message.keys() == {"role", "content"}, f"messages.{place}: Extra inputs are not permitted")
        require(message["role"] in ("user", "assistant"), f"messages.{place}.role: unexpected value")
        require(blocks, f"messages.{place}: all messages must have non-empty content")
        for number, block in enumerate(blocks):
            _check_block(block, message["role"] == "user", f"messages.{place}.content.{number}")
        last = blocks[-1]["type"] if message["role"] == "assistant" and place + 1 < len(messages) else None
        require(last not in ("thinking", "redacted_thinking"), f"messages.{place}: cannot end in `thinking`")
    _check_calls(messages, contents)
    _check_server_calls(contents)
    _check_end(messages, contents, body, prefill=prefill)


def _blocks(message: Json) -> Sequence[Json]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else cast(Sequence[Json], content)


def _check_block(block: Json, of_user: bool, where: str) -> None:
    kind = str(block.get("type"))
    require(kind in _BLOCK_FIELDS, f"{where}: Input tag '{kind}' does not match any of the expected tags")
    extra = block.keys() - _BLOCK_FIELDS[kind] - {"type", "cache_control"}
    require(not extra, f"{where}.{kind}: {extra}: Extra inputs are not permitted")
    require((kind in _OF_USERS) if of_user else kind not in _OF_USERS - {"text"}, f"{where}: `{kind}` not allowed here")
    if kind == "text":
        require(block["text"], "messages: text content blocks must be non-empty")
        require(str(block["text"]).strip(), "messages: text content blocks must contain non-whitespace text")
    elif kind in ("image", "document"):
        source = cast(Json, block["source"])
        expected = _SOURCES[str(source["type"])]
        require(source.keys() - {"type"} == expected, f"{where}.{kind}.source: Extra inputs are not permitted")
    elif kind == "tool_use":
        require(_ID.fullmatch(str(block["id"])), f"{where}.tool_use.id: String should match pattern")
        require(TOOL_NAME.fullmatch(str(block["name"])), f"{where}.tool_use.name: String should match pattern")
        require(isinstance(block["input"], dict), f"{where}.tool_use.input: Input should be a valid dictionary")
    elif kind == "tool_result":
        require(block.get("content") or not block.get("is_error"), f"{where}: content cannot be empty if `is_error`")
    elif kind == "thinking":
        require(block.get("signature"), f"{where}.thinking.signature: Field required")
        own = not str(block["signature"]).startswith(FOREIGN)
        require(own, f"{where}: Invalid `signature` in `thinking` block")


def _ids(blocks: Iterable[Json], kind: str, name: str) -> list[str]:
    return [str(block[name]) for block in blocks if block["type"] == kind]


def _check_calls(messages: Sequence[Json], contents: Sequence[Sequence[Json]]) -> None:
    """Each call is answered at the beginning of the next message, and nothing else is answered there."""
    seen: set[str] = set()
    for place, blocks in enumerate(contents):
        called = _ids(blocks, "tool_use", "id")
        require(len(set(called)) == len(called) and not seen & set(called), "`tool_use` ids must be unique")
        seen.update(called)
        after = contents[place + 1] if place + 1 < len(contents) else ()
        answered = _ids(after, "tool_result", "tool_use_id")
        missing, unknown = set(called) - set(answered), set(answered) - set(called)
        require(not missing, f"messages.{place}: `tool_use` ids were found without `tool_result` blocks: {missing}")
        require(not unknown, f"messages.{place + 1}: unexpected `tool_use_id` found in `tool_result`: {unknown}")
        require(len(set(answered)) == len(answered), "each tool_use must have a single result")
        first = [block["type"] for block in after[: len(answered)]]
        require(first == ["tool_result"] * len(answered), f"messages.{place + 1}: `tool_result` blocks must come first")
    require(not _ids(contents[0], "tool_result", "tool_use_id"), "messages.0: unexpected `tool_result`")


def _check_server_calls(contents: Sequence[Sequence[Json]]) -> None:
    """What Anthropic's own tools began they have finished, unless the turn goes on."""
    calls = {i: place for place, blocks in enumerate(contents) for i in _ids(blocks, "server_tool_use", "id")}
    results = {str(b["tool_use_id"]) for bs in contents for b in bs if str(b["type"]).endswith("_tool_result")}
    require(results <= calls.keys(), f"unexpected `tool_use_id` found in server tool results: {results - calls.keys()}")
    for call in calls.keys() - results:
        after = [block["type"] for blocks in contents[calls[call] + 1 :] for block in blocks]
        require(set(after) <= {"tool_result"}, f"server tool use with id `{call}` was found without a result block")


def _check_end(messages: Sequence[Json], contents: Sequence[Sequence[Json]], body: Json, *, prefill: bool) -> None:
    last = contents[-1]
    if messages[-1]["role"] == "assistant":
        server = any(str(block["type"]) == "server_tool_use" or "tool_use_id" in block for block in last)
        require(prefill or server, "This model does not support assistant message prefill.")
        require(
            last[-1]["type"] != "text" or str(last[-1]["text"])[-1:].strip(),
            "final assistant content cannot end with trailing whitespace",
        )
    elif cast(Json, body.get("thinking") or {}).get("type") == "enabled" and last[0]["type"] == "tool_result":
        first = contents[-2][0]["type"]
        expected = first in ("thinking", "redacted_thinking")
        require(expected, f"Expected `thinking` or `redacted_thinking`, but found `{first}`.")
