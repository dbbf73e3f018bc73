"""The server over its transports: standard input and output of a process, and HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server.auth.provider import AccessToken, TokenVerifier

from tactician import Platform, achieves_goal, action, planned_agent
from tactician.errors import ConfigurationError
from tactician.runs.life.holding import DEFAULT_LEASE
from tactician.serve import McpPublisher
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel
from tests.serve.mcp.kitchen import ERAS, Era, Person, Wish, add, create_platform, read, read_json
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[3]
SERVED = str(ROOT / "tests" / "serve" / "mcp" / "served.py")
TOKEN = "an-example-of-a-token"


def command(*arguments: str) -> StdioServerParameters:
    code = "from tactician.cli import main; main()"
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "OPENAI_API_KEY": "example"}
    return StdioServerParameters(
        command=sys.executable, args=["-c", code, "mcp", "serve", *arguments], env=environment, cwd=str(ROOT)
    )


class TestStdio:
    @pytest.mark.parametrize("era", ERAS)
    async def test_a_client_starts_the_server_and_is_asked(self, era: Era) -> None:
        person = Person({"spicy": True})
        async with Client(command(SERVED), mode=era, elicitation_callback=person.answer) as client:
            assert next(one.name for one in (await client.list_tools()).tools) == "cook_meal"
            assert read_json(await client.call_tool("cook_meal", {"dish": "curry"})) == {"dish": "spicy curry"}

    def test_a_server_that_is_killed_while_a_run_waits_continues_it_afterwards(self, tmp_path: Path) -> None:
        """The messages are written by hand, so that the process can be killed between two of them."""
        store = str(tmp_path / "runs.db")
        with RawClient(store) as client:
            waiting = client.call("cook_meal", {"dish": "curry"})["structuredContent"]
            assert isinstance(waiting, dict)
            client.process.send_signal(signal.SIGKILL)
        with RawClient(store) as client:
            run = {"run_id": waiting["run_id"]}
            assert '"status":"waiting"' in str(client.call("run_status", run))
            answer = {**run, "request_id": waiting["requests"][0]["id"], "answer": {"spicy": False}}
            assert client.call("respond", answer)["structuredContent"] == {"dish": "curry"}
            assert '"status":"completed"' in str(client.call("run_status", run))


CLERK = """
from tactician import Agent, tool
from tactician.testing import ScriptedModel, ToolCall

@tool(needs_approval=True)
def delete(path: str) -> str:
    '''Delete a file.'''
    return f"deleted {path}"

clerk = Agent("Clerk", tools=[delete], model=ScriptedModel(ToolCall("delete", path="a"), "It is gone"))
"""


@pytest.mark.parametrize(
    ("arguments", "setting", "approves"),
    [
        ([], "", False),
        (["--lets-callers-approve"], "", True),
        ([], "[serve]\nlets_callers_approve = true", True),
        (["--no-callers-approve"], "[serve]\nlets_callers_approve = true", False),
    ],
)
async def test_whether_callers_approve_is_an_option_and_a_setting(
    tmp_path: Path, arguments: list[str], setting: str, approves: bool
) -> None:
    file, settings = tmp_path / "clerk.py", tmp_path / "tactician.toml"
    file.write_text(CLERK, encoding="utf-8")
    settings.write_text(setting, encoding="utf-8")
    server = command(str(file), "--store", str(tmp_path / "runs.db"), *arguments)
    server.env = {**(server.env or {}), "TACTICIAN_CONFIG": str(settings)}
    async with Client(server) as client:
        waiting = (await client.call_tool("clerk", {"request": "delete a"})).structured_content
        answer = {"run_id": waiting["run_id"], "request_id": waiting["requests"][0]["id"], "answer": True}
        assert (await client.call_tool("respond", answer)).is_error is not approves


class RawClient:
    """Client of the old era that cannot show forms."""

    def __init__(self, store: str) -> None:
        server = command(SERVED, "--store", store)
        self.process = subprocess.Popen(
            [server.command, *server.args],
            env={**os.environ, **(server.env or {})},
            cwd=server.cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._number = 0

    def __enter__(self) -> RawClient:
        client = {"name": "raw", "version": "1"}
        self._request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate(timeout=20)

    def call(self, name: str, arguments: dict[str, object]) -> dict[str, object]:
        return self._request("tools/call", {"name": name, "arguments": arguments})

    def _request(self, method: str, params: dict[str, object]) -> dict[str, object]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)  # nothing else is on standard output
            if message.get("id") == self._number:
                result = message["result"]
                assert isinstance(result, dict)
                return result
        raise AssertionError("the server has ended")

    def _send(self, message: dict[str, object]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()


@asynccontextmanager
async def open_http(publisher: McpPublisher, **headers: str) -> AsyncIterator[httpx2.AsyncClient]:
    """An HTTP client of the app in this process."""
    app = publisher.app()
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1:8000", headers=headers
        ) as http,
    ):
        yield http


async def _call(port: int, tool: str, arguments: dict[str, object]) -> None:
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        await client.call_tool(tool, arguments)


def find_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


async def wait_until_it_listens(port: int) -> None:
    async with httpx2.AsyncClient() as http:
        for _ in range(3000):
            try:
                await http.get(f"http://127.0.0.1:{port}/")
            except httpx2.ConnectError:
                await asyncio.sleep(0.01)
            else:
                return
    pytest.fail("the server does not listen")


def discover() -> dict[str, object]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}


HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/list",
}


class TestHttp:
    @pytest.mark.parametrize("era", ERAS)
    async def test_tools_are_called_and_people_asked(self, era: Era, capsys: pytest.CaptureFixture[str]) -> None:
        port, person = find_port(), Person({"vegetarian": True}, {"confirmed": True})
        server = asyncio.create_task(McpPublisher(create_platform(), add).run_http(port))
        await wait_until_it_listens(port)
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=era, elicitation_callback=person.answer) as client:
            assert read(await client.call_tool("add", {"a": 1, "b": 2})) == "3"
            result = await client.call_tool("ask_wishes", {"dish": "pie"})
            assert read_json(result)["note"] == "small, vegetarian: True, sure: True"
        server.cancel()
        await asyncio.gather(server, return_exceptions=True)
        shown = capsys.readouterr()
        assert (shown.out, shown.err.splitlines()[1]) == ("", "Tactician MCP ASYNC Server")

    async def test_a_port_that_another_program_uses_is_a_mistake(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(ConfigurationError, match=f"127.0.0.1:{port} cannot be used: .* Choose another port"):
                await McpPublisher(create_platform(), add).run_http(port)

    def test_a_secret_that_is_too_short_is_a_mistake(self) -> None:
        with pytest.raises(ConfigurationError, match="at least 32 characters"):
            McpPublisher(create_platform(), add, secret="short")

    async def test_a_server_that_is_stopped_leaves_its_runs_to_others(self, tmp_path: Path) -> None:
        started = asyncio.Event()

        @planned_agent(description="Takes long")
        class Slow:
            @achieves_goal("done")
            @action
            async def work(self, wish: Wish) -> str:
                started.set()
                await asyncio.sleep(60)
                return "done"

        port = find_port()
        async with Platform(ScriptedModel(), store=SqliteStore(str(tmp_path / "runs.db"))) as platform:
            server = asyncio.create_task(McpPublisher(platform, Slow()).run_http(port))
            await wait_until_it_listens(port)
            client = asyncio.create_task(_call(port, "work", {"dish": "pie"}))
            await asyncio.wait_for(started.wait(), 30)
            server.cancel()
            await asyncio.gather(server, client, return_exceptions=True)

            async def is_left() -> bool:
                (run,) = await platform.runs()
                assert run.status == "running"
                return run.was_interrupted

            await eventually(is_left, seconds=DEFAULT_LEASE / 2)  # its lease is released, and has not expired

    @pytest.mark.parametrize(
        ("header", "value", "status"),
        [("authorization", f"Bearer {TOKEN}", 200), ("authorization", "Bearer other", 401), ("x-other", "1", 401)],
    )
    async def test_a_token_is_required_where_it_is_set(self, header: str, value: str, status: int) -> None:
        async with open_http(McpPublisher(Platform(ScriptedModel()), token=TOKEN), **{header: value}) as http:
            response = await http.post("/mcp", json=discover(), headers=HEADERS)
        assert response.status_code == status

    @pytest.mark.parametrize(
        ("header", "value", "status"),
        [
            ("host", "127.0.0.1:8000", 200),
            ("host", "evil.example.com", 421),
            ("origin", "http://localhost:3000", 200),
            ("origin", "https://evil.example.com", 403),
        ],
    )
    async def test_other_hosts_and_origins_are_refused(self, header: str, value: str, status: int) -> None:
        async with open_http(McpPublisher(Platform(ScriptedModel()))) as http:
            response = await http.post("/mcp", json=discover(), headers={**HEADERS, header: value})
        assert response.status_code == status

    def test_other_machines_need_a_token_and_the_names_that_they_call(self) -> None:
        with pytest.raises(ConfigurationError, match=r"on 0\.0\.0\.0 lets other machines call: set a token"):
            McpPublisher(Platform(ScriptedModel())).app(host="0.0.0.0")
        with pytest.raises(ConfigurationError, match="name the hosts that clients call"):
            McpPublisher(Platform(ScriptedModel()), token=TOKEN).app(host="0.0.0.0")
        publisher = McpPublisher(Platform(ScriptedModel()), token=TOKEN)
        assert publisher.app(host="0.0.0.0", allowed_hosts=["agents.acme.com"]).routes
        assert TOKEN not in repr(publisher)

    async def test_a_verifier_of_tokens(self) -> None:
        class Verifier(TokenVerifier):
            async def verify_token(self, token: str) -> AccessToken | None:
                if token != TOKEN:
                    return None
                return AccessToken(token=token, client_id="acme", scopes=["editor"], subject="ann")

        publisher = McpPublisher(Platform(ScriptedModel()), token_verifier=Verifier())
        async with open_http(publisher, authorization=f"Bearer {TOKEN}") as http:
            assert (await http.post("/mcp", json=discover(), headers=HEADERS)).status_code == 200
