"""A2A over gRPC: tasks with the official client, tokens, encryption, limits and errors."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import grpc
import httpx
import pytest
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Role,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.types.a2a_pb2_grpc import A2AServiceStub
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import (
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from pydantic_core import to_json
from starlette.applications import Starlette

from tactician import Agent, Platform
from tactician.a2a import RemoteAgent
from tactician.errors import ConfigurationError, MissingExtraError, StoreError
from tactician.serve import A2aSettings, GrpcSettings, Person, RequestLimits, a2a_app, app
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.stores.document import StoredDocument
from tactician.testing import ScriptedModel
from tests.a2a.test_connections import serve_raw
from tests.serve.a2a.examples import Greeter
from tests.serve.a2a.scripted import create_talker
from tests.serve.a2a.sdk import (
    COMPLETED,
    INPUT_REQUIRED,
    SETTINGS,
    Metadata,
    create_request,
    load_card,
    open_sdk_client,
    read_text,
    send,
)
from tests.serve.a2a.serving import serve_a2a
from tests.serve.a2a.test_extended_card import TOKEN, Tokens
from tests.serve.listening import listening

GRPC = TransportProtocol.GRPC
CLERK, GUEST = "a-token-of-the-clerk", "a-token-of-the-guest"
PEOPLE = {CLERK: Person("Anna"), GUEST: Person("Carl", rights=frozenset({"see", "start"}))}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@asynccontextmanager
async def serve_greeter(
    settings: A2aSettings = SETTINGS, store: DocumentStore | None = None, *, is_streaming: bool = False
) -> AsyncIterator[Client]:
    """Serve an agent that asks, and yield a client that speaks gRPC."""
    async with (
        Platform(ScriptedModel(), store=MemoryStore() if store is None else store) as platform,
        serve_a2a(platform.register(Greeter()), settings=settings) as url,
        open_sdk_client(url, GRPC, is_streaming=is_streaming) as client,
    ):
        yield client


async def test_a_task_is_answered_looked_up_and_listed() -> None:
    async with serve_greeter() as client:
        asking = await send(client, "Ada")
        done = await send(client, "yes", task_id=asking.id)
        found = await client.get_task(GetTaskRequest(id=asking.id, history_length=1))
        listed = await client.list_tasks(ListTasksRequest(context_id=asking.context_id, include_artifacts=True))

    assert (asking.status.state, asking.status.message.parts[0].text) == (INPUT_REQUIRED, "Greet Ada?")
    assert done.artifacts[0].parts[0].data.struct_value["text"] == "Hello, Ada!"
    assert [message.parts[0].text for message in found.history] == ["yes"]
    assert list(listed.tasks) == [done]


async def test_pieces_of_an_answer_are_streamed() -> None:
    async with (
        Platform(ScriptedModel(), store=MemoryStore()) as platform,
        serve_a2a(platform, create_talker(), settings=SETTINGS) as url,
        open_sdk_client(url, GRPC, is_streaming=True) as client,
    ):
        events = [event async for event in client.send_message(create_request("say it"))]

    pieces = [event.artifact_update for event in events if event.HasField("artifact_update")]
    assert events[0].HasField("task")
    assert "".join(piece.artifact.parts[0].text for piece in pieces) == "chunk-1 chunk-2"
    assert [piece.last_chunk for piece in pieces] == [*(False for _ in pieces[1:]), True]
    assert events[-1].status_update.status.state == COMPLETED


async def collect(events: AsyncIterator[StreamResponse]) -> list[StreamResponse]:
    return [event async for event in events]


async def test_a_subscription_lasts_until_the_end() -> None:
    async with serve_greeter(is_streaming=True) as client:
        first = [event async for event in client.send_message(create_request("Ada"))]
        task_id = first[0].task.id
        subscription = client.subscribe(SubscribeToTaskRequest(id=task_id))
        begun = await anext(subscription)
        answer = client.send_message(create_request("yes", task_id=task_id))
        events, _ = await asyncio.gather(collect(subscription), collect(answer))
        with pytest.raises(UnsupportedOperationError):
            await anext(client.subscribe(SubscribeToTaskRequest(id=task_id)))

    assert begun.task.status.state == INPUT_REQUIRED
    assert events[-1].status_update.status.state == COMPLETED


async def test_a_task_is_cancelled_once() -> None:
    async with serve_greeter() as client:
        task = await send(client, "Ada")
        cancelled = await client.cancel_task(CancelTaskRequest(id=task.id))
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(CancelTaskRequest(id=task.id))
        with pytest.raises(TaskNotFoundError):
            await client.cancel_task(CancelTaskRequest(id="unknown"))

    assert cancelled.status.state == TaskState.TASK_STATE_CANCELED


async def test_targets_of_notifications_are_kept() -> None:
    async with serve_greeter() as client:
        task = await send(client, "Ada")
        config = TaskPushNotificationConfig(task_id=task.id, id="mine", url="https://8.8.8.8/hook")
        created = await client.create_task_push_notification_config(config)
        name = {"task_id": task.id, "id": "mine"}
        found = await client.get_task_push_notification_config(GetTaskPushNotificationConfigRequest(**name))
        every = ListTaskPushNotificationConfigsRequest(task_id=task.id)
        listed = await client.list_task_push_notification_configs(every)
        await client.delete_task_push_notification_config(DeleteTaskPushNotificationConfigRequest(**name))
        left = await client.list_task_push_notification_configs(every)
        private = TaskPushNotificationConfig(task_id=task.id, url="http://127.0.0.1/hook")
        with pytest.raises(InvalidParamsError, match="has to be public"):
            await client.create_task_push_notification_config(private)

    assert created == found == config
    assert (list(listed.configs), list(left.configs)) == ([config], [])


async def test_the_extended_card_is_for_authenticated_users() -> None:
    clock = Agent("Clock", description="Tells the time", model=ScriptedModel("Noon."))
    ledger = Agent("Ledger", description="Knows the accounts", model=ScriptedModel("Ten."))
    settings = A2aSettings(poll=0.05, grpc=GrpcSettings(authentication=Tokens()))
    async with (
        Platform(ScriptedModel(), store=MemoryStore()) as platform,
        serve_a2a(platform, clock, extended=[ledger], backend=Tokens(), settings=settings) as url,
        open_sdk_client(url, GRPC) as nobody,
        open_sdk_client(url, GRPC, TOKEN) as anna,
    ):
        card = await anna.get_extended_agent_card(GetExtendedAgentCardRequest())
        with pytest.raises(InvalidRequestError, match="authenticated users"):
            await nobody.get_extended_agent_card(GetExtendedAgentCardRequest())
        task = await send(anna, "How much?", skillId="ledger")
        with pytest.raises(TaskNotFoundError):
            await nobody.get_task(GetTaskRequest(id=task.id))

    assert [skill.id for skill in card.skills] == ["clock", "ledger"]
    assert read_text(task) == "Ten."


async def test_tasks_are_there_after_a_restart_over_every_binding(tmp_path: Path) -> None:
    async with serve_greeter(store=SqliteStore(str(tmp_path / "runs.db"))) as client:
        task = await send(client, "Ada")
    async with (
        Platform(ScriptedModel(), store=SqliteStore(str(tmp_path / "runs.db"))) as platform,
        serve_a2a(platform.register(Greeter()), settings=SETTINGS) as url,
        open_sdk_client(url, TransportProtocol.JSONRPC) as rpc,
        open_sdk_client(url, TransportProtocol.HTTP_JSON) as rest,
        open_sdk_client(url, GRPC) as over_grpc,
    ):
        found = [await client.get_task(GetTaskRequest(id=task.id)) for client in (rpc, rest, over_grpc)]
        done = await send(over_grpc, "yes", task_id=task.id)

    assert found == [task, task, task]
    assert done.status.state == COMPLETED


@pytest.mark.parametrize(
    ("token", "code"), [("", "UNAUTHENTICATED"), ("wrong-token-of-nobody", "UNAUTHENTICATED"), (GUEST, "PERMISSION")]
)
async def test_people_have_the_same_tokens_and_rights_as_over_http(token: str, code: str) -> None:
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(Greeter())
    async with (
        platform,
        listening(lambda address: app(platform, people=PEOPLE, url=address, a2a=SETTINGS)) as address,
        open_sdk_client_of(address, token) as refused,
        open_sdk_client_of(address, CLERK) as clerk,
    ):
        task = await send(clerk, "Ada")
        for call in (send(refused, "Ada"), refused.get_task(GetTaskRequest(id=task.id))):
            with pytest.raises(A2AClientError, match=code):
                await call
        (run,) = await platform.runs(names=["a2a"])

    assert (task.status.state, run.status) == (INPUT_REQUIRED, "waiting")


@asynccontextmanager
async def open_sdk_client_of(address: str, token: str) -> AsyncIterator[Client]:
    """Open a client that loads the card as the clerk, and then calls with another token."""
    card = await load_card(address, bearer(CLERK))
    config = ClientConfig(
        grpc_channel_factory=grpc.aio.insecure_channel, supported_protocol_bindings=[GRPC], streaming=False
    )
    client = ClientFactory(config).create(card, [Metadata(bearer(token) if token else {})])
    try:
        yield client
    finally:
        await client.close()


async def test_calls_at_the_same_time_belong_to_those_who_made_them() -> None:
    settings = A2aSettings(poll=0.05, grpc=GrpcSettings(authentication=Tokens()))
    async with (
        Platform(ScriptedModel(), store=MemoryStore()) as platform,
        serve_a2a(platform.register(Greeter()), settings=settings, backend=Tokens()) as url,
        open_sdk_client(url, GRPC, bearer("anna"), is_streaming=True) as anna,
        open_sdk_client(url, GRPC, bearer("bert"), is_streaming=True) as bert,
    ):
        clients = [anna, bert] * 5
        streams = await asyncio.gather(*(collect(client.send_message(create_request("Ada"))) for client in clients))
        lists = [(await client.list_tasks(ListTasksRequest())).tasks for client in (anna, bert)]

    sent = [stream[0].task.id for stream in streams]
    assert [{task.id for task in tasks} for tasks in lists] == [set(sent[::2]), set(sent[1::2])]


async def test_a_person_who_calls_too_often_is_refused_over_grpc_too() -> None:
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(Greeter())
    limits = RequestLimits(rate=0.001, burst=3)
    async with (
        platform,
        listening(lambda address: app(platform, people=PEOPLE, url=address, a2a=SETTINGS, limits=limits)) as address,
        open_sdk_client_of(address, CLERK) as client,
    ):
        for _ in range(2):
            await client.list_tasks(ListTasksRequest())
        with pytest.raises(A2AClientError, match="RESOURCE_EXHAUSTED: These are too many requests"):
            await client.list_tasks(ListTasksRequest())


async def test_a_message_that_is_too_long_is_refused() -> None:
    async with serve_greeter(A2aSettings(poll=0.05, max_request_bytes=5000, grpc=GrpcSettings())) as client:
        with pytest.raises(A2AClientError, match="RESOURCE_EXHAUSTED"):
            await send(client, "x" * 6000)
        assert (await send(client, "Ada")).status.state == INPUT_REQUIRED


async def test_another_version_of_the_protocol_is_refused() -> None:
    async with (
        Platform(ScriptedModel(), store=MemoryStore()) as platform,
        serve_a2a(platform.register(Greeter()), settings=SETTINGS) as url,
    ):
        place = (await load_card(url)).supported_interfaces[-1].url
        async with grpc.aio.insecure_channel(place) as channel:
            stub = A2AServiceStub(channel)  # type: ignore[no-untyped-call]  # generated
            with pytest.raises(grpc.aio.AioRpcError, match=r"Version '99\.0' of A2A") as refused:
                await stub.GetTask(GetTaskRequest(id="x"), metadata=[("a2a-version", "99.0")])
            assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION


class BrokenStore(MemoryStore):
    """Store that does not find tasks, and has its address in the error."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    async def load(self, collection: str, id: str, *, with_body: bool = True) -> StoredDocument | None:
        """Fail for tasks."""
        if collection == "a2a_tasks":
            raise self._error
        return await super().load(collection, id, with_body=with_body)


@pytest.mark.parametrize("kind", [StoreError, RuntimeError])
async def test_errors_of_the_server_have_no_passwords(kind: type[Exception]) -> None:
    broken = BrokenStore(kind("cannot reach postgres://user:hunter2@host"))
    async with serve_greeter(store=broken) as client:
        with pytest.raises((A2AClientError, InternalError)) as failed:
            await client.get_task(GetTaskRequest(id="x"))

    assert isinstance(failed.value.__cause__, grpc.aio.AioRpcError)
    assert failed.value.__cause__.code() == grpc.StatusCode.INTERNAL
    assert "hunter2" not in f"{failed.value} {failed.value.__cause__}"


async def test_messages_that_are_not_valid_have_the_error_of_their_field() -> None:
    async with serve_greeter() as client:
        with pytest.raises(InvalidParamsError) as refused:
            async for _ in client.send_message(SendMessageRequest(message=Message(role=Role.ROLE_USER))):
                pass

    assert "message" in str(refused.value.data)


def create_certificate() -> tuple[str, str]:
    """Return a certificate of this machine and its key, in PEM form."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return certificate.public_bytes(Encoding.PEM).decode(), secret.decode()


async def test_a_server_with_a_certificate_is_encrypted() -> None:
    certificate, key = create_certificate()
    settings = A2aSettings(poll=0.05, grpc=GrpcSettings(certificate=certificate, key=key))
    credentials = grpc.ssl_channel_credentials(certificate.encode())
    async with (
        Platform(ScriptedModel(), store=MemoryStore()) as platform,
        serve_a2a(platform.register(Greeter()), settings=settings) as url,
        open_sdk_client(url, GRPC) as plain,
    ):
        place = (await load_card(url)).supported_interfaces[-1].url
        async with grpc.aio.secure_channel(place, credentials) as channel:
            stub = A2AServiceStub(channel)  # type: ignore[no-untyped-call]  # generated
            answer = await stub.SendMessage(create_request("Ada"))
        with pytest.raises(A2AClientError, match="UNAVAILABLE"):
            await send(plain, "Ada")

    assert answer.task.status.state == INPUT_REQUIRED
    assert key not in repr(settings)


async def test_settings_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="both a certificate and its key"):
        GrpcSettings(certificate="x")
    with pytest.raises(ConfigurationError, match=r"GrpcSettings\.port"):
        GrpcSettings(port=70_000)
    async with Platform(ScriptedModel(), store=MemoryStore()) as platform:
        platform.register(Greeter())
        inner = a2a_app(platform, "http://test", settings=SETTINGS)
        async with inner.router.lifespan_context(inner):
            port = await find_grpc_port(inner)
            taken = A2aSettings(grpc=GrpcSettings(port=port))
            other = a2a_app(platform, "http://test", settings=taken)
            with pytest.raises(ConfigurationError, match=f"127.0.0.1:{port} cannot be used for gRPC"):
                async with other.router.lifespan_context(other):
                    pass


async def find_grpc_port(application: Starlette) -> int:
    """Return the port on the card of an application."""
    transport = httpx.ASGITransport(app=application)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
        card = (await http.get("/.well-known/agent-card.json")).json()
    return int(card["supportedInterfaces"][-1]["url"].rpartition(":")[2])


async def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith(("tactician.serve.a2a.grpc", "tactician.a2a.grpc"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "grpc", None)
    interface = {"url": "127.0.0.1:1", "protocolBinding": "GRPC", "protocolVersion": "1.0"}
    card = {"name": "Raw", "description": "d", "version": "1", "supportedInterfaces": [interface], "skills": []}
    with pytest.raises(MissingExtraError, match=r"\.\[a2a-grpc\]"):
        a2a_app(Platform(ScriptedModel(), store=MemoryStore()), "http://test", settings=SETTINGS)
    async with serve_raw(lambda path, headers: to_json(card)) as url:
        with pytest.raises(MissingExtraError, match=r"speaks gRPC only.*\.\[a2a-grpc\]"):
            await RemoteAgent(url, name="Raw").run("hi")
