from __future__ import annotations

import os
from contextlib import asynccontextmanager

from benchmarks import scenario
from benchmarks.clients.harness import Runs, get_weather, main
from tactician import Agent, Platform, tool


@asynccontextmanager
async def client(url: str) -> Runs:
    """The path of a user who sets a key, and nothing else: the catalog, its router, limits, retries and prices."""
    os.environ.update(OPENAI_API_KEY=scenario.API_KEY, OPENAI_BASE_URL=url.removesuffix("/v1"))
    platform = Platform()
    bare = Agent("Bare", model=scenario.MODEL, instructions=scenario.INSTRUCTIONS)
    equipped = Agent("Equipped", model=scenario.MODEL, instructions=scenario.INSTRUCTIONS, tools=[tool(get_weather)])

    async def plain() -> str:
        return (await bare.run(scenario.PROMPT, context=platform.context())).output

    async def with_tool() -> str:
        return (await equipped.run(scenario.PROMPT, context=platform.context())).output

    yield {"plain": plain, "tool": with_tool}


if __name__ == "__main__":
    main("tactician", client)
