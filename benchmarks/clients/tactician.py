from __future__ import annotations

from contextlib import asynccontextmanager

from benchmarks import scenario
from benchmarks.clients.harness import Runs, get_weather, main
from tactician import Agent, Platform, tool
from tactician.llm import Endpoint, RemoteModel


@asynccontextmanager
async def client(url: str) -> Runs:
    headers = {"Authorization": f"Bearer {scenario.API_KEY}"}
    model = RemoteModel(scenario.MODEL, Endpoint("mock", f"{url}/chat/completions", headers))
    platform = Platform(models=model)
    bare = Agent("Bare", model=scenario.MODEL, instructions=scenario.INSTRUCTIONS)
    equipped = Agent("Equipped", model=scenario.MODEL, instructions=scenario.INSTRUCTIONS, tools=[tool(get_weather)])

    async def plain() -> str:
        return (await bare.run(scenario.PROMPT, context=platform.context())).output

    async def with_tool() -> str:
        return (await equipped.run(scenario.PROMPT, context=platform.context())).output

    yield {"plain": plain, "tool": with_tool}


if __name__ == "__main__":
    main("tactician", client)
