"""The yardstick: one request written by hand on aiohttp. Of a stream it reads the bytes and looks at the last ones."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from benchmarks import scenario
from benchmarks.clients.harness import Runs, main

END = b"data: [DONE]\n\n"


def question() -> dict[str, Any]:
    messages = [
        {"role": "system", "content": scenario.INSTRUCTIONS},
        {"role": "user", "content": scenario.PROMPT},
    ]
    return {"model": scenario.MODEL, "messages": messages}


@asynccontextmanager
async def client(url: str) -> Runs:
    headers = {"Authorization": f"Bearer {scenario.API_KEY}"}
    async with aiohttp.ClientSession(headers=headers) as session:

        async def generate() -> str:
            async with session.post(f"{url}/chat/completions", json=question()) as response:
                response.raise_for_status()
                reply = await response.json()
            return str(reply["choices"][0]["message"]["content"])

        async def stream() -> str:
            chunk = b""
            body = question() | {"stream": True, "stream_options": {"include_usage": True}}
            async with session.post(f"{url}/chat/completions", json=body) as response:
                response.raise_for_status()
                async for chunk in response.content.iter_any():  # noqa: B007
                    pass
            return scenario.STREAM_ANSWER if chunk.endswith(END) else ""

        yield {"generate": generate, "stream": stream}


if __name__ == "__main__":
    main("aiohttp", client)
