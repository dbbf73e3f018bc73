"""Agents of a file for programs that speak another protocol, and servers that Ctrl-C ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from tactician.cli.loading import Loaded, choose_agent
from tactician.cli.run_command import choose_models
from tactician.cli.stores import find_store, open_or_create
from tactician.config.loading import load_settings
from tactician.frozen import frozen
from tactician.loggers import mask_program_logs
from tactician.platform import Platform
from tactician.runs import Runnable

LetsCallersApprove: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--lets-callers-approve/--no-callers-approve",
        help="Programs that call over MCP or A2A may approve calls of tools themselves.",
        show_default=False,
    ),
]


def may_callers_approve(option: bool | None) -> bool:
    """Return whether callers may approve: as the option says, else the settings."""
    return load_settings().serve.lets_callers_approve if option is None else option


@frozen
class Publication:
    """Platform with the agents of a file, and the agents that are published beside the exported goals."""

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
        chosen = tuple(choose_agent(agents.everything, name, self.file) for name in self.names)
        models, address = choose_models(agents, self.file, self.model, self.is_scripted), find_store(self.store)
        async with AsyncExitStack() as stack:
            has_store = self.keeps or address is not None
            opened = await stack.enter_async_context(open_or_create(address)) if has_store else None
            platform = await stack.enter_async_context(Platform(models, store=opened))
            agents.register(platform, chosen)
            yield Publication(platform, chosen or (() if platform.goal_tools(remote=True) else tuple(agents.values())))


def run_server(work: Coroutine[object, object, None]) -> None:
    """Run a server until Ctrl-C, which is the way to end it."""
    mask_program_logs()
    with suppress(KeyboardInterrupt):
        asyncio.run(work)
