from __future__ import annotations

from contextlib import asynccontextmanager

from anthropic import AsyncAnthropic

from benchmarks import scenario
from benchmarks.clients.harness import Runs, main

QUESTION = {
    "model": scenario.MODEL,
    "max_tokens": 1024,
    "system": scenario.INSTRUCTIONS,
    "messages": [{"role": "user", "content": scenario.PROMPT}],
}


@asynccontextmanager
async def client(url: str) -> Runs:
    messages = AsyncAnthropic(base_url=url.removesuffix("/v1"), api_key=scenario.API_KEY).messages

    async def generate() -> str:
        return (await messages.create(**QUESTION)).content[0].text

    async def stream() -> str:
        events = await messages.create(**QUESTION, stream=True)
        return "".join([event.delta.text async for event in events if event.type == "content_block_delta"])

    yield {"generate": generate, "stream": stream}


if __name__ == "__main__":
    main("anthropic", client)
