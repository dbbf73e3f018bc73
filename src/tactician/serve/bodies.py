"""Bodies of requests that are read before an application gets the request."""

from __future__ import annotations

import math

from starlette.types import Message, Receive


async def read_body(receive: Receive, *, max_bytes: float = math.inf) -> bytes | None:
    """Return the body of a request; `None` when it is longer than `max_bytes`."""
    body, has_more = bytearray(), True
    while has_more:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > max_bytes:
            return None
        has_more = message["type"] == "http.request" and message.get("more_body", False)
    return bytes(body)


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a function that gives the body that was read, and then what else comes."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return parts.pop() if parts else await receive()

    return replay
