from __future__ import annotations

import os
from contextlib import asynccontextmanager

from benchmarks import scenario
from benchmarks.clients.harness import Runs, main
from tactician import Agent, Ensemble, Platform, Task


@asynccontextmanager
async def client(url: str) -> Runs:
    """Two tasks as an ensemble, and the same agents called by hand with the prompts that their tasks have."""
    os.environ.update(OPENAI_API_KEY=scenario.API_KEY, OPENAI_BASE_URL=url.removesuffix("/v1"))
    platform = Platform()
    agents = [Agent(role=role, goal=goal, model=scenario.MODEL) for role, goal in scenario.STAFF]
    tasks = [Task(description, agent=agent) for description, agent in zip(scenario.TASKS, agents, strict=True)]
    ensemble = Ensemble("Newsroom", tasks)
    researcher, writer = agents
    research, report = scenario.TASKS

    async def call_agents() -> str:
        context = platform.context()
        facts = await researcher.run(f"## Task\n\n{research.format(topic='Paris')}", context=context)
        shown = f"## Context from Previous Tasks\n\n### Researcher: {research}\n\n{facts.output}"
        return (await writer.run(f"{shown}\n\n## Task\n\n{report}", context=context)).output

    async def pair() -> str:
        return (await ensemble.run({"topic": "Paris"}, context=platform.context())).raw

    yield {"agents": call_agents, "pair": pair}


if __name__ == "__main__":
    main("tactician", client)
