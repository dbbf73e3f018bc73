from __future__ import annotations

from contextlib import asynccontextmanager

from benchmarks import scenario
from benchmarks.clients.calls.tactician import calls, remote
from benchmarks.clients.harness import Runs, main
from tactician.llm.routing.deployment import Deployment
from tactician.llm.routing.router import ModelRouter


@asynccontextmanager
async def client(url: str) -> Runs:
    # Limits that are counted and never reached.
    limits = {"requests_per_second": 1e6, "tokens_per_second": 1e9, "max_concurrency": 1000}
    yield calls(ModelRouter([Deployment("mock", scenario.MODEL, remote(url), **limits)]))


if __name__ == "__main__":
    main("tactician", client)
