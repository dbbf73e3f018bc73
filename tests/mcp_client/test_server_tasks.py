"""Tools of servers that run as tasks only."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import pytest

from tactician import Agent, Platform, RunContext
from tactician.llm import ToolResult
from tactician.mcp import McpServer
from tactician.runs import RunResult
from tactician.stores import SqliteStore
from tactician.stores.document import Lease
from tactician.testing import ScriptedModel, ToolCall

SERVER = Path(__file__).parent / "task_server.py"


def connect(folder: Path) -> McpServer:
    return McpServer.stdio(sys.executable, str(SERVER), str(folder), name="tasks")


def read_log(folder: Path) -> list[str]:
    log = folder / "log"
    return log.read_text().split() if log.exists() else []


async def wait_for(folder: Path, method: str) -> None:
    def wait() -> None:
        deadline = time.monotonic() + 20
        while method not in read_log(folder):
            assert time.monotonic() < deadline
            time.sleep(0.01)

    await asyncio.to_thread(wait)


async def test_the_result_of_the_task_is_that_of_the_call(tmp_path: Path) -> None:
    async with connect(tmp_path) as server:
        context = RunContext.over(ScriptedModel(ToolCall("research"), "done"))
        work = asyncio.create_task(Agent("A", tools=[server]).run("go", context=context))
        await wait_for(tmp_path, "tasks/get")
        (tmp_path / "done").touch()
        result = await asyncio.wait_for(work, 20)
    assert [message.content for message in result.messages if isinstance(message, ToolResult)] == ["found out"]
    assert read_log(tmp_path).count("tools/call") == 1


async def test_the_task_is_cancelled_with_the_run(tmp_path: Path) -> None:
    async with connect(tmp_path) as server:
        context = RunContext.over(ScriptedModel(ToolCall("research"), "done"))
        work = asyncio.create_task(Agent("A", tools=[server]).run("go", context=context))
        await wait_for(tmp_path, "tasks/get")
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        await wait_for(tmp_path, "tasks/cancel")


async def test_a_run_that_goes_on_after_a_crash_asks_for_the_same_task(tmp_path: Path) -> None:
    url = tmp_path / "runs.db"
    program = (
        "import asyncio, os, sys\nfrom pathlib import Path\nfrom tactician import Agent, Platform\n"
        "from tactician.stores import SqliteStore\nfrom tactician.testing import ScriptedModel, ToolCall\n"
        "from tests.mcp_client.test_server_tasks import connect, wait_for\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "async def main():\n"
        "    agent = Agent('A', tools=[connect(folder)])\n"
        f"    platform = Platform(ScriptedModel(ToolCall('research')), store=SqliteStore({str(url)!r}))\n"
        "    platform.register(agent)\n"
        "    work = asyncio.create_task(agent.run('go', context=platform.context()))\n"
        "    await wait_for(folder, 'tasks/get')\n"
        "    os._exit(9)\n"
        "asyncio.run(main())\n"
    )
    crashed = await asyncio.create_subprocess_exec(sys.executable, "-c", program, cwd=SERVER.parents[2])
    assert await asyncio.wait_for(crashed.wait(), 60) == 9
    (tmp_path / "done").touch()
    store = SqliteStore(url)
    async with connect(tmp_path) as server, Platform(ScriptedModel("done"), store=store) as platform:
        platform.register(Agent("A", tools=[server]))
        (run,) = await platform.runs()
        await store.release(Lease("runs", run.id, owner="", fence=1, expires_at=0.0))  # as after its time
        result = await asyncio.wait_for(platform.resume(run.id), 60)
        assert isinstance(result, RunResult)
    assert [message.content for message in result.messages if isinstance(message, ToolResult)] == ["found out"]
    assert read_log(tmp_path).count("tools/call") == 1
