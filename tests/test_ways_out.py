"""Every way out of the program: an error with a key and a password in it leaves with masks, and whole in no way."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Never

import httpx
import pytest
from mcp import Client
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel
from typer.testing import CliRunner

import tactician
from tactician import (
    Agent,
    Ensemble,
    Export,
    Platform,
    Review,
    Task,
    UserInput,
    achieves_goal,
    action,
    log,
    planned_agent,
    tool,
)
from tactician.cli.commands import app as command_line
from tactician.cli.console import out
from tactician.events import EventLog
from tactician.integrations import otel
from tactician.platform import Worker
from tactician.serve import A2aSettings, McpPublisher, a2a_app, ag_ui_app, app
from tactician.stores import MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tactician.trace import Recorder

KEY = "sk-abcdefghijklmnop1234567890abcd"
VALUE = "correct-horse-battery"
SHORT = "hunter2"
TEXT = f"login failed: password={SHORT} {KEY} {VALUE}"
COMMANDS = [
    "ps --all",
    "ps --all --json",
    "show ID",
    "show ID --json",
    "show ID --steps",
    "show ID --steps --json",
    "trace ID",
]
HEADERS = {"A2A-Version": "1.0"}


class Door(BaseModel):
    number: int


class Opened(BaseModel):
    number: int


@planned_agent(name="Porter", description="Opens doors")
class Porter:
    @action
    def find(self, request: UserInput) -> Door:
        return Door(number=1)

    @achieves_goal("A door is open", export=Export(remote=True, name="open_door"))
    @action
    async def open(self, door: Door) -> Opened:
        return _fail()


def _fail() -> Never:
    raise ValueError(TEXT)


@tool
def try_key() -> str:
    """Try the key."""
    return TEXT


def create_talker() -> Agent:
    """Return an agent whose tool says secrets, whose model says them in pieces, and which fails."""
    return Agent("Talker", model=ScriptedModel(ToolCall("try_key"), RuntimeError(TEXT)), tools=[try_key])


def create_newsroom() -> Ensemble:
    """Return an ensemble that asks a person, and whose next task says secrets and fails."""
    model = ScriptedModel(ToolCall("try_key"), RuntimeError(TEXT))
    tasks = [
        Task("Write", id="write", agent=Agent("Writer", model=ScriptedModel("draft")), review=Review.after("Good?")),
        Task("Try", id="try", agent=Agent("Talker", model=model, tools=[try_key])),
    ]
    return Ensemble("Newsroom", tasks)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASS", VALUE)


def create_platform(**settings: object) -> Platform:
    """Return a platform with the porter and the talker."""
    return Platform(ScriptedModel(), **{"store": MemoryStore(), **settings}).register(Porter(), create_talker())  # type: ignore[arg-type]


def check(text: str) -> None:
    """Check that a text has masks, and none of the secrets."""
    assert "***" in text, text
    for secret in (KEY, VALUE, SHORT):
        assert secret not in text, text


@asynccontextmanager
async def open_client(application: object, lifespan: object) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=application, client=("127.0.0.1", 1))  # type: ignore[arg-type]
    async with lifespan, httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:  # type: ignore[attr-defined]
        yield client


async def read_rest(agent: str, body: object) -> str:
    """Return what the REST API says of a failed run: its record, its events, its trace, its plans and its steps."""
    application = app(create_platform())
    async with open_client(application, application.router.lifespan_context(application)) as client:
        started = await client.post(f"/api/agents/{agent}/runs", json={"input": body})
        run_id = started.json()["id"]
        events = await client.get(f"/api/runs/{run_id}/events")
        pages = [(await client.get(f"/api/runs/{run_id}{part}")).text for part in ("", "/trace", "/steps", "/plans")]
    assert "***" in events.text
    assert "***" in pages[0]
    return started.text + events.text + "".join(pages)


async def read_conversation() -> str:
    application = app(create_platform())
    async with open_client(application, application.router.lifespan_context(application)) as client:
        body = {"agent": "talker", "message": "hello"}
        plain = await client.post("/api/conversations/c1/messages", json=body)
        streamed = await client.post(
            "/api/conversations/c2/messages", json=body, headers={"accept": "text/event-stream"}
        )
    return plain.text + streamed.text


async def read_ag_ui(agent: str) -> str:
    application = ag_ui_app(create_platform())
    async with open_client(application, application.router.lifespan_context(application)) as client:
        message = {"id": "m1", "role": "user", "content": "hello"}
        body = {"threadId": "t1", "runId": "r1", "messages": [message], "tools": [], "context": [], "state": {}}
        return (await client.post(f"/{agent}", json={**body, "forwardedProps": {}})).text


async def read_a2a() -> str:
    application = a2a_app(create_platform(), "http://localhost", settings=A2aSettings(poll=0.05))
    async with open_client(application, application.router.lifespan_context(application)) as client:
        message = {"role": "ROLE_USER", "parts": [{"data": {"content": "hello"}}], "messageId": "m1"}
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
        answer = await client.post("/", json=call, headers=HEADERS)
        task_id = answer.json()["result"]["task"]["id"]
        call = {"jsonrpc": "2.0", "id": 2, "method": "GetTask", "params": {"id": task_id}}
        return answer.text + (await client.post("/", json=call, headers=HEADERS)).text


async def read_a2a_notices() -> str:
    """Return what a webhook hears of a task that fails."""
    heard: list[str] = []
    has_ended = asyncio.Event()

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        heard.append((await reader.readexactly(int(length.partition(b":")[2]))).decode())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        has_ended.set()

    settings = A2aSettings(poll=0.05, allows_private_push=True)
    webhook = await asyncio.start_server(hear, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{webhook.sockets[0].getsockname()[1]}/"
    application = a2a_app(create_platform(), "http://localhost", settings=settings)
    async with webhook, open_client(application, application.router.lifespan_context(application)) as client:
        message = {"role": "ROLE_USER", "parts": [{"data": {"content": "hello"}}], "messageId": "m1"}
        configuration = {"taskPushNotificationConfig": {"url": url}, "returnImmediately": True}
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage"}
        params = {"message": message, "configuration": configuration}
        await client.post("/", json={**call, "params": params}, headers=HEADERS)
        await asyncio.wait_for(has_ended.wait(), 20)
    return "".join(heard)


async def read_a2a_of_an_agent() -> str:
    """Return the events of a task that streams: what its agent says, its artifact, and its states."""
    application = a2a_app(
        create_platform(), "http://localhost", publish=[create_talker()], settings=A2aSettings(poll=0.05)
    )
    async with open_client(application, application.router.lifespan_context(application)) as client:
        message = {
            "role": "ROLE_USER",
            "parts": [{"text": "hello"}],
            "messageId": "m1",
            "metadata": {"skillId": "talker"},
        }
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": {"message": message}}
        return (await client.post("/", json=call, headers=HEADERS)).text


async def read_rest_after_a_restart() -> str:
    """Return what the REST API of another server says of a run that asks, and then fails with secrets."""
    store = MemoryStore()
    async with create_platform(store=store) as first:
        run_id = await first.register(create_newsroom()).enqueue("Newsroom", {})
        await Worker(first).run_once()
    application = app(create_platform(store=store).register(create_newsroom()))
    async with open_client(application, application.router.lifespan_context(application)) as client:
        waiting = (await client.get(f"/api/runs/{run_id}")).json()
        request = waiting["pending"][0]["id"]
        answer = {"request": request, "response": {"decision": "approve"}}
        answered = await client.post(f"/api/runs/{run_id}/answers", json=answer)
        while not (await client.get(f"/api/runs/{run_id}")).json()["failure"]:  # noqa: ASYNC110 - the server has no event for this
            await asyncio.sleep(0)
        pages = [(await client.get(f"/api/runs/{run_id}{part}")).text for part in ("", "/trace", "/steps")]
        board = (await client.get("/api/overview")).text
    return answered.text + "".join(pages) + board


async def read_mcp() -> str:
    """Return what a client of MCP hears: the error of a call, and its progress."""
    reports: list[str] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        reports.append(message or "")

    async with create_platform() as platform, Client(McpPublisher(platform, "Talker").server) as client:
        failed = await client.call_tool("open_door", {"content": "hello"}, progress_callback=report)
        talked = await client.call_tool("talker", {"request": "hello"}, progress_callback=report)
    assert "***" in failed.model_dump_json()
    assert talked.is_error
    assert any("***" in message for message in reports)
    return failed.model_dump_json() + talked.model_dump_json() + "".join(reports)


async def read_trace() -> str:
    recorder = Recorder()
    async with create_platform(on_event=recorder) as platform:
        with pytest.raises(RuntimeError, match=KEY):
            await create_talker().run("hello", context=platform.context())
    trace = recorder.read_trace()
    return trace.to_html() + trace.to_json() + trace.to_toon()


async def read_telemetry() -> str:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    listener = otel.create_listener(content=True, tracer_provider=provider, meter_provider=MeterProvider())
    async with create_platform(on_event=listener) as platform:
        with pytest.raises(RuntimeError, match=KEY):
            await create_talker().run("hello", context=platform.context())
    return "".join(span.to_json() for span in exporter.get_finished_spans())


@tool(needs_approval=True)
def pay(note: str) -> str:
    """Pay."""
    return note


def create_payer() -> Agent:
    """Return an agent that asks whether it may call a tool with secrets."""
    return Agent("Payer", description="Pays", model=ScriptedModel(ToolCall("pay", note=TEXT)), tools=[pay])


def create_desk(payer: Agent) -> Platform:
    return Platform(ScriptedModel(), store=MemoryStore()).register(payer)


async def read_requests() -> str:
    """Return what the REST API says of a run that asks, but for the arguments about which its reader decides."""
    application = app(create_desk(create_payer()))
    async with open_client(application, application.router.lifespan_context(application)) as client:
        body = {"agent": "payer", "message": "hello"}
        answer = (await client.post("/api/conversations/c1/messages", json=body)).json()
        run = (await client.get(f"/api/runs/{answer['run_id']}")).json()
        requests = (await client.get("/api/requests")).json()["requests"]
        waiting = (await client.get("/api/waiting")).json()["runs"]
    asked = [*answer["pending"], *run["pending"], *(entry["request"] for entry in requests), *waiting[0]["pending"]]
    assert [TEXT in request.pop("arguments") for request in asked] == [True] * 4
    return json.dumps([answer, run, requests, waiting])


async def read_interrupt() -> str:
    application = ag_ui_app(create_desk(create_payer()))
    async with open_client(application, application.router.lifespan_context(application)) as client:
        message = {"id": "m1", "role": "user", "content": "hello"}
        body = {"threadId": "t1", "runId": "r1", "messages": [message], "tools": [], "context": [], "state": {}}
        text = (await client.post("/payer", json={**body, "forwardedProps": {}})).text
    assert "May pay(" in text
    return text


async def read_task_that_asks() -> str:
    payer, settings = create_payer(), A2aSettings(poll=0.05, lets_callers_approve=True)
    application = a2a_app(create_desk(payer), "http://localhost", publish=[payer], settings=settings)
    async with open_client(application, application.router.lifespan_context(application)) as client:
        message = {"role": "ROLE_USER", "parts": [{"text": "hello"}], "messageId": "m1"}
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
        text = (await client.post("/", json=call, headers=HEADERS)).text
    assert "May pay(" in text
    return text


async def read_call_that_asks() -> str:
    """Return what a client of MCP without a person hears of a run that asks, and of that run."""
    async with create_desk(create_payer()) as platform, Client(McpPublisher(platform, "Payer").server) as client:
        called = (await client.call_tool("payer", {"request": "hello"})).model_dump_json()
        (run,) = await platform.runs()
        shown = (await client.call_tool("run_status", {"run_id": run.id})).model_dump_json()
    assert "May pay(" in called
    assert "May pay(" in shown
    return called + shown


WAYS: dict[str, Callable[[], Awaitable[str]]] = {
    "REST, a process": lambda: read_rest("Porter", {"content": "hello"}),
    "REST, an agent": lambda: read_rest("Talker", "hello"),
    "conversations": read_conversation,
    "AG-UI, a process": lambda: read_ag_ui("Porter"),
    "AG-UI, an agent": lambda: read_ag_ui("Talker"),
    "REST, an ensemble after a restart": read_rest_after_a_restart,
    "A2A": read_a2a,
    "A2A, an agent that streams": read_a2a_of_an_agent,
    "A2A, notifications": read_a2a_notices,
    "MCP": read_mcp,
    "REST, requests": read_requests,
    "AG-UI, an interrupt": read_interrupt,
    "A2A, a task that asks": read_task_that_asks,
    "MCP, a call that asks": read_call_that_asks,
    "traces": read_trace,
    "OpenTelemetry with content": read_telemetry,
}


@pytest.mark.parametrize("way", WAYS)
async def test_no_way_out_has_a_secret(way: str, caplog: pytest.LogCaptureFixture) -> None:
    """The log of the server or the program is a way out as well."""
    caplog.set_level(logging.DEBUG, "tactician")
    check(await WAYS[way]())
    assert not any(secret in caplog.text for secret in (KEY, VALUE, SHORT))


async def test_the_log_and_the_file_of_events_have_masks(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stop = log.enable("debug")
    try:
        with EventLog(tmp_path / "events.jsonl") as events:
            async with create_platform(on_event=events) as platform:
                with pytest.raises(RuntimeError, match=KEY):
                    await create_talker().run("hello", context=platform.context())
    finally:
        stop()
    check(caplog.text)
    check((tmp_path / "events.jsonl").read_text())


@pytest.fixture
def store(tmp_path: Path) -> tuple[str, str]:
    """A store with a failed process, and the id of it."""
    path = str(tmp_path / "runs.db")

    async def run() -> str:
        async with SqliteStore(path) as opened, create_platform(store=opened) as platform:
            return (await platform.start("Porter", Door(number=1))).id

    return path, asyncio.run(run())


@pytest.mark.parametrize(
    "command",
    COMMANDS,
)
def test_the_command_line_shows_no_secret(
    command: str, store: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "_width", 400)  # an earlier test may have made the console, which has read its width
    path, run_id = store
    result = CliRunner().invoke(command_line, [*command.replace("ID", run_id).split(), "--store", path])
    check(result.output)


def test_what_is_stored_stays_as_it_was(store: tuple[str, str]) -> None:
    path, run_id = store

    async def read() -> str:
        async with SqliteStore(path) as opened, create_platform(store=opened) as platform:
            return str((await platform.process(run_id)).failure)

    assert TEXT in asyncio.run(read())


async def test_the_result_is_that_of_the_caller() -> None:
    talker = Agent("Echo", model=ScriptedModel(TEXT))
    application = app(Platform(store=MemoryStore()).register(talker))
    async with open_client(application, application.router.lifespan_context(application)) as client:
        started = (await client.post("/api/agents/Echo/runs", json={"input": "x"})).json()
        await client.get(f"/api/runs/{started['id']}/events")  # until it has ended
        read = (await client.get(f"/api/runs/{started['id']}")).json()
    assert read["result"] == TEXT
    check(read["output"])


def test_every_logger_of_the_package_is_masked() -> None:
    folder = Path(tactician.__file__).parent
    direct = [path.name for path in folder.rglob("*.py") if "_logger = logging.getLogger" in path.read_text()]
    assert direct == ["log.py"], "use `get_logger`; `log` itself masks before it shortens"
