"""What agents and waiting runs keep in memory."""

from __future__ import annotations

import gc
import tracemalloc

from tactician import Agent, RunContext, tool
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall

KIBIBYTE = 1024
SEVERAL = 200


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    return "paid"


def traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_an_idle_agent_takes_at_most_4_kibibytes() -> None:
    Agent("warm", tools=[pay])
    tracemalloc.start()
    try:
        before = traced()
        agents = [Agent(f"Agent {n}", model="gpt-5.4", instructions="Pay bills.", tools=[pay]) for n in range(SEVERAL)]
        each = (traced() - before) / len(agents)
    finally:
        tracemalloc.stop()

    assert each <= 4 * KIBIBYTE


async def test_a_waiting_run_takes_little_more_than_its_json() -> None:
    store = MemoryStore()
    agent = Agent("Clerk", tools=[pay])

    async def wait(number: int) -> None:
        model = ScriptedModel(ToolCall("pay", amount=number))
        await agent.run(f"pay {number} " + "please " * 500, context=RunContext.over(model, store=store))

    await wait(0)
    tracemalloc.start()
    try:
        before = traced()
        for number in range(SEVERAL):
            await wait(number)
        each = (traced() - before) / SEVERAL
    finally:
        tracemalloc.stop()
    runs = RunStore(store)
    (first, *_) = await runs.find(statuses=["waiting"])
    size = sum(len(step.to_json()) for step in await runs.load_steps(first.run_id))

    assert each <= 1.5 * size, "its objects, and the record around them"
