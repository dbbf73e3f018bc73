from __future__ import annotations

import os
from contextlib import asynccontextmanager

from benchmarks import scenario
from benchmarks.clients.harness import Runs, main
from tactician import Agent, Ensemble, Platform, Task


@asynccontextmanager
async def client(url: str) -> Runs:
    os.environ.update(OPENAI_API_KEY=scenario.API_KEY, OPENAI_BASE_URL=url.removesuffix("/v1"))
    platform = Platform()
    agents = [Agent(role=role, goal=goal, model=scenario.MODEL) for role, goal in scenario.STAFF]
    tasks = [Task(description, agent=agent) for description, agent in zip(scenario.TASKS, agents, strict=True)]
    ensemble = Ensemble("Newsroom", tasks)

    async def pair() -> str:
        return (await ensemble.run({"topic": "Paris"}, context=platform.context())).raw

    yield {"pair": pair}


if __name__ == "__main__":
    main("tactician", client)
