"""A chat-completions server that costs next to nothing, so that what is measured is the client.

It speaks just enough HTTP/1.1 for a keep-alive client and never parses the JSON: which of the three canned replies is
due can be read off the bytes. `python -m benchmarks.mock_server` prints its port and serves until standard input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from typing import Any

from benchmarks import scenario


def completion(message: dict[str, Any], finish_reason: str) -> bytes:
    """Return a whole HTTP response holding one chat completion."""
    body = json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": scenario.MODEL,
            "choices": [{"index": 0, "message": {"role": "assistant"} | message, "finish_reason": finish_reason}],
            "usage": {"prompt_tokens": 50, "completion_tokens": 12, "total_tokens": 62},
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def text(content: str) -> bytes:
    return completion({"content": content}, "stop")


def tool_call() -> bytes:
    function = {"name": scenario.TOOL, "arguments": json.dumps({"city": scenario.CITY})}
    return completion(
        {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}, "tool_calls"
    )


PLAIN = text(scenario.PLAIN_ANSWER)
CALL = tool_call()
DONE = text(scenario.TOOL_ANSWER)
LOST = text(scenario.LOST_ANSWER)
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
REPLY = scenario.TOOL_REPLY.encode()


def respond(head: bytes, body: bytes) -> bytes:
    """Choose the reply: only a client that ran the tool and sent back what it said gets the right answer."""
    if b"/v1/chat/completions" not in head.split(b"\r\n", 1)[0]:
        return NOT_FOUND
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
