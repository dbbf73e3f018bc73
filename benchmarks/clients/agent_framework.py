from __future__ import annotations

from contextlib import asynccontextmanager

from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient

from benchmarks import scenario
from benchmarks.clients.harness import Runs, get_weather, main


@asynccontextmanager
async def client(url: str) -> Runs:
    model = OpenAIChatCompletionClient(scenario.MODEL, base_url=url, api_key=scenario.API_KEY)
    bare = Agent(model, scenario.INSTRUCTIONS)
    equipped = Agent(model, scenario.INSTRUCTIONS, tools=[get_weather])

    async def plain() -> str:
        return (await bare.run(scenario.PROMPT)).text

    async def tool() -> str:
        return (await equipped.run(scenario.PROMPT)).text

    yield {"plain": plain, "tool": tool}


if __name__ == "__main__":
    main("agent-framework-core", client)
