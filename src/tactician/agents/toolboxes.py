"""Current tools of an agent: its own, its tool groups', its caller's, and the tools for its workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from tactician.runs import RunContext, Runnable
from tactician.runs.life.creation import find_caller_tools
from tactician.text import snake_case
from tactician.tools import DeclaredTool, RunnableTool, Tool
from tactician.tools.group_registry import load_group_tools
from tactician.tools.provider import ToolProvider
from tactician.tools.toolbox import Toolbox
from tactician.tools.traits import ToolTraits

ToolboxSource: TypeAlias = Callable[[], Toolbox]
_CLIENT_SIDE: Final = ToolTraits(client_side=True)


class DerivedTools:
    """Function that derives tools from the current tools of an agent, cached while they are unchanged."""

    __slots__ = ("_cached", "_change", "_source")

    def __init__(self, source: ToolboxSource, change: Callable[[Toolbox], Toolbox]) -> None:
        self._source = source
        self._change = change
        self._cached: tuple[Toolbox, Toolbox] | None = None

    def __call__(self) -> Toolbox:
        """Return the tools."""
        toolbox = self._source()
        if self._cached is None or self._cached[0] is not toolbox:
            self._cached = toolbox, self._change(toolbox)
        return self._cached[1]


async def with_groups(
    source: ToolboxSource, groups: Sequence[str | ToolProvider], context: RunContext
) -> ToolboxSource:
    """Return an agent's own tools with the current tools of its groups and providers.

    Raises:
        ConfigurationError: when a name is unknown, or two groups have different tools of the same name.
    """
    more = await load_group_tools(groups, context)
    return DerivedTools(source, lambda own: Toolbox((*own, *more)))


def with_caller_tools(source: ToolboxSource, context: RunContext) -> ToolboxSource:
    """Return a source of the tools with those that the caller of the run executes. The tools of the agent override."""
    if not (specs := find_caller_tools(context)):
        return source
    offered = Toolbox(DeclaredTool(s.name, s.description, s.parameters, traits=_CLIENT_SIDE) for s in specs)
    return DerivedTools(source, offered.with_preferred)


def create_worker_tools(workers: Iterable[tuple[str, Runnable]]) -> tuple[Tool, ...]:
    """Return a tool for each worker, described by its work."""
    return tuple(RunnableTool(worker, snake_case(worker.name, "invoke_"), what) for what, worker in workers)


def describe_workers(instructions: str, workers: Sequence[Tool]) -> str:
    """Return the instructions for an agent that has these tools as workers."""
    listed = "\n".join(f"- {worker.name}: {worker.description}" for worker in workers)
    note = (
        f"These work for you; call them as tools:\n{listed}\n"
        "A worker sees nothing but your request: put all that it has to know into it. Then answer with what they gave."
    )
    return f"{instructions}\n\n{note}" if instructions else note
