"""Sources of tools: what may be published besides the exported goals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from tactician.agents.planned.specs import as_runnable, planned_spec
from tactician.errors import DeclarationError
from tactician.platform import Platform
from tactician.prompts import LlmReference
from tactician.runs import Runnable
from tactician.tools import RunnableTool, Tool, ToolGroup, as_tool
from tactician.tools.toolbox import find_declared_tools

McpSource: TypeAlias = object
"""What may be published: the name of a registered agent, a Runnable, the instance of a `@planned_agent` class, a tool
or typed function, an object with methods declared with `@tool`, a tool group, a reference, or several of these."""


class ToolSources:
    """Tools of sources, in the order of these. Runnables among them are registered on the platform.

    Args:
        platform: the platform.
        sources: the sources.

    Raises:
        DeclarationError: when a source has no tools.
    """

    def __init__(self, platform: Platform, sources: Sequence[McpSource]) -> None:
        self._platform = platform
        self._parts = [part for source in sources for part in self._split(source)]
        self.references = tuple(source for source in sources if isinstance(source, LlmReference))

    async def load(self) -> list[Tool]:
        """Return the tools, with the current tools of tool groups."""
        tools: list[Tool] = []
        for part in self._parts:
            tools.extend(await part.load_tools() if isinstance(part, ToolGroup) else (part,))
        return tools

    def _split(self, source: McpSource) -> Iterable[Tool | ToolGroup]:
        if isinstance(source, str):
            return self._offer(self._platform.find_agent(source))
        if isinstance(source, Tool | ToolGroup):
            return (source,)
        if isinstance(source, LlmReference):
            return source.named_tools
        if (runnable := as_runnable(source)) is not None:
            return self._offer(self._register(runnable))
        if declared := find_declared_tools(source):
            return declared
        if isinstance(source, Iterable):
            return [tool for part in source for tool in self._split(part)]
        if callable(source):
            return (as_tool(source),)
        problem = "it is neither a Runnable nor a tool, and has no method declared with @tool"
        raise DeclarationError(type(source).__name__, [problem])

    def _register(self, runnable: Runnable) -> Runnable:
        """Register a Runnable, so that its runs can be continued, unless its name is taken."""
        if (registered_agent := self._platform.agents.get(runnable.name)) is not None:
            return registered_agent
        self._platform.register(runnable)
        return runnable

    def _offer(self, runnable: Runnable) -> Iterable[Tool]:
        """Return a tool for each goal of a planned agent, and a single tool for any other Runnable."""
        spec = planned_spec(runnable)
        if spec is None:
            return (RunnableTool(runnable),)
        if not (goals := [tool for tool in self._platform.goal_tools() if tool.agent.name == runnable.name]):
            raise DeclarationError(runnable.name, ["none of its goals can be published: nothing leads to them"])
        return goals
