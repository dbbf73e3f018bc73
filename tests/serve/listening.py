"""Applications on a loopback socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette


@asynccontextmanager
async def listening(create: Callable[[str], Starlette]) -> AsyncIterator[str]:
    """Serve an application on a free port, and give its address. It stops as `tactician serve` does.

    Args:
        create: returns the application for its address.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as opened:
        address = f"http://127.0.0.1:{opened.getsockname()[1]}"
        application = create(address)
        config = uvicorn.Config(application, log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[opened]))
        try:
            async with asyncio.timeout(20):
                while not server.started:  # noqa: ASYNC110 - uvicorn has no event for this
                    await asyncio.sleep(0.01)
            yield address
        finally:
            application.state.streams.stop()
            server.should_exit = True
            await serving
