"""A server under load: many readers for a while, one that stops reading, some that vanish, and `kill -9` in the middle.

`make soak ARGS=tests/serve/api/test_load.py` prints what it measured. `test_processes.py` has its short form.
"""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

import aiohttp
import httpx
import pytest

from tests.serve.api.test_processes import ask, serving, wait_for_lines
from tests.support.effort import EFFORT

READERS, SECONDS = 500, 60.0
MOST_GROWTH = 100_000
"""Kilobytes by which the memory of the server may grow."""
WORK = """
import asyncio
from pathlib import Path
from pydantic import BaseModel
from tactician import achieves_goal, action, planned_agent

class Order(BaseModel):
    number: int

class Begun(BaseModel):
    number: int

class Done(BaseModel):
    number: int

@planned_agent(description="Works")
class Work:
    @action
    def begin(self, order: Order) -> Begun:
        with open("begun.txt", "a") as file:
            file.write(f"{order.number}\\n")
        return Begun(number=order.number)

    @achieves_goal("done")
    @action
    async def finish(self, begun: Begun) -> Done:
        while Path("closed").exists():
            await asyncio.sleep(0.02)
        return Done(number=begun.number)
"""


@pytest.mark.soak
@pytest.mark.skipif(EFFORT == 1, reason="takes two minutes, and test_processes.py a few seconds: run `make soak`")
async def test_nothing_is_lost_and_memory_is_bounded(tmp_path: Path) -> None:
    async with serving(tmp_path, "--lease", "5", program=WORK) as (process, address), open_session(address) as session:
        before = read_memory(process.pid)
        seen = Seen()
        readers = [asyncio.create_task(read_ends(session, seen)) for _ in range(READERS)]
        idle = await open_without_reading(address)
        started = await start_runs(session, seen)
        async with asyncio.timeout(120):
            received = await asyncio.gather(*readers)
        after = read_memory(process.pid)
        idle.close()
        print(f"\n{READERS} readers, {SECONDS:g} s, {len(started)} runs: {before:,} kB before, {after:,} kB after")
        (tmp_path / "closed").touch()
        open_runs = [await start(session, number) for number in range(len(started) + 1, len(started) + 6)]
        await wait_for_lines(tmp_path / "begun.txt", len(started) + 6)
        process.send_signal(signal.SIGKILL)
        await process.wait()

    assert [ids for ids in received if len(ids) != len(set(ids))] == []
    assert after - before < MOST_GROWTH
    (tmp_path / "closed").unlink()
    async with serving(tmp_path, program=WORK) as (_, address), httpx.AsyncClient(base_url=address) as client:
        for run_id in (*started[-20:], *open_runs):
            assert (await ask(client, run_id, "completed"))["job_status"] == "completed"
    begun = (tmp_path / "begun.txt").read_text().split()
    assert set(begun) == {str(number) for number in range(len(started) + 6)}


@asynccontextmanager
async def open_session(address: str) -> AsyncIterator[aiohttp.ClientSession]:
    """Give a client of the server without limits of its own."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(address, connector=connector, timeout=aiohttp.ClientTimeout(None)) as session:
        yield session


async def start_runs(session: aiohttp.ClientSession, seen: Seen) -> list[str]:
    """Start runs for a while, while others look on for a moment and vanish; return the ids of the runs."""
    started: list[str] = []
    end = monotonic() + SECONDS
    while monotonic() < end:
        started.append(await start(session, len(started)))
        async with session.get("/api/events") as vanishing:
            await vanishing.content.readline()
        await asyncio.sleep(0.2)
    seen.expected = frozenset(started)
    await start(session, len(started))  # its end lets readers look at what they have, if they have it all
    return started


async def start(session: aiohttp.ClientSession, number: int) -> str:
    async with session.post("/api/agents/work/runs", json={"input": {"number": number}}) as response:
        assert response.status == 202
        run_id: str = (await response.json())["id"]
        return run_id


@dataclass
class Seen:
    """The runs after whose ends readers stop; `None` until all have been started."""

    expected: frozenset[str] | None = None


async def read_ends(session: aiohttp.ClientSession, seen: Seen) -> list[str]:
    """Return the ids of the runs that end, until all that were started have."""
    ended: list[str] = []
    async with session.get("/api/events") as response:
        async for line in response.content:
            if line.startswith(b"data: ") and b'"type":"ProcessEnded"' in line:
                ended.append(_find_run(line))
                if seen.expected is not None and seen.expected.issubset(ended):
                    return ended
    raise AssertionError("the stream broke off")


def _find_run(line: bytes) -> str:
    found = re.search(rb'"run_id":"(\w+)"', line)
    assert found is not None
    return found[1].decode()


async def open_without_reading(address: str) -> asyncio.StreamWriter:
    """Ask for events, and read none of them."""
    place = urlsplit(address)
    _, writer = await asyncio.open_connection(place.hostname, place.port, limit=1024)
    writer.write(f"GET /api/events HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
    await writer.drain()
    return writer


def read_memory(pid: int) -> int:
    """Return the resident memory of a process, in kilobytes."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1])
