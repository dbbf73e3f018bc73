"""A strict fake of the Messages API on loopback: it refuses what Anthropic refuses, and says what it is told to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from aiohttp import web

from tactician.llm import Endpoint
from tactician.llm.remote import FULL_FEATURES, RemoteModel
from tactician.llm.wire import Dialect
from tactician.llm.wire import anthropic_messages as wire
from tactician.llm.wire.wire_format import WireFormat
from tests.support.anthropic_message_rules import Refused
from tests.support.anthropic_rules import check
from tests.support.chat_server import ChatServer, Received, Reply, answers, cut, sends

ANTHROPIC = WireFormat("anthropic-messages", wire.encode, wire.decode, wire.MessagesStreamDecoder)
USAGE: Mapping[str, object] = {
    "input_tokens": 11,
    "output_tokens": 7,
    "cache_read_input_tokens": 3,
    "cache_creation_input_tokens": 2,
}
MODEL = "claude-haiku-4-5"
_NEW = Dialect(thinking="adaptive", temperature=False, top_k=False)
DIALECTS: Mapping[str, Dialect] = {
    "claude-haiku-4-5": Dialect(thinking="budget"),
    "claude-sonnet-4-6": Dialect(thinking="adaptive", reasoning_effort=("low", "medium", "high", "max")),
    "claude-opus-4-7": replace(_NEW, thinking_display="summarized"),
    "claude-opus-5-5": replace(_NEW, forced_tools=False, no_reasoning={"output_config": {"effort": "low"}}),
    "claude-sonnet-5-5": replace(
        _NEW, forced_tools=False, no_reasoning={"thinking": {"type": "between_tools"}}, drops_stale_thinking=True
    ),
}
BETA = "thinking-binding-controls-2026-08-01"
KEY = "sk-ant-test-key"

Block = dict[str, object]


class AnthropicServer(ChatServer):
    """Checks every request before it gives its reply."""

    def __init__(self, *replies: Reply) -> None:
        super().__init__(*map(strict, replies))

    def will(self, *replies: Reply) -> None:
        super().will(*map(strict, replies))

    def at(
        self,
        model: str = MODEL,
        dialect: Dialect | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 20.0,
    ) -> RemoteModel:
        """A model of this server."""
        sent = {"x-api-key": KEY, "anthropic-version": "2023-06-01"} if headers is None else headers
        endpoint = Endpoint(
            "anthropic", f"{self.url}/v1/messages", sent, FULL_FEATURES, ANTHROPIC, dialect or Dialect(), timeout
        )
        return RemoteModel(model, endpoint)


def strict(reply: Reply) -> Reply:
    """The reply, or the error that Anthropic gives to such a request."""

    async def checked(request: web.Request, received: Received) -> web.StreamResponse:
        try:
            check(received.headers, received.body)
        except Refused as refusal:
            return await fails(refusal.status, refusal.kind, str(refusal))(request, received)
        return await reply(request, received)

    return checked


def says(*blocks: Block, stop: str | None = None, container: str | None = None) -> Reply:
    """A message of these blocks, streamed if the request asks for that."""
    body = message(*blocks, stop=stop, container=container)

    async def reply(request: web.Request, received: Received) -> web.StreamResponse:
        chosen = streams(*events(body)) if received.body.get("stream") else answers(body)
        return await chosen(request, received)

    return reply


def streams(*given: Mapping[str, object], size: int | None = None, breaks_off: bool = False) -> Reply:
    """A stream of events, in pieces of a size."""
    data = sse(*given)
    return sends(*(cut(data, size) if size else (data,)), breaks_off=breaks_off)


def fails(status: int, kind: str, text: str = "no", headers: Mapping[str, str] | None = None) -> Reply:
    """An error in the form that Anthropic gives it."""
    return answers(error(kind, text), status, {"request-id": "req_1", **(headers or {})})


def error(kind: str, text: str = "no") -> dict[str, object]:
    """The body of an error, or its event in a stream."""
    return {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_1"}


def message(
    *blocks: Block, stop: str | None = None, usage: Mapping[str, object] | None = None, container: str | None = None
) -> dict[str, object]:
    """A whole answer."""
    called = any(block["type"] == "tool_use" for block in blocks)
    body: dict[str, object] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-served",
        "content": list(blocks),
        "stop_reason": stop or ("tool_use" if called else "end_turn"),
        "stop_sequence": None,
        "usage": dict(USAGE if usage is None else usage),
    }
    if container is not None:
        body["container"] = {"id": container, "expires_at": "2030-01-01T00:00:00Z"}
    return body


def text(content: str) -> Block:
    return {"type": "text", "text": content}


def thinking(thought: str, signature: str = "sig") -> Block:
    return {"type": "thinking", "thinking": thought, "signature": signature}


def redacted(data: str = "secret") -> Block:
    return {"type": "redacted_thinking", "data": data}


def tool_use(id: str, name: str, input: Mapping[str, object] | None = None) -> Block:
    return {"type": "tool_use", "id": id, "name": name, "input": dict(input or {})}


def searching(id: str, query: str) -> Block:
    return {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": query}}


def found(id: str, title: str = "A page") -> Block:
    page = {"type": "web_search_result", "url": "https://example.com", "title": title, "encrypted_content": "e"}
    return {"type": "web_search_tool_result", "tool_use_id": id, "content": [page]}


# A message as a stream.


def events(body: Mapping[str, object], pieces: int = 2) -> list[dict[str, object]]:
    """The events of a message, its texts in so many pieces."""
    content = body["content"]
    assert isinstance(content, list)
    usage = body["usage"]
    assert isinstance(usage, dict)
    begun = {**body, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    begun.pop("container", None)
    given: list[dict[str, object]] = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    for index, block in enumerate(content):
        given.extend(_block_events(index, block, pieces))
    delta = {name: body.get(name) for name in ("stop_reason", "stop_sequence", "container") if name in body}
    given.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage.get("output_tokens", 0)}})
    return [*given, {"type": "message_stop"}]


def _block_events(index: int, block: Block, pieces: int) -> Iterator[dict[str, object]]:
    empty, deltas = _deltas(block, pieces)
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _deltas(block: Block, pieces: int) -> tuple[Block, Sequence[Block]]:
    """A block as it begins, and what fills it."""
    kind = block["type"]
    if kind == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in _cut(block["text"], pieces)]
    if kind == "thinking":
        thoughts: list[Block] = [
            {"type": "thinking_delta", "thinking": piece} for piece in _cut(block["thinking"], pieces)
        ]
        signed: Block = {"type": "signature_delta", "signature": block["signature"]}
        return {**block, "thinking": "", "signature": ""}, [*thoughts, signed]
    if "input" in block:
        written = _cut(json.dumps(block["input"]), pieces)
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *written)]
    return block, ()


def _cut(content: object, pieces: int) -> list[str]:
    assert isinstance(content, str)
    size = max(1, -(-len(content) // pieces))
    return [content[start : start + size] for start in range(0, len(content), size)]


def sse(*given: Mapping[str, object]) -> bytes:
    """Events as Anthropic sends them: each with its name."""
    lines = (f"event: {one['type']}\ndata: {json.dumps(one, ensure_ascii=False)}\n\n" for one in given)
    return "".join(lines).encode()
