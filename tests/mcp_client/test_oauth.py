"""MCP servers in `tactician.toml` that want a token of an authorization server."""

from __future__ import annotations

import asyncio
import base64
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from itertools import repeat
from pathlib import Path

import pytest
import uvicorn
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tactician import Agent, Platform, tool
from tactician.errors import ConfigurationError
from tactician.llm import ToolResult
from tactician.serve import McpPublisher
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools.group_registry import ToolGroups

SECRET = "a-secret-of-the-helper"


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Office:
    """Authorization server that knows a single program."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.issuer = f"{url}/"  # the SDK names it so
        self.scopes: list[str] = []
        self.is_endless = False

    async def describe(self, request: Request) -> Response:
        """Return where tokens are."""
        if self.is_endless:
            return StreamingResponse(repeat(b'{"issuer":' * 10_000), media_type="application/json")
        places = {"token_endpoint": f"{self.url}/token", "authorization_endpoint": f"{self.url}/authorize"}
        grants = {"response_types_supported": ["code"], "grant_types_supported": ["client_credentials"]}
        return JSONResponse({"issuer": self.issuer, **places, **grants})

    async def give_token(self, request: Request) -> JSONResponse:
        """Return a token for the credentials of the program."""
        known = base64.b64encode(f"helper:{SECRET}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {known}":
            return JSONResponse({"error": "invalid_client"}, 401)
        form = await request.form()
        self.scopes.append(str(form["scope"]))
        return JSONResponse({"access_token": "a-token-of-the-office", "token_type": "Bearer", "expires_in": 3600})

    def create_app(self) -> Starlette:
        """Return the server."""
        well_known = "/.well-known/oauth-authorization-server"
        return Starlette(routes=[Route(well_known, self.describe), Route("/token", self.give_token, methods=["POST"])])


class Verifier(TokenVerifier):
    """Verifier of the tokens of the office."""

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return who has the token."""
        is_known = token == "a-token-of-the-office"
        return AccessToken(token=token, client_id="helper", scopes=["add"]) if is_known else None


@asynccontextmanager
async def listening(app: Starlette, listener: socket.socket) -> AsyncIterator[None]:
    """Serve an application at a socket."""
    config = uvicorn.Config(app, log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        async with asyncio.timeout(30):
            while not server.started:  # noqa: ASYNC110 - uvicorn has no event for this
                await asyncio.sleep(0.01)
        yield
    finally:
        server.should_exit = True
        await serving


def find_address(listener: socket.socket) -> str:
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def configure(folder: Path, url: str, issuer: str, secret: str = "${OFFICE_SECRET}") -> None:
    lines = [
        f'[mcp.sums]\nurl = "{url}/mcp"',
        f'[mcp.sums.oauth]\nclient_id = "helper"\nclient_secret = "{secret}"\nissuer = "{issuer}"\nscope = "add"',
    ]
    (folder / "tactician.toml").write_text("\n".join(lines))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[str, Office]]:
    """Serve an MCP server and its office, and give the address of the first."""
    with closing(socket.create_server(("127.0.0.1", 0))) as one, closing(socket.create_server(("127.0.0.1", 0))) as two:
        url, office = find_address(one), Office(find_address(two))
        auth = AuthSettings(
            issuer_url=AnyHttpUrl(office.issuer),
            resource_server_url=AnyHttpUrl(f"{url}/mcp"),
            required_scopes=["add"],
            validate_token_resource=False,
        )
        publisher = McpPublisher(Platform(ScriptedModel()), add, token_verifier=Verifier(), auth=auth)
        async with listening(office.create_app(), two), listening(publisher.app(), one):
            yield url, office


async def run_agent() -> str:
    """Return the result of the tool."""
    async with Platform(ScriptedModel(ToolCall("add", a=1, b=2), "3")) as platform:
        result = await Agent("A", tool_groups=["sums"]).run("1 + 2?", context=platform.context())
    message = result.messages[-2]
    assert isinstance(message, ToolResult)
    return message.content


async def test_the_program_gets_a_token_with_its_credentials(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFICE_SECRET", SECRET)
    async with serving() as (url, office):
        configure(folder, url, office.issuer)
        assert await run_agent() == "3"
    assert office.scopes == ["add"]


async def test_another_office_gets_no_secret(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFICE_SECRET", SECRET)
    async with serving() as (url, office):
        configure(folder, url, "https://login.example.com")
        with pytest.raises(Exception, match="sums") as failed:
            await run_agent()
    assert office.scopes == []
    assert SECRET not in str(failed.value)


async def test_an_office_that_describes_itself_without_end_takes_little_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OFFICE_SECRET", SECRET)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with serving() as (url, office):
        configure(folder, url, office.issuer)
        office.is_endless = True
        with pytest.raises(Exception, match="sums") as failed:
            await asyncio.wait_for(run_agent(), 60)
    assert not isinstance(failed.value, TimeoutError)
    assert office.scopes == []
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kilobytes


async def test_what_is_missing_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OFFICE_SECRET", raising=False)
    configure(folder, "http://localhost:1", "https://login.example.com")
    with pytest.raises(ConfigurationError, match=r"mcp\.sums\.oauth\.client_secret: OFFICE_SECRET is not set"):
        await ToolGroups()["sums"].load_tools()
    configure(folder, "http://localhost:1", "login", SECRET)
    with pytest.raises(ConfigurationError, match=r"mcp\.sums\.oauth: issuer must be") as refused:
        await ToolGroups()["sums"].load_tools()
    assert SECRET not in str(refused.value)
