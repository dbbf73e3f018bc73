"""`tactician a2a`: agents for programs that speak A2A."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tactician.cli.blueprint_files import Allow, BlueprintAccess, Modules, Root
from tactician.cli.console import AgentNames, Debug, File, ModelName, Scripted, StoreUrl, say
from tactician.cli.loading import Loaded, choose_agent, load_agents
from tactician.cli.run_command import choose_models
from tactician.cli.stores import find_store, open_or_create
from tactician.errors import ConfigurationError
from tactician.llm import LanguageModel, ModelCatalog
from tactician.platform import Platform
from tactician.runs import Runnable

if TYPE_CHECKING:
    from tactician.serve import A2aSettings

a2a = typer.Typer(name="a2a", help="Agents for programs that speak A2A.")


@a2a.callback()
def _group() -> None:
    """Agents for programs that speak A2A."""


@a2a.command()
def serve(
    file: File,
    agent: AgentNames = None,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="The port.")] = 8000,
    host: Annotated[str, typer.Option("--host", help="The address to listen at.")] = "127.0.0.1",
    url: Annotated[str | None, typer.Option("--url", help="Where clients reach it, behind a proxy.")] = None,
    name: Annotated[str, typer.Option("--name", help="The name on the card.")] = "",
    key: Annotated[
        Path | None, typer.Option("--key", metavar="FILE.pem", help="Sign the card with this private key (P-256).")
    ] = None,
    v03: Annotated[bool, typer.Option("--v03", help="Answer clients of version 0.3 of the protocol too.")] = False,
    store: StoreUrl = None,
    model: ModelName = None,
    scripted: Scripted = False,
    allow: Allow = None,
    modules: Modules = None,
    root: Root = None,
    debug: Debug = False,
) -> None:
    """Offer the agents in a file to programs that speak A2A.

    Offered are the goals that are exported with `Export(remote=True)`, and the agents that are named; where there are
    neither, all agents. Without a store, tasks end with this program.
    """
    from tactician.serve import A2aSettings

    agents = load_agents(file, BlueprintAccess.of(allow, modules, root))
    chosen = [choose_agent(agents, one, file) for one in agent or ()]
    settings = A2aSettings(name=name, signing_key=_read_key(key), supports_v03=v03)
    models = choose_models(agents, file, model, scripted)
    address = url or f"http://{host}:{port}"
    asyncio.run(_serve(agents, chosen, models, find_store(store), address, settings, host, port))


def _read_key(path: Path | None) -> str | None:
    try:
        return None if path is None else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: the signing key cannot be read.") from error


async def _serve(
    agents: Loaded,
    chosen: Sequence[Runnable],
    models: ModelCatalog | LanguageModel,
    store: str | None,
    url: str,
    settings: A2aSettings,
    host: str,
    port: int,
) -> None:
    import uvicorn

    from tactician.serve import a2a_app

    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(open_or_create(store))
        platform = Platform(models, store=opened).register(*agents.values(), *agents.tool_groups)
        published = chosen or (() if platform.goal_tools(remote=True) else tuple(agents.values()))
        app = a2a_app(platform, url, publish=published, settings=settings)
        say(f"The card is at {url.rstrip('/')}/.well-known/agent-card.json")
        config = uvicorn.Config(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=2)
        await uvicorn.Server(config).serve()
