"""`tactician serve`."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack, suppress
from ipaddress import ip_address
from pathlib import Path
from socket import socket
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.markup import escape

from tactician import serve as server
from tactician.cli.blueprint_files import Allow, BlueprintAccess, Modules, Root
from tactician.cli.console import Debug, ModelName, StoreUrl, err
from tactician.cli.loading import load_agents
from tactician.cli.run_command import open_catalog
from tactician.cli.stores import find_store
from tactician.errors import ConfigurationError
from tactician.extras import require_extra
from tactician.platform import Platform
from tactician.runs import DEFAULT_LEASE
from tactician.stores import MemoryStore, open_store

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from tactician.serve import Person

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
    people: Annotated[
        Path | None, typer.Option("--people", metavar="FILE", help="People, their tokens, roles and rights.")
    ] = None,
    lease: Annotated[
        float, typer.Option("--lease", min=1, help="Seconds after which others continue the runs of a dead server.")
    ] = DEFAULT_LEASE,
    model: ModelName = None,
    allow: Allow = None,
    modules: Modules = None,
    root: Root = None,
    debug: Debug = False,
) -> None:
    """Serve agents over HTTP: REST, streams of events, and an OpenAPI document. Ctrl-C ends it.

    The variable TACTICIAN_TOKEN has a bearer token for all that the server does. With neither that nor --people, only
    programs on this machine may call.
    """
    limits = server.RequestLimits(lease=lease)
    access = BlueprintAccess.of(allow, modules, root)
    loaded = [load_agents(file, access) for file in files]
    callers = _find_people(people)
    if callers is None and not _is_loopback(host):
        raise ConfigurationError(
            f"Programs on other machines may call {host} only with tokens: set {TOKEN_VARIABLE}, or add --people FILE."
        )

    async def work() -> None:
        async with AsyncExitStack() as stack:
            address = find_store(store)
            opened = MemoryStore() if address is None else await stack.enter_async_context(open_store(address))
            platform = await stack.enter_async_context(Platform(models=open_catalog(model), store=opened))
            for agents in loaded:
                platform.register(*agents.values(), *agents.tool_groups)
            if address is None:
                err.print("Runs end with this program: add --store FILE to keep them.", style="yellow")
            await _serve(server.app(platform, people=callers, hosts=names or None, limits=limits), host, port)

    with suppress(KeyboardInterrupt):  # the way to end it
        asyncio.run(work())


def _find_people(file: Path | None) -> dict[str, Person] | None:
    token = os.environ.get(TOKEN_VARIABLE)
    known = {} if file is None else server.load_people(file, os.environ)
    if token:
        known[token] = server.Person("owner", has_every_role=True)
    return known or None


async def _serve(app: Starlette, host: str, port: int) -> None:
    with require_extra("serve", "A server needs"):
        import uvicorn

    class Serving(uvicorn.Server):
        """Server that ends its streams at the first signal, and not only when it stops waiting for them."""

        async def startup(self, sockets: list[socket] | None = None) -> None:
            """Listen, and say where."""
            await super().startup(sockets)
            for listener in self.servers if self.started else ():
                for opened in listener.sockets:
                    _say_address(*opened.getsockname()[:2])

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """Take a signal to stop."""
            asyncio.get_running_loop().call_soon_threadsafe(app.state.streams.stop)
            super().handle_exit(sig, frame)

    await Serving(
        uvicorn.Config(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=_PATIENCE)
    ).serve()


def _say_address(address: str, port: int) -> None:
    shown = f"[{address}]" if ":" in address else address
    err.print(f"Serving on http://{escape(shown)}:{port}/api/openapi.json", highlight=False, soft_wrap=True)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
