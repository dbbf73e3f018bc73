"""Connections to servers: who opens and closes them, and what happens when a server dies."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tactician import Agent, Platform
from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.errors import MissingExtraError
from tactician.llm import ToolResult
from tactician.mcp import McpError, McpServer
from tactician.runs.context.threads import run_blocking
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.mcp_client.demo import Demo
from tests.support.effort import EFFORT
from tests.support.waiting import eventually

DEMO = (sys.executable, "-m", "tests.mcp_client.demo")
ROOT = Path(__file__).parents[2]


def start(*arguments: str, clock: Clock = SYSTEM_CLOCK, key: str = "", protocol: str = "auto") -> McpServer:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    env = {"PYTHONPATH": paths, "DEMO_KEY": key}
    return McpServer.stdio(*DEMO, *arguments, env=env, name="demo", clock=clock, protocol=protocol)


async def call(server: McpServer, name: str, **arguments: object) -> ToolResult:
    model = ScriptedModel(ToolCall(name, **arguments), "done")
    result = await Agent("Caller", tools=[server], model=model).run("call it")
    message = result.messages[-2]
    assert isinstance(message, ToolResult)
    return message


async def test_a_server_that_dies_is_started_again() -> None:
    clock = FakeClock()
    async with start(clock=clock) as server:
        dead = await call(server, "die")
        assert dead.is_error
        await eventually(lambda: server.health.state == "restarting")
        assert server.health.next_attempt == 0.5
        meanwhile = await call(server, "add", a=1, b=2)
        assert meanwhile.is_error
        assert "'demo' is not available" in meanwhile.content
        assert "the next attempt is in 0.5 s" in meanwhile.content
        clock.advance(0.5)
        await eventually(lambda: server.health.state == "ready")
        assert (await call(server, "add", a=1, b=2)).content == "3"
        await call(server, "die")
        await eventually(lambda: server.health.state == "restarting")
        assert server.health.next_attempt == 1.0
        assert server.health.failures == 2
    assert server.health.state == "closed"


async def test_questions_of_an_old_program_are_refused_while_it_has_several_calls() -> None:
    """Its protocol does not say which call asks."""
    model = ScriptedModel([ToolCall("joke"), ToolCall("joke")], "Why not?", "done")
    async with start(protocol="legacy") as server:
        result = await Agent("Caller", tools=[server], model=model).run("two jokes")
    results = [message for message in result.messages if isinstance(message, ToolResult)]
    assert len(results) == 2
    assert any("Call again alone" in message.content for message in results)


async def test_a_server_that_does_not_start_says_why_without_secrets() -> None:
    server = start("--fail", key="sk-very-secret")
    with pytest.raises(McpError, match=r"(?s)'demo' cannot be reached: .*It wrote: it misses \*\*\*"):
        await server.load_tools()
    assert server.health.state == "closed"
    assert server.health.problem is not None
    assert "sk-very-secret" not in repr((server, server.health, server.__dict__))


async def test_a_program_that_is_not_there_and_a_host_that_does_not_answer() -> None:
    with pytest.raises(McpError, match="'no-such-program' cannot be reached: FileNotFoundError"):
        async with McpServer.stdio("no-such-program"):
            pass
    with pytest.raises(McpError, match=r"'127\.0\.0\.1' cannot be reached"):
        async with McpServer.http("http://127.0.0.1:9/mcp?key=sk-very-secret", auth="sk-another"):
            pass


def test_secrets_are_not_shown() -> None:
    server = McpServer.http("https://me:sk-1@host/mcp?key=sk-2", auth="sk-3", headers={"X-Key": "sk-4"})
    program = McpServer.stdio("run", "--key=sk-5", env={"KEY": "sk-6"})
    shown = repr([server, server.__dict__, program, program.__dict__])
    assert "sk-" not in shown
    assert server.name == "host"


async def test_it_may_be_closed_by_another_task_while_it_is_used() -> None:
    demo = Demo()
    server = McpServer.in_process(demo.server)
    waiting = asyncio.create_task(call(server, "wait"))
    await asyncio.wait_for(demo.began.wait(), 30)
    await asyncio.create_task(server.aclose())
    assert (await waiting).is_error
    assert server.health.state == "closed"
    assert (await call(server, "add", a=1, b=2)).content == "3"
    await server.aclose()


def test_each_event_loop_has_its_own_connection() -> None:
    server = McpServer.in_process(Demo().server)
    for _ in range(2):
        assert run_blocking(call(server, "add", a=1, b=2)).content == "3"


@pytest.mark.soak
async def test_connects_and_closes_from_different_tasks_leave_nothing() -> None:
    """500 times in the long form, also with servers that are programs."""
    await _open_and_close(McpServer.in_process(Demo().server))
    tasks, files = len(asyncio.all_tasks()), _count_files()
    for number in range(20 if EFFORT == 1 else 50 * EFFORT):
        await _open_and_close(start() if number % 20 == 0 else McpServer.in_process(Demo().server))
    await eventually(lambda: len(asyncio.all_tasks()) == tasks)
    await eventually(lambda: _count_files() <= files)
    assert _list_children() == []


async def _open_and_close(server: McpServer) -> None:
    opened = await asyncio.create_task(server.__aenter__())
    assert (await asyncio.create_task(call(opened, "add", a=1, b=2))).content == "3"
    await asyncio.create_task(server.aclose())


def _count_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0


def _list_children() -> list[str]:
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    pids = listed.read_text().split() if listed.exists() else []
    return [pid for pid in pids if b"mcp_client" in Path(f"/proc/{pid}/cmdline").read_bytes()]


async def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[mcp\]"'):
        await McpServer.stdio("anything").load_tools()


async def test_an_agent_whose_server_cannot_be_reached_fails_with_the_reason() -> None:
    async with Platform(ScriptedModel("x"), tool_groups={"web": McpServer.stdio("no-such-program")}) as platform:
        with pytest.raises(McpError, match="no-such-program"):
            await Agent("A", tool_groups=["web"]).run("?", context=platform.context())
