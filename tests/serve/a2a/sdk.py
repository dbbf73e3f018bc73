"""The official client of A2A, as any program may use it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import grpc
import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.client import ClientCallContext
from a2a.client.interceptors import AfterArgs, BeforeArgs, ClientCallInterceptor
from a2a.types import AgentCard, Message, Part, Role, SendMessageRequest, Task, TaskState
from a2a.utils.constants import TransportProtocol

from tactician.events.event import new_id
from tactician.serve import A2aSettings, GrpcSettings

BINDINGS = (TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON, TransportProtocol.GRPC)
SETTINGS = A2aSettings(poll=0.05, grpc=GrpcSettings())
COMPLETED = TaskState.TASK_STATE_COMPLETED
INPUT_REQUIRED = TaskState.TASK_STATE_INPUT_REQUIRED
REJECTED = TaskState.TASK_STATE_REJECTED


async def load_card(url: str, headers: Mapping[str, str] | None = None) -> AgentCard:
    """Load the card below an address."""
    async with httpx.AsyncClient(headers=headers) as http:
        return await A2ACardResolver(http, url).get_agent_card()


class Metadata(ClientCallInterceptor):
    """Headers as the metadata of calls over gRPC."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers

    async def before(self, args: BeforeArgs) -> None:
        """Add the headers."""
        args.context = ClientCallContext(service_parameters=dict(self._headers))

    async def after(self, args: AfterArgs) -> None:
        """Leave the answer as it is."""


@asynccontextmanager
async def open_sdk_client(
    url: str,
    binding: TransportProtocol = TransportProtocol.JSONRPC,
    headers: Mapping[str, str] | None = None,
    *,
    is_streaming: bool = False,
) -> AsyncIterator[Client]:
    """Open a client for the card below an address.

    Args:
        url: the address.
        binding: the only binding that the client speaks.
        headers: headers of each request.
        is_streaming: true for a client that streams.
    """
    async with httpx.AsyncClient(headers=headers, timeout=10) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        config = ClientConfig(
            httpx_client=http,
            grpc_channel_factory=grpc.aio.insecure_channel,
            supported_protocol_bindings=[binding],
            streaming=is_streaming,
        )
        client = ClientFactory(config).create(card, [Metadata(headers or {})])
        try:
            yield client
        finally:
            await client.close()


def create_request(text: str, *, task_id: str = "", context_id: str = "", **metadata: str) -> SendMessageRequest:
    """Return a request with a message of a user."""
    parts = [Part(text=text)]
    message = Message(message_id=new_id(), role=Role.ROLE_USER, parts=parts, task_id=task_id, context_id=context_id)
    message.metadata.update(metadata)
    return SendMessageRequest(message=message)


async def send(client: Client, text: str, *, task_id: str = "", context_id: str = "", **metadata: str) -> Task:
    """Send a message, and return its task."""
    request = create_request(text, task_id=task_id, context_id=context_id, **metadata)
    (event,) = [event async for event in client.send_message(request)]
    return event.task


def read_text(task: Task) -> str:
    """Return the text of the result of a task, or of its message."""
    parts = task.artifacts[0].parts if task.artifacts else task.status.message.parts
    return "\n".join(part.text for part in parts)
