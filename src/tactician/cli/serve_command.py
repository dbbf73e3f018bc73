"""`tactician serve`."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.markup import escape

from tactician.cli.blueprint_files import Allow, BlueprintAccess, Modules, Root
from tactician.cli.console import Debug, ModelName, StoreUrl, err
from tactician.cli.loading import load_agents
from tactician.cli.run_command import open_catalog
from tactician.cli.stores import find_store
from tactician.errors import ConfigurationError
from tactician.platform import Platform
from tactician.serve import require_serve_extra
from tactician.stores import MemoryStore, open_store

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from tactician.serve.api import Person

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
    with require_serve_extra():
        import uvicorn  # noqa: F401
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
            await _serve(_create_app(platform, callers, names), host, port)

    asyncio.run(work())


def _create_app(platform: Platform, people: dict[str, Person] | None, names: list[str] | None) -> Starlette:
    from tactician.serve.api import create_app

    return create_app(platform, people=people, hosts=names or None)


def _find_people(file: Path | None) -> dict[str, Person] | None:
    from tactician.serve.api import Person, load_people

    token = os.environ.get(TOKEN_VARIABLE)
    known = {} if file is None else load_people(file, os.environ)
    if token:
        known[token] = Person("owner", has_every_role=True)
    return known or None


async def _serve(app: Starlette, host: str, port: int) -> None:
    import uvicorn

    server = uvicorn.Server(
        uvicorn.Config(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=_PATIENCE)
    )
    serving = asyncio.create_task(server.serve())
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    for listener in server.servers if server.started else ():
        for opened in listener.sockets:
            address, at = opened.getsockname()[:2]
            shown = f"[{address}]" if ":" in address else address
            err.print(f"Serving on http://{escape(shown)}:{at}/api/openapi.json", highlight=False, soft_wrap=True)
    await serving


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
