from __future__ import annotations

from contextlib import asynccontextmanager

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from benchmarks import scenario
from benchmarks.clients.harness import Runs, get_weather, main


@asynccontextmanager
async def client(url: str) -> Runs:
    model = OpenAIChatModel(scenario.MODEL, provider=OpenAIProvider(base_url=url, api_key=scenario.API_KEY))
    bare = Agent(model, instructions=scenario.INSTRUCTIONS)
    equipped = Agent(model, instructions=scenario.INSTRUCTIONS, tools=[get_weather])

    async def plain() -> str:
        return (await bare.run(scenario.PROMPT)).output

    async def tool() -> str:
        return (await equipped.run(scenario.PROMPT)).output

    yield {"plain": plain, "tool": tool}


if __name__ == "__main__":
    main("pydantic-ai-slim", client)
