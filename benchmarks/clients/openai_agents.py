from __future__ import annotations

from contextlib import asynccontextmanager

from openai import AsyncOpenAI

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from benchmarks import scenario
from benchmarks.clients.harness import Runs, get_weather, main


@asynccontextmanager
async def client(url: str) -> Runs:
    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel(scenario.MODEL, AsyncOpenAI(base_url=url, api_key=scenario.API_KEY))
    bare = Agent(name="bare", instructions=scenario.INSTRUCTIONS, model=model)
    equipped = Agent(
        name="equipped", instructions=scenario.INSTRUCTIONS, model=model, tools=[function_tool(get_weather)]
    )

    async def plain() -> str:
        return str((await Runner.run(bare, scenario.PROMPT)).final_output)

    async def tool() -> str:
        return str((await Runner.run(equipped, scenario.PROMPT)).final_output)

    yield {"plain": plain, "tool": tool}


if __name__ == "__main__":
    main("openai-agents", client)
