"""Agents of a file for programs that speak another protocol, and servers that Ctrl-C ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from tactician.cli.loading import Loaded, choose_agent
from tactician.cli.run_command import choose_models
from tactician.cli.stores import find_store
from tactician.frozen import frozen
from tactician.platform import Platform
from tactician.runs import Runnable
from tactician.stores import MemoryStore, open_store


@frozen
class Publication:
    """Platform with the agents of a file, and those of them that are published beside the exported goals."""

    platform: Platform
    agents: tuple[Runnable, ...]


@frozen
class PublishingOptions:
    """Options of a command that publishes the agents of a file.

    Attributes:
        file: the file.
        names: names of the agents that are published.
        store: address of the store.
        model: name of the default model.
        is_scripted: true when the script of the file answers for all models.
        keeps: true when there is a store in memory where none is named.
    """

    file: Path
    names: Sequence[str] = ()
    store: str | None = None
    model: str | None = None
    is_scripted: bool = False
    keeps: bool = False

    @asynccontextmanager
    async def open(self, agents: Loaded) -> AsyncIterator[Publication]:
        """Open the platform with the agents of the file: the named agents are published, or all where no goal is."""
        chosen = tuple(choose_agent(agents, name, self.file) for name in self.names)
        models, address = choose_models(agents, self.file, self.model, self.is_scripted), find_store(self.store)
        async with AsyncExitStack() as stack:
            kept = MemoryStore() if self.keeps else None
            opened = kept if address is None else await stack.enter_async_context(open_store(address))
            platform = await stack.enter_async_context(Platform(models, store=opened))
            platform.register(*agents.values(), *agents.tool_groups)
            yield Publication(platform, chosen or (() if platform.goal_tools(remote=True) else tuple(agents.values())))


def run_server(work: Coroutine[object, object, None]) -> None:
    """Run a server until Ctrl-C, which is the way to end it."""
    with suppress(KeyboardInterrupt):
        asyncio.run(work)
