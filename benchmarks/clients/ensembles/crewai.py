from __future__ import annotations

import os
from contextlib import asynccontextmanager

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}

from crewai import LLM, Agent, Crew, Process, Task  # type: ignore[import-not-found]

from benchmarks import scenario
from benchmarks.clients.harness import Runs, main


@asynccontextmanager
async def client(url: str) -> Runs:
    llm = LLM(model=f"openai/{scenario.MODEL}", base_url=url, api_key=scenario.API_KEY)
    agents = [Agent(role=role, goal=goal, backstory=goal, llm=llm) for role, goal in scenario.STAFF]
    tasks = [
        Task(description=description, expected_output="An answer", agent=agent)
        for description, agent in zip(scenario.TASKS, agents, strict=True)
    ]
    crew = Crew(agents=agents, tasks=tasks, process=Process.sequential, verbose=False)

    async def pair() -> str:
        return str((await crew.kickoff_async(inputs={"topic": "Paris"})).raw)

    yield {"pair": pair}


if __name__ == "__main__":
    main("crewai", client)
