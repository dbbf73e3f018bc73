"""Servers that others have written, over stdio, streamable HTTP and SSE."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn

from tactician import Agent, RunContext, RunStatus
from tactician.events import Event
from tactician.llm import ToolResult
from tactician.mcp import McpProgress, McpServer, git
from tactician.runs import RunResult
from tactician.runs.context.threads import run_blocking
from tactician.testing import ScriptedModel, ToolCall
from tests.mcp_client.demo import Demo
from tests.support.npm import find_npm_program
from tests.support.waiting import eventually


def read_results(result: RunResult[str]) -> list[ToolResult]:
    return [message for message in result.messages if isinstance(message, ToolResult)]


async def ask(server: McpServer, *calls: ToolCall | str) -> list[ToolResult]:
    model = ScriptedModel(*calls, "done")
    return read_results(await Agent("Caller", tools=[server], model=model).run("call them"))


@asynccontextmanager
async def serve(kind: str, protocol: str) -> AsyncIterator[McpServer]:
    """A server of this program behind a socket."""
    demo = Demo()
    app = demo.server.sse_app() if kind == "sse" else demo.server.streamable_http_app()
    runner = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", timeout_graceful_shutdown=1))
    task = asyncio.create_task(runner.serve())
    try:
        await eventually(lambda: runner.started)
        port = runner.servers[0].sockets[0].getsockname()[1]
        connect = McpServer.sse if kind == "sse" else McpServer.http
        async with connect(
            f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}", name=kind, protocol=protocol
        ) as server:
            yield server
    finally:
        runner.should_exit = True
        await task


@pytest.mark.parametrize(("kind", "protocol"), [("http", "auto"), ("http", "legacy"), ("sse", "legacy")])
async def test_a_server_at_a_url(kind: str, protocol: str) -> None:
    async with serve(kind, protocol) as server:
        assert server.health.protocol == ("2026-07-28" if protocol == "auto" else "2025-11-25")
        (added, joke) = await ask(server, ToolCall("add", a=1, b=2), ToolCall("joke"), "Why not?")
    assert added.content == "3"
    assert joke.content == "scripted says: Why not?"


async def test_a_server_knows_which_of_several_calls_asks() -> None:
    for protocol in ("auto", "legacy"):
        async with serve("http", protocol) as server:
            results = await asyncio.gather(*(ask(server, ToolCall("joke"), f"joke {n}") for n in range(5)))
        assert [only.content for (only,) in results] == [f"scripted says: joke {n}" for n in range(5)]


async def test_everything_over_stdio() -> None:
    program = find_npm_program("mcp-server-everything")
    heard: list[Event] = []
    async with McpServer.stdio(str(program), "stdio", name="everything") as server:
        assert server.health.protocol == "2025-11-25"
        names = [one.name for one in await server.load_tools()]
        assert {"echo", "get-sum", "get-tiny-image", "trigger-sampling-request"} <= set(names)
        model = ScriptedModel(
            ToolCall("echo", message="hi"),
            ToolCall("get-sum", a=2, b=3),
            ToolCall("get-tiny-image"),
            ToolCall("get-structured-content", location="New York"),
            ToolCall("trigger-long-running-operation", duration=0.2, steps=2),
            ToolCall("trigger-sampling-request", prompt="a joke", maxTokens=20),
            "a frog walks in",
            "done",
        )
        context = RunContext.over(model, heard.append)
        result = await Agent("Caller", tools=[server]).run("call them", context=context)
        echo, total, image, weather, long, sampled = read_results(result)
        assert "Echo: hi" in echo.content
        assert "5" in total.content
        assert image.images[0].media_type == "image/png"
        assert '"temperature"' in weather.content
        assert "completed" in long.content
        assert sum(isinstance(event, McpProgress) for event in heard) == 2
        assert "a frog walks in" in sampled.content
        resources = await server.list_resources()
        assert (await server.read_resource(resources[0].uri)).text


async def test_everything_asks_a_person() -> None:
    program = find_npm_program("mcp-server-everything")
    async with McpServer.stdio(str(program), "stdio", name="everything") as server:
        agent = Agent("Caller", tools=[server])
        context = RunContext.over(ScriptedModel(ToolCall("trigger-elicitation-request"), "done"))
        waiting = await agent.run("ask", context=context)
        assert waiting.status is RunStatus.WAITING
        (request,) = waiting.pending
        answer = {"name": "Ada", "email": "ada@example.com"}
        result = await agent.resume(waiting.run_id, {request.id: answer}, context=context)
        assert "Ada" in read_results(result)[0].content


async def test_files(tmp_path: Path) -> None:
    program = find_npm_program("mcp-server-filesystem")
    (tmp_path / "note.txt").write_text("buy milk")
    async with McpServer.stdio(str(program), str(tmp_path), name="files") as server:
        read, outside = await ask(
            server,
            ToolCall("read_text_file", path=str(tmp_path / "note.txt")),
            ToolCall("read_text_file", path="/etc/passwd"),
        )
    assert read.content == "buy milk"
    assert outside.is_error


def test_a_git_repository(tmp_path: Path) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(("git", "init", "--quiet", "--initial-branch=main", str(tmp_path)), check=True, env=environment)
    (tmp_path / "note.txt").write_text("buy milk")
    assert "note.txt" in run_blocking(read_status(tmp_path))


async def read_status(folder: Path) -> str:
    async with git(folder) as server:
        (status,) = await ask(server, ToolCall("git_status", repo_path=str(folder)))
    return status.content


async def test_the_time() -> None:
    async with McpServer.stdio(sys.executable, "-m", "mcp_server_time", name="time") as server:
        (time,) = await ask(server, ToolCall("get_current_time", timezone="Europe/Rome"))
    assert "Europe/Rome" in time.content
