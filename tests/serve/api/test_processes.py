"""`tactician serve` as a process: it is killed and started again, stopped with open streams, and looked on."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tactician.runs.progress.store import RunStore
from tactician.stores import open_store
from tests.support.forking import bare_environment
from tests.support.waiting import eventually

SHOP = """
import asyncio
from pathlib import Path
from pydantic import BaseModel
from tactician import achieves_goal, action, planned_agent
from tactician.process import ask_human

class Order(BaseModel):
    number: int

class Paid(BaseModel):
    number: int

class Address(BaseModel):
    city: str

class Parcel(BaseModel):
    label: str

@planned_agent(description="Sends parcels")
class Shop:
    @action
    def pay(self, order: Order) -> Paid:
        with open("payments.txt", "a") as file:
            file.write(f"{order.number}\\n")
        return Paid(number=order.number)

    @action
    async def ask(self, paid: Paid) -> Address:
        while Path("closed").exists():
            await asyncio.sleep(0.02)
        return await ask_human(Address, f"Where does order {paid.number} go?")

    @achieves_goal("sent")
    @action
    def send(self, paid: Paid, address: Address) -> Parcel:
        return Parcel(label=f"{paid.number} to {address.city}")
"""


@asynccontextmanager
async def serving(folder: Path, *options: str, program: str = SHOP) -> AsyncIterator[tuple[Process, str]]:
    """Start a server, and give its process and address."""
    (folder / "agents.py").write_text(program)
    words = ["-m", "tactician", "serve", "agents.py", "--port", "0", "--store", str(folder / "runs.db"), *options]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, cwd=folder, env=bare_environment(), stderr=PIPE
    )
    assert process.stderr is not None
    try:
        line = (await asyncio.wait_for(process.stderr.readline(), 60)).decode()
        assert line.startswith("Serving on http://"), line + (await process.stderr.read()).decode()
        yield process, line.split()[2].removesuffix("/ui")
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def ask(client: httpx.AsyncClient, run_id: str, *statuses: str) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while True:
            shown: dict[str, Any] = (await client.get(f"/api/runs/{run_id}")).json()
            if shown["status"] in statuses:
                return shown
            await asyncio.sleep(0.05)


async def wait_for_lines(file: Path, count: int) -> None:
    def count_lines() -> int:
        return len(file.read_text().split()) if file.exists() else 0

    async with asyncio.timeout(60):
        while True:
            if count_lines() >= count:
                return
            await asyncio.sleep(0.02)


async def wait_until_saved(file: Path, runs: list[str]) -> None:
    """Return when the store has the payment of each run, which comes after its start."""
    async with open_store(str(file)) as store:

        async def are_saved() -> bool:
            logs = [await RunStore(store).load_steps(run_id) for run_id in runs]
            return all(len(steps) > 1 for steps in logs)

        await eventually(are_saved)


async def test_runs_survive_the_death_of_the_server(tmp_path: Path) -> None:
    (tmp_path / "closed").touch()
    async with serving(tmp_path, "--lease", "1") as (process, address), httpx.AsyncClient(base_url=address) as client:
        runs = [
            (await client.post("/api/agents/shop/runs", json={"input": {"number": n}})).json()["id"] for n in range(3)
        ]
        await wait_for_lines(tmp_path / "payments.txt", 3)
        await wait_until_saved(tmp_path / "runs.db", runs)
        process.send_signal(signal.SIGKILL)
        await process.wait()

    (tmp_path / "closed").unlink()
    async with serving(tmp_path) as (_, address), httpx.AsyncClient(base_url=address) as client:
        for number, run_id in enumerate(runs):
            waiting = await ask(client, run_id, "waiting")
            answer = {"request": waiting["pending"][0]["id"], "response": {"city": "Rome"}}
            assert (await client.post(f"/api/runs/{run_id}/answers", json=answer)).status_code == 200
            assert (await ask(client, run_id, "completed"))["result"] == {"label": f"{number} to Rome"}
    assert sorted((tmp_path / "payments.txt").read_text().split()) == ["0", "1", "2"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_stops_soon_though_streams_are_open(tmp_path: Path, number: signal.Signals) -> None:
    async with (
        serving(tmp_path) as (process, address),
        httpx.AsyncClient(base_url=address) as client,
        client.stream("GET", "/api/events") as stream,
    ):
        async for _ in stream.aiter_lines():
            break
        process.send_signal(number)
        _, errors = await asyncio.wait_for(process.communicate(), 30)  # two seconds on a quiet machine

    assert "Traceback" not in errors.decode()
    assert process.returncode in (0, -signal.SIGTERM)


async def test_events_are_followed_while_they_happen(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        _, address = await stack.enter_async_context(serving(tmp_path))
        limits = httpx.Limits(max_connections=None)
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=address, limits=limits, timeout=60))
        run_id = (await client.post("/api/agents/shop/runs", json={"input": {"number": 1}})).json()["id"]
        card = (await client.get("/.well-known/agent-card.json")).json()
        assert {place["url"].rstrip("/") for place in card["supportedInterfaces"]} == {f"{address}/a2a"}
        waiting = await ask(client, run_id, "waiting")
        reading = [asyncio.create_task(follow(client, run_id)) for _ in range(20)]
        async with client.stream("GET", f"/api/runs/{run_id}/events"):
            pass  # a reader that vanishes
        answer = {"request": waiting["pending"][0]["id"], "response": {"city": "Rome"}}
        await client.post(f"/api/runs/{run_id}/answers", json=answer)
        ends = await asyncio.gather(*reading)

    assert {json.dumps(end["result"]) for end in ends} == {'{"label": "1 to Rome"}'}


async def follow(client: httpx.AsyncClient, run_id: str) -> dict[str, Any]:
    """Return what the end of a run's events says."""
    name = ""
    async with client.stream("GET", f"/api/runs/{run_id}/events") as stream:
        async for line in stream.aiter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: ") and name == "end":
                end: dict[str, Any] = json.loads(line.removeprefix("data: "))
                return end
    raise AssertionError("the stream broke off")


async def test_other_machines_need_a_token(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tactician", "serve", "shop.py", "--host", "0.0.0.0"),
        cwd=tmp_path,
        env=bare_environment(),
        stderr=PIPE,
    )
    _, errors = await asyncio.wait_for(process.communicate(), 60)

    assert process.returncode == 2
    assert "only with tokens: set TACTICIAN_TOKEN, or add --people FILE" in " ".join(errors.decode().split())
