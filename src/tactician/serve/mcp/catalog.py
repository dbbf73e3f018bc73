"""Catalog of what is published: tools, prompts and resources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from tactician.errors import DeclarationError
from tactician.platform import Platform
from tactician.platform.goal_tools import GoalTool
from tactician.serve.mcp.banner import Banner
from tactician.serve.mcp.prompts import PublishedPrompt, ServedPrompt, ToolPrompt, WrittenPrompt
from tactician.serve.mcp.resources import McpResource, describe_agent, describe_reference
from tactician.serve.mcp.runs import ClientRuns, RunEntry
from tactician.serve.mcp.sources import McpSource, ToolSources
from tactician.serve.mcp.tools import BannerTool, PlainTool, PublishedTool, RespondTool, RunTool, StatusTool
from tactician.tools import RunnableTool, Tool

T = TypeVar("T")


class Catalog:
    """Tools, prompts and resources that are published now.

    Args:
        platform: the platform, whose goals with `Export(remote=True)` are published, also those registered later.
        sources: what else is published.
        resources: resources besides the resources of references and agents.
        prompts: prompts besides the prompts of goals and Runnables.
        banner: the banner.
        is_stopping: tells that the server is being stopped.
        lets_callers_approve: true when the tool `respond` may approve.

    Raises:
        DeclarationError: when a goal cannot be published, a source has no tools, or two tools have the same name.
    """

    def __init__(
        self,
        platform: Platform,
        sources: Sequence[McpSource],
        resources: Iterable[McpResource],
        prompts: Iterable[ServedPrompt],
        banner: Banner,
        is_stopping: Callable[[], bool],
        *,
        lets_callers_approve: bool,
    ) -> None:
        self._platform = platform
        self._sources = ToolSources(platform, sources)
        self._resources = (*resources, *map(describe_reference, self._sources.references))
        self._runs = ClientRuns(platform, lambda: self._entries, is_stopping, lets_callers_approve=lets_callers_approve)
        self._prompts = tuple(WrittenPrompt(prompt, platform, self._runs) for prompt in prompts)
        self._own: tuple[PublishedTool, ...] = (RespondTool(self._runs), StatusTool(self._runs), BannerTool(banner))
        self._goals: tuple[GoalTool, ...] | None = None
        self._made: dict[int, tuple[Tool, PublishedTool]] = {}
        self._load_goals()
        platform.watch_agents(self._forget_goals)

    async def load_tools(self) -> dict[str, PublishedTool]:
        """Return the tools by name.

        Raises:
            DeclarationError: when a goal cannot be published, or two tools have the same name.
        """
        chosen = await self._sources.load()
        whole = {tool.agent.name for tool in chosen if isinstance(tool, GoalTool)}  # published with all of their goals
        goals = (tool for tool in self._load_goals() if tool.agent.name not in whole)
        published = (*goals, *chosen)
        self._made = {id(tool): (tool, self._publish(tool)) for tool in published}
        tools = [*(made for _, made in self._made.values()), *self._own]
        return _by_name("tools", [(tool.name, tool) for tool in tools])

    async def load_prompts(self) -> dict[str, PublishedPrompt]:
        """Return the prompts of the program, and of all goals and Runnables, by name.

        Raises:
            DeclarationError: when two have the same name.
        """
        tools = (await self.load_tools()).values()
        made = (ToolPrompt(tool) for tool in tools if isinstance(tool, RunTool))
        prompts: list[PublishedPrompt] = [*made, *self._prompts]
        return _by_name("prompts", [(prompt.definition.name, prompt) for prompt in prompts])

    async def load_resources(self) -> list[McpResource]:
        """Return the resources, and the templates of resources."""
        await self.load_tools()
        agents = {entry.runnable.name: entry.runnable for entry in self._entries}
        return [*self._resources, *map(describe_agent, agents.values())]

    @property
    def _entries(self) -> Iterator[RunEntry]:
        return (made.entry for _, made in self._made.values() if isinstance(made, RunTool))

    def _load_goals(self) -> tuple[GoalTool, ...]:
        if self._goals is None:
            self._goals = self._platform.goal_tools(remote=True)
        return self._goals

    def _forget_goals(self) -> None:
        self._goals = None

    def _publish(self, tool: Tool) -> PublishedTool:
        """Return a tool as clients see it, the same as before."""
        if (published_tool := self._made.get(id(tool))) is not None:
            return published_tool[1]
        if isinstance(tool, GoalTool | RunnableTool):
            return RunTool(tool, self._runs)
        return PlainTool(tool, self._platform)


def _by_name(kind: str, named: Sequence[tuple[str, T]]) -> dict[str, T]:
    """Return things by their names.

    Raises:
        DeclarationError: when two have the same name.
    """
    times = Counter(name for name, _ in named)
    if twice := [name for name, number in times.items() if number > 1]:
        raise DeclarationError(f"{kind} for MCP clients", [f"{name!r} is used twice" for name in twice])
    return dict(named)
