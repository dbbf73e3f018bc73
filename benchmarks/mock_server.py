"""A server of chat completions and Anthropic's messages that costs next to nothing: what is measured is the client.

It speaks just enough HTTP/1.1 for a keep-alive client and never parses the JSON: which of the canned replies is due can
be read off the bytes. `python -m benchmarks.mock_server` prints its port and serves until standard input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from benchmarks import scenario

OK = "HTTP/1.1 200 OK\r\nContent-Type: "


def whole(value: dict[str, Any]) -> bytes:
    """Return a whole HTTP response holding some JSON."""
    body = json.dumps(value).encode()
    return f"{OK}application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def completion(message: dict[str, Any], finish_reason: str) -> bytes:
    """Return a whole HTTP response holding one chat completion."""
    choice = {"index": 0, "message": {"role": "assistant"} | message, "finish_reason": finish_reason}
    return whole(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": scenario.MODEL,
            "choices": [choice],
            "usage": {"prompt_tokens": 50, "completion_tokens": 12, "total_tokens": 62},
        }
    )


def text(content: str) -> bytes:
    return completion({"content": content}, "stop")


def tool_call() -> bytes:
    function = {"name": scenario.TOOL, "arguments": json.dumps({"city": scenario.CITY})}
    return completion(
        {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}, "tool_calls"
    )


def message(content: list[dict[str, Any]], stop_reason: str | None) -> dict[str, Any]:
    """Return a message of Anthropic's Messages API."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": scenario.MODEL,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 50, "output_tokens": 12},
    }


def completion_events() -> Iterator[str]:
    """Yield the events of a streamed chat completion, as OpenAI sends them when asked for the usage."""
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": scenario.MODEL,
        "service_tier": "default",
        "system_fingerprint": "fp_1",
    }

    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return json.dumps(head | {"choices": [choice], "usage": None}, separators=(",", ":"))

    usage = {"prompt_tokens": 50, "completion_tokens": scenario.STREAM_TOKENS, "total_tokens": 550}
    yield chunk({"role": "assistant", "content": "", "refusal": None})
    yield from (chunk({"content": token}) for token in scenario.TOKENS)
    yield chunk({}, "stop")
    yield json.dumps(head | {"choices": [], "usage": usage}, separators=(",", ":"))
    yield "[DONE]"


def message_events() -> Iterator[dict[str, Any]]:
    """Yield the events of a streamed message of Anthropic's."""
    yield {"type": "message_start", "message": message([], None)}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for token in scenario.TOKENS:
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": token}}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": scenario.STREAM_TOKENS}}
    yield {"type": "message_stop"}


def streamed(events: Iterable[str]) -> bytes:
    """Return a whole HTTP response with each event in a chunk of its own, as providers send them.

    It is written at once: what is written bit by bit, a fast client would read in more pieces than a slow one.
    """
    chunks = "".join(f"{len(event):x}\r\n{event}\r\n" for event in events)
    return f"{OK}text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n".encode()


PLAIN = text(scenario.PLAIN_ANSWER)
CALL = tool_call()
DONE = text(scenario.TOOL_ANSWER)
LOST = text(scenario.LOST_ANSWER)
STREAM = streamed(f"data: {data}\n\n" for data in completion_events())
MESSAGE = whole(message([{"type": "text", "text": scenario.PLAIN_ANSWER}], "end_turn"))
MESSAGE_STREAM = streamed(
    f"event: {event['type']}\ndata: {json.dumps(event, separators=(',', ':'))}\n\n" for event in message_events()
)
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
REPLY = scenario.TOOL_REPLY.encode()


def respond(head: bytes, body: bytes) -> bytes:
    """Choose the reply: only a client that ran the tool and sent back what it said gets the right answer."""
    path = head.split(b"\r\n", 1)[0]
    streams = b'"stream":true' in body or b'"stream": true' in body
    if b"/v1/messages" in path:
        return MESSAGE_STREAM if streams else MESSAGE
    if b"/v1/chat/completions" not in path:
        return NOT_FOUND
    if streams:
        return STREAM
    if b'"tool_call_id"' in body:
        return DONE if REPLY in body else LOST
    return CALL if b'"tools"' in body else PLAIN


def content_length(head: bytes) -> int:
    """Return the length of the body; every client measured here sends one."""
    lower = head.lower()
    start = lower.find(b"content-length:")
    if start < 0:
        return 0
    return int(lower[start + 15 : lower.find(b"\r\n", start)])


class MockModel(asyncio.Protocol):
    """One keep-alive connection."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.pending = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.pending += data
        while (split := self.pending.find(b"\r\n\r\n")) >= 0:
            head = self.pending[: split + 2]
            end = split + 4 + content_length(head)
            if len(self.pending) < end:
                return
            body, self.pending = self.pending[split + 4 : end], self.pending[end:]
            self.transport.write(respond(head, body))


async def serve() -> None:
    """Serve on a free loopback port, printed as one line, until whoever started this closes our standard input."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(MockModel, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await loop.run_in_executor(None, sys.stdin.buffer.read)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(serve())
