"""LangGraph's own prebuilt agent has moved to `langchain.agents`; what it returns is a compiled LangGraph graph."""

from __future__ import annotations

from contextlib import asynccontextmanager

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from benchmarks import scenario
from benchmarks.clients.harness import Runs, get_weather, main


@asynccontextmanager
async def client(url: str) -> Runs:
    model = ChatOpenAI(model=scenario.MODEL, base_url=url, api_key=scenario.API_KEY)
    bare = create_agent(model, [], system_prompt=scenario.INSTRUCTIONS)
    equipped = create_agent(model, [get_weather], system_prompt=scenario.INSTRUCTIONS)
    question = {"messages": [{"role": "user", "content": scenario.PROMPT}]}

    async def plain() -> str:
        return str((await bare.ainvoke(question))["messages"][-1].content)

    async def tool() -> str:
        return str((await equipped.ainvoke(question))["messages"][-1].content)

    yield {"plain": plain, "tool": tool}


if __name__ == "__main__":
    main("langgraph", client)
