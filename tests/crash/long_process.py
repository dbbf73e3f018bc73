"""A process of thirty actions, each of which leaves a trace outside. Run as a program, this is a worker for it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel, create_model

from tactician import Platform, UserInput, achieves_goal, action, planned_agent
from tactician.platform import Worker
from tactician.process import OperationContext
from tactician.stores import open_store
from tactician.testing import ScriptedModel

ACTIONS = 30
LEASE = 1.0
STAGES: list[type[BaseModel]] = [
    create_model(f"Stage{number}", total=(int, 0), __module__=__name__) for number in range(ACTIONS + 1)
]


def traced(log: str, line: str) -> None:
    """Appends a line that is there even when the process dies right after."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


def stage(number: int) -> Callable[..., Awaitable[BaseModel]]:
    """The action that makes one stage of the one before."""

    async def act(self: Any, given: Any, context: OperationContext) -> BaseModel:  # noqa: ANN401 - made at runtime
        traced(self.log, f"{context.idempotency_key} {os.getpid()}")
        await asyncio.sleep(0.002)
        before = 0 if isinstance(given, UserInput) else given.total
        return STAGES[number](total=before + number)

    act.__name__ = f"stage{number}"
    act.__annotations__ = {
        "given": UserInput if number == 1 else STAGES[number - 1],
        "context": OperationContext,
        "return": STAGES[number],
    }
    declared = action(act)
    return achieves_goal("the last stage")(declared) if number == ACTIONS else declared


def long_agent(log: str) -> object:
    """The agent, whose traces go to a file."""
    methods = {f"stage{number}": stage(number) for number in range(1, ACTIONS + 1)}
    made = planned_agent(description="thirty stages")(type("Long", (), methods))()
    made.log = log
    return made


async def work(url: str, log: str) -> None:
    store = open_store(url)
    platform = Platform(models=ScriptedModel(), store=store).register(long_agent(log))
    try:
        await Worker(platform, lease=LEASE, poll=0.02).run()
    finally:
        await store.aclose()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2]))
