from __future__ import annotations

import os
from contextlib import asynccontextmanager

from benchmarks import scenario
from benchmarks.clients.harness import Runs, main
from tactician import Agent, Platform


@asynccontextmanager
async def client(url: str) -> Runs:
    """The two agents of the ensemble, called by hand with the prompts that their tasks have."""
    os.environ.update(OPENAI_API_KEY=scenario.API_KEY, OPENAI_BASE_URL=url.removesuffix("/v1"))
    platform = Platform()
    researcher, writer = (Agent(role=role, goal=goal, model=scenario.MODEL) for role, goal in scenario.STAFF)
    research, report = scenario.TASKS

    async def pair() -> str:
        context = platform.context()
        facts = await researcher.run(f"## Task\n\n{research.format(topic='Paris')}", context=context)
        shown = f"## Context from Previous Tasks\n\n### Researcher: {research}\n\n{facts.output}"
        return (await writer.run(f"{shown}\n\n## Task\n\n{report}", context=context)).output

    yield {"pair": pair}


if __name__ == "__main__":
    main("tactician", client)
