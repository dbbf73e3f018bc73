from __future__ import annotations

from contextlib import asynccontextmanager

from openai import AsyncOpenAI

from benchmarks import scenario
from benchmarks.clients.harness import Runs, main

MESSAGES = [
    {"role": "system", "content": scenario.INSTRUCTIONS},
    {"role": "user", "content": scenario.PROMPT},
]


@asynccontextmanager
async def client(url: str) -> Runs:
    completions = AsyncOpenAI(base_url=url, api_key=scenario.API_KEY).chat.completions

    async def generate() -> str:
        reply = await completions.create(model=scenario.MODEL, messages=MESSAGES)
        return reply.choices[0].message.content or ""

    async def stream() -> str:
        chunks = await completions.create(
            model=scenario.MODEL, messages=MESSAGES, stream=True, stream_options={"include_usage": True}
        )
        return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices])

    yield {"generate": generate, "stream": stream}


if __name__ == "__main__":
    main("openai", client)
