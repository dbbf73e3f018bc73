"""`tactician a2a`: agents for programs that speak A2A."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tactician.cli.a2a_options import GrpcPort, PrivatePush, create_a2a_settings
from tactician.cli.blueprint_files import Allow, BlueprintAccess, Modules, Root
from tactician.cli.console import AgentNames, Debug, File, ModelName, Scripted, StoreUrl, say
from tactician.cli.loading import Loaded, load_agents
from tactician.cli.publishing import LetsCallersApprove, PublishingOptions, may_callers_approve, run_server
from tactician.listening import is_loopback, listen, write_url

if TYPE_CHECKING:
    from tactician.serve import A2aSettings

_A2A: Final = "/a2a"
_CARD: Final = "/.well-known/agent-card.json"
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
    private_push: PrivatePush = False,
    grpc_port: GrpcPort = None,
    lets_callers_approve: LetsCallersApprove = None,
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
    neither, all agents. Each has a card and an endpoint of its own. Without a store, tasks end with this program.
    """
    agents = load_agents(file, BlueprintAccess.of(allow, modules, root))
    options = PublishingOptions(file, agent or (), store, model, scripted, keeps=True)
    settings = create_a2a_settings(
        host,
        private_push=private_push,
        grpc_port=grpc_port,
        name=name,
        key=key,
        v03=v03,
        lets_callers_approve=may_callers_approve(lets_callers_approve),
    )
    run_server(_serve(agents, options, settings, host, port, url))


async def _serve(
    agents: Loaded, options: PublishingOptions, settings: A2aSettings, host: str, port: int, url: str | None
) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Mount

    from tactician.serve import a2a_app

    async with options.open(agents) as published:
        with listen(host, port) as listening:
            address = (url or write_url(listening)).rstrip("/")
            inner = a2a_app(published.platform, f"{address}{_A2A}", publish=published.agents, settings=settings)
            routes = [Mount(_A2A, inner), Mount("/", inner)]
            app = Starlette(routes=routes, lifespan=inner.router.lifespan_context)
            say(f"The card is at {address}{_CARD}")
            say(f"The card of each agent is at {address}{_A2A}/ID{_CARD}")
            if not is_loopback(host):
                say("Anyone who reaches this address may send tasks: put it behind a proxy that checks callers.")
            config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=2)
            await uvicorn.Server(config).serve(sockets=[listening])
