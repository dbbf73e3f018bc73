"""Asks an agent for work through the official A2A SDK, over loopback; prints the processor time of a request as JSON.

Server and client are in this process: `python -m benchmarks.clients.mesh_a2a ROUNDS`.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from time import process_time

import httpx
import uvicorn
from a2a.client import ClientConfig, ClientFactory
from a2a.helpers import new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, Role, SendMessageRequest
from starlette.applications import Starlette

REQUESTS, WARM_UP = 50, 30


class Kitchen(AgentExecutor):
    """Agent that prepares meals."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Answer with a message."""
        await event_queue.enqueue_event(new_text_message(f"{context.get_user_input()}, ready"))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Do nothing: the work has ended."""


async def main(rounds: int) -> float:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    card = AgentCard(
        name="kitchen",
        description="Prepares meals",
        version="1",
        capabilities=AgentCapabilities(),
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )
    handler = DefaultRequestHandler(Kitchen(), InMemoryTaskStore(), card)
    application = Starlette(routes=create_jsonrpc_routes(handler, "/"))
    server = uvicorn.Server(uvicorn.Config(application, log_level="error", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    async with httpx.AsyncClient() as http:
        client = ClientFactory(ClientConfig(streaming=False, httpx_client=http)).create(card)

        async def ask(count: int) -> float:
            started = process_time()
            for _ in range(count):
                request = SendMessageRequest(message=new_text_message("Wagyu", role=Role.ROLE_USER))
                answers = [answer async for answer in client.send_message(request)]
                assert answers[-1].message.parts[0].text == "Wagyu, ready", answers
            return (process_time() - started) / count

        await ask(WARM_UP)
        lowest = min([await ask(REQUESTS) for _ in range(rounds)])
    server.should_exit = True
    await serving
    return lowest


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(int(sys.argv[1])))))
