from __future__ import annotations

from contextlib import asynccontextmanager

from agno.agent import Agent
from agno.models.openai import OpenAIChat

from benchmarks import scenario
from benchmarks.clients.harness import Runs, get_weather, main


@asynccontextmanager
async def client(url: str) -> Runs:
    model = OpenAIChat(id=scenario.MODEL, base_url=url, api_key=scenario.API_KEY)
    bare = Agent(model=model, instructions=scenario.INSTRUCTIONS, telemetry=False)
    equipped = Agent(model=model, instructions=scenario.INSTRUCTIONS, tools=[get_weather], telemetry=False)

    async def plain() -> str:
        return str((await bare.arun(scenario.PROMPT)).content)

    async def tool() -> str:
        return str((await equipped.arun(scenario.PROMPT)).content)

    yield {"plain": plain, "tool": tool}


if __name__ == "__main__":
    main("agno", client)
