"""Workers of an agent: Runnables that the agent calls as tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tactician.runs import Runnable
from tactician.tools import RunnableTool, Tool, snake_case


def invocation_tools(workers: Iterable[tuple[str, Runnable]]) -> tuple[Tool, ...]:
    """Return a tool for each worker, given with the description of its work."""
    return tuple(RunnableTool(worker, snake_case(worker.name, "invoke_"), what) for what, worker in workers)


def describe_workers(instructions: str, workers: Sequence[Tool]) -> str:
    """Return the instructions of an agent that has these tools as workers."""
    listed = "\n".join(f"- {worker.name}: {worker.description}" for worker in workers)
    told = (
        f"These work for you; call them as tools:\n{listed}\n"
        "A worker sees nothing but your request: put all that it has to know into it. Then answer with what they gave."
    )
    return f"{instructions}\n\n{told}" if instructions else told
