"""`tactician serve`."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from socket import socket
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.markup import escape

from tactician import serve as server
from tactician.cli.a2a_options import GrpcPort, PrivatePush, create_a2a_settings
from tactician.cli.blueprint_files import Allow, BlueprintAccess, Modules, Root
from tactician.cli.console import Debug, ModelName, Scripted, StoreUrl, err
from tactician.cli.loading import Loaded, load_agents
from tactician.cli.mesh_command import Realm, open_mesh
from tactician.cli.publishing import LetsCallersApprove, may_callers_approve, run_server
from tactician.cli.run_command import choose_models
from tactician.cli.stores import find_store, open_or_create
from tactician.config.loading import load_settings
from tactician.errors import ConfigurationError
from tactician.extras import require_extra
from tactician.listening import is_loopback, listen, write_url
from tactician.platform import Platform
from tactician.runs.life.holding import DEFAULT_LEASE

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from tactician.serve import A2aSettings, Person

MeshUrl = Annotated[
    str | None,
    typer.Option(
        "--mesh", metavar="URL", help="Address of a mesh for whose nodes callers may leave work, at /api/work."
    ),
]
TOKEN_VARIABLE: Final = "TACTICIAN_TOKEN"
_PATIENCE: Final = 1


def serve(
    files: Annotated[list[Path], typer.Argument(help="Python files with agents in them, or blueprints.")],
    store: StoreUrl = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 for a free port.")] = 8000,
    names: Annotated[
        list[str] | None, typer.Option("--name", help="A name by which the server may be called; several times.")
    ] = None,
    url: Annotated[str | None, typer.Option("--url", help="Where clients reach it, behind a proxy.")] = None,
    people: Annotated[
        Path | None, typer.Option("--people", metavar="FILE", help="People, their tokens, roles and rights.")
    ] = None,
    lease: Annotated[
        float, typer.Option("--lease", min=1, help="Seconds after which others continue the runs of a dead server.")
    ] = DEFAULT_LEASE,
    private_push: PrivatePush = False,
    grpc_port: GrpcPort = None,
    lets_callers_approve: LetsCallersApprove = None,
    mesh: MeshUrl = None,
    realm: Realm = "default",
    model: ModelName = None,
    scripted: Scripted = False,
    allow: Allow = None,
    modules: Modules = None,
    root: Root = None,
    debug: Debug = False,
) -> None:
    """Serve agents over HTTP: REST, streams of events, a dashboard, AG-UI, MCP and A2A. Ctrl-C ends it.

    The variable TACTICIAN_TOKEN has a bearer token for all that the server does. With neither that nor --people, only
    programs on this machine may call.
    """
    settings = load_settings().serve
    limits = server.RequestLimits(
        lease=lease, events_per_run=settings.events_per_run, runs_with_events=settings.runs_with_events
    )
    access = BlueprintAccess.of(allow, modules, root)
    loaded = [load_agents(file, access) for file in files]
    models = choose_models(Loaded.merge(loaded), files[0], model, scripted)
    callers, approve = _find_people(people), may_callers_approve(lets_callers_approve)
    if callers is None and not is_loopback(host):
        raise ConfigurationError(
            f"Programs on other machines may call {host} only with tokens: set {TOKEN_VARIABLE}, or add --people FILE."
        )

    def create_settings() -> A2aSettings | None:
        if find_spec("a2a") is None and not private_push and grpc_port is None:
            return None
        return create_a2a_settings(host, private_push=private_push, grpc_port=grpc_port)

    async def work() -> None:
        async with AsyncExitStack() as stack:
            kept = find_store(store)
            opened = await stack.enter_async_context(open_or_create(kept))
            platform = await stack.enter_async_context(Platform(models=models, store=opened))
            for agents in loaded:
                agents.register(platform)
            if kept is None:
                err.print("Runs end with this program: add --store FILE to keep them.", style="yellow")
            with listen(host, port) as listening:
                address = url or write_url(listening)
                app = server.app(
                    platform,
                    people=callers,
                    hosts=names or None,
                    limits=limits,
                    url=address,
                    lets_callers_approve=approve,
                    a2a=create_settings(),
                    mesh=None if mesh is None else await stack.enter_async_context(open_mesh(mesh, realm, "serve")),
                )
                await _serve(app, listening)

    run_server(work())


def _find_people(file: Path | None) -> dict[str, Person] | None:
    token = os.environ.get(TOKEN_VARIABLE)
    people = {} if file is None else server.load_people(file, os.environ)
    if token and token in people:
        raise ConfigurationError(f"{file}: {people[token].name} has the token in {TOKEN_VARIABLE}: use another there")
    if token:
        people[token] = server.Person("owner", has_every_role=True)
    return people or None


async def _serve(app: Starlette, listening: socket) -> None:
    with require_extra("serve", "A server needs"):
        import uvicorn

    class Serving(uvicorn.Server):
        """Server that ends its streams at the first signal, and not only when it stops waiting for them."""

        async def startup(self, sockets: list[socket] | None = None) -> None:
            """Listen, and say where."""
            await super().startup(sockets)
            if self.started:
                address = escape(write_url(listening))
                err.print(f"Serving on {address}/ui (API: /api/openapi.json)", highlight=False, soft_wrap=True)

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """Take a signal to stop."""
            asyncio.get_running_loop().call_soon_threadsafe(app.state.streams.stop)
            super().handle_exit(sig, frame)

    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=_PATIENCE)
    await Serving(config).serve(sockets=[listening])
