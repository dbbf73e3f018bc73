"""`tactician a2a`: agents for programs that speak A2A."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tactician.cli.blueprint_files import Allow, BlueprintAccess, Modules, Root
from tactician.cli.console import AgentNames, Debug, File, ModelName, Scripted, StoreUrl, say
from tactician.cli.loading import Loaded, load_agents
from tactician.cli.publishing import PublishingOptions, run_server
from tactician.errors import ConfigurationError
from tactician.listening import is_loopback, listen, write_url

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
    options = PublishingOptions(file, agent or (), store, model, scripted, keeps=True)
    settings = A2aSettings(name=name, signing_key=_read_key(key), supports_v03=v03)
    run_server(_serve(agents, options, settings, host, port, url))


def _read_key(path: Path | None) -> str | None:
    try:
        return None if path is None else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: the signing key cannot be read.") from error


async def _serve(
    agents: Loaded, options: PublishingOptions, settings: A2aSettings, host: str, port: int, url: str | None
) -> None:
    import uvicorn

    from tactician.serve import a2a_app

    async with options.open(agents) as published:
        with listen(host, port) as listening:
            address = url or write_url(listening)
            app = a2a_app(published.platform, address, publish=published.agents, settings=settings)
            say(f"The card is at {address.rstrip('/')}/.well-known/agent-card.json")
            if not is_loopback(host):
                say("Whoever reaches this address may send tasks: put it behind a proxy that checks who calls.")
            config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2)
            await uvicorn.Server(config).serve(sockets=[listening])
