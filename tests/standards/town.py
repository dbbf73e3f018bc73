"""Workers of a buyer and a shop in other processes, which can be killed, and the people on both sides."""

from __future__ import annotations

import asyncio
import os
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from itertools import pairwise
from pathlib import Path
from typing import Final

from tactician import approve
from tactician.runs import RunStatus
from tactician.runs.life.execution import keep_responses
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.stores import open_store
from tests.crash.ledger import Ledger
from tests.standards.buyer import HOLD, RAN, create_buyer_platform
from tests.support.nursery import Nursery

_LEASE: Final = 0.5
_LONGEST: Final = 60.0
PERCENT: Final = 10
STEPS: Final = (
    *("price answer 1", "find price", "price answer 2", "tax answer 1", "tax answer 2", "tax answer 3"),
    *("grant", "offer", "pay"),
)
"""The side effects of an order, in order."""


class Town:
    """Place where orders are worked on.

    Args:
        nursery: program that starts the processes.
        folder: folder of the stores and the ledger.

    Attributes:
        ledger: ledger of all side effects.
        victims: names of the processes that were killed.
    """

    def __init__(self, nursery: Nursery, folder: Path) -> None:
        self.ledger = Ledger(folder / "ledger")
        self.victims: set[str] = set()
        self._nursery = nursery
        self._folder = folder
        self._port = _find_port()
        self._stores = {role: f"sqlite:///{folder}/{role}.db" for role in ("worker", "shop")}
        self._alive: dict[str, str] = {}
        self._store = open_store(self._stores["worker"])
        self._platform = create_buyer_platform(self._store, self.ledger, self._shop)
        self._runs = RunStore(self._store)

    @property
    def _shop(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def work_folder(self) -> Path:
        """Folder in which the script of the skill runs."""
        return self._folder / "work"

    async def aclose(self) -> None:
        """End all processes, and close the store."""
        for role in list(self._alive):
            self.kill(role)
        await self._store.aclose()

    def start(self, role: str) -> None:
        """Start a process: a worker, or the shop."""
        arguments = (role, self._stores[role], str(self.ledger.path), self._shop, str(_LEASE))
        self._alive[role] = self._nursery.start(*arguments)

    def kill(self, role: str) -> None:
        """Kill a process. It has ended then."""
        name = self._alive.pop(role)
        self.victims.add(name)
        self._nursery.command("kill", name)

    def restart(self, *roles: str) -> None:
        """Kill processes, and start others in their places."""
        for role in roles:
            self.kill(role)
        for role in roles:
            self.start(role)

    async def enqueue(self, input: str, agent: str = "Buyer") -> str:
        """Leave a run to the workers, and return its id."""
        return await self._platform.enqueue(agent, input)

    async def load(self, run_id: str) -> RunRecord:
        """Return the record of a run."""
        record = await self._runs.load(run_id)
        assert record is not None
        return record

    async def wait_for_begin(self, order: str, step: str, times: int = 1) -> None:
        """Return when a side effect has begun so many times."""
        await self._wait_until(lambda: self.count(order, "begin")[step] >= times, f"{order} has begun {step}")

    async def wait_for_script(self, times: int = 1) -> None:
        """Return when the script of the skill has begun so many times."""
        await self._wait_until(lambda: self.count_scripts() >= times, "the script has begun")

    async def wait_for_status(self, run_id: str, *statuses: RunStatus) -> RunRecord:
        """Return the record of a run as soon as it has one of these statuses."""

        async def has_it() -> bool:
            return (await self.load(run_id)).status in statuses

        await self._wait_until(has_it, f"the run is {' or '.join(statuses)}")
        return await self.load(run_id)

    async def wait_for_saved(self, run_id: str, name: str, times: int) -> None:
        """Return when the log of a run has so many steps of a name."""

        async def are_saved() -> bool:
            steps = await self._runs.load_steps(run_id)
            return sum(step.name == name for step in steps) >= times

        await self._wait_until(are_saved, f"{times} steps {name} are saved")

    async def wait_for_question(self, run_id: str, text: str) -> None:
        """Return when a run waits for the answer to a question."""

        async def is_asked() -> bool:
            record = await self.load(run_id)
            asked = any(text in request.prompt and not request.is_answered for request in record.header.pending)
            return record.status is RunStatus.WAITING and asked

        await self._wait_until(is_asked, f"{text!r} is asked")

    async def answer(self, run_id: str) -> None:
        """Approve what a run wants to do, or grant the discount. The workers continue the run."""
        async with asyncio.timeout(_LONGEST):
            while (claimed := await self._runs.claim("person", _LONGEST, run_id=run_id)) is None:  # noqa: ASYNC110 - by other processes
                await asyncio.sleep(0.01)  # the worker that asked may hold it still
        record, lease = claimed
        answers = {
            request.id: approve() if request.kind == "approval" else PERCENT
            for request in record.header.pending
            if not request.is_answered
        }
        await keep_responses(record, lease, self._platform.context(), answers)

    async def answer_all(self, run_ids: Collection[str]) -> None:
        """Answer whatever runs ask, for ever."""
        while True:
            for run_id in list(run_ids):
                record = await self.load(run_id)
                asks = any(not request.is_answered for request in record.header.pending)
                if record.status is RunStatus.WAITING and asks:
                    await self.answer(run_id)
            await asyncio.sleep(0.02)

    def find_problems(self, order: str) -> list[str]:
        """Return what is not as it must be after the end of an order."""
        entries = [entry for entry in self.ledger.read() if entry.run == order]
        begun = [entry for entry in entries if entry.event == "begin"]
        places = [STEPS.index(entry.step) for entry in begun]
        problems = [f"{STEPS[a]} began again after {STEPS[b]}" for b, a in pairwise(places) if a < b]
        problems += [f"{step} was lost" for step in STEPS if not self.count(order, "end")[step]]
        for step in STEPS:
            mine = [entry for entry in begun if entry.step == step]
            others = {entry.worker for entry in mine[:-1] if not entry.worker.startswith("prices")} - self.victims
            problems += [f"{step} began again though nothing happened to {others}"] if others else []
            problems += [f"{step} had two idempotency keys"] if len({entry.key for entry in mine}) > 1 else []
        return problems

    def hold_script(self) -> None:
        """Let the script of the skill wait."""
        (self.work_folder / HOLD).touch()

    def release_script(self) -> None:
        """Let the script of the skill end."""
        (self.work_folder / HOLD).unlink()

    def count_scripts(self) -> int:
        """Return how often the script of the skill has begun."""
        ran = self.work_folder / RAN
        return len(ran.read_text().splitlines()) if ran.exists() else 0

    def count(self, order: str, event: str) -> Counter[str]:
        """Return how often each side effect of an order has begun, or ended."""
        return Counter(entry.step for entry in self.ledger.read() if (entry.event, entry.run) == (event, order))

    async def wait_until_servers_ended(self) -> None:
        """Return when no MCP server runs any more whose worker was killed."""
        pids = {int(entry.worker.removeprefix("prices-")) for entry in self.ledger.read() if "prices" in entry.worker}
        await self._wait_until(lambda: not any(map(_is_running, pids)), f"{pids} have ended")

    async def _wait_until(self, is_so: Callable[[], bool | Awaitable[bool]], what: str) -> None:
        try:
            async with asyncio.timeout(_LONGEST):
                while not (found if isinstance(found := is_so(), bool) else await found):  # noqa: ASYNC110 - by other processes
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"not so: {what}\n{self._describe()}") from None

    def _describe(self) -> str:
        entries = "\n".join("\t".join(entry) for entry in self.ledger.read())
        log = self.ledger.path.with_suffix(".log")
        return f"{entries}\n{log.read_text() if log.exists() else ''}"


def _find_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
