"""A server that is killed in the middle of a step, and starts again, while a page is open."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from time import monotonic, sleep
from typing import Any, Final

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.forking import bare_environment

PROGRAM: Final = """
import asyncio, sys
from pathlib import Path

import uvicorn
from pydantic import BaseModel

from tactician import Platform, UserInput, achieves_goal, action, planned_agent
from tactician.process import ask_human
from tactician.serve import RequestLimits, app
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel

class Frame(BaseModel):
    size: int

class Wheels(BaseModel):
    number: int

@planned_agent(description="Makes bicycles")
class Workshop:
    @action
    def make_frame(self, wish: UserInput) -> Frame:
        return Frame(size=56)

    @action
    async def make_wheels(self, frame: Frame) -> Wheels:
        if Path("asks").exists():
            return await ask_human(Wheels, "How many?")
        Path("makes wheels").touch()
        while Path("is closed").exists():
            await asyncio.sleep(0.02)
        return Wheels(number=2)

    @achieves_goal("The bicycle is ready")
    @action
    def join(self, frame: Frame, wheels: Wheels) -> str:
        return "a bicycle"

platform = Platform(ScriptedModel(), store=SqliteStore("runs.db")).register(Workshop())
uvicorn.run(app(platform, limits=RequestLimits(lease=1)), port=int(sys.argv[1]), log_level="error")
"""


class Workshop:
    """A server in a program of its own, which may be killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"

    @contextmanager
    def serve(self) -> Iterator[None]:
        """Serve until the end, at which the program is killed."""
        program = [sys.executable, "-c", PROGRAM, str(self._port)]
        with Popen(program, cwd=self._folder, env=bare_environment()) as process:
            try:
                wait_until(lambda: self._is_ready(process))
                yield
            finally:
                process.kill()

    def start_run(self) -> str:
        run_id: str = httpx.post(f"{self.url}/api/agents/workshop/runs", json={"input": "a bicycle"}).json()["id"]
        return run_id

    def find(self, run_id: str) -> dict[str, Any]:
        shown: dict[str, Any] = httpx.get(f"{self.url}/api/runs/{run_id}", timeout=20).json()
        return shown

    def _is_ready(self, process: Popen[bytes]) -> bool:
        assert process.poll() is None, "the server has ended"
        try:
            return httpx.get(f"{self.url}/api/agents").is_success
        except httpx.TransportError:
            return False


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = monotonic() + 60
    while not holds():
        assert monotonic() < deadline
        sleep(0.05)


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    with chromium.new_context() as context:
        yield context.new_page()


def test_an_interruption_is_called_one(page: Page, tmp_path: Path) -> None:
    workshop, gate = Workshop(tmp_path), tmp_path / "is closed"
    gate.touch()
    with workshop.serve():
        run_id = workshop.start_run()
        page.goto(f"{workshop.url}/ui/#/runs/{run_id}")
        step = page.get_by_role("treeitem").filter(has_text="make_wheels")
        expect(step).to_contain_text("running")
        wait_until((tmp_path / "makes wheels").exists)
    with workshop.serve():
        expect(page.locator(".revision")).to_contain_text("Replanned when the run continued after an interruption")
        expect(step.first).to_contain_text("running")
        gate.unlink()
        expect(page.get_by_role("treeitem").first).to_contain_text("completed")
        expect(step).to_have_count(1)
        expect(step.locator(".bar")).to_have_count(2)
        expect(page.get_by_role("tree")).not_to_contain_text("cancelled")
        for _ in range(2):
            expect(page.locator(".revision")).to_contain_text("after an interruption")
            expect(page.locator(".revision")).not_to_contain_text("not as expected")
            page.reload()


def test_a_run_that_has_waited_goes_on(page: Page, tmp_path: Path) -> None:
    (tmp_path / "asks").touch()
    workshop = Workshop(tmp_path)
    with workshop.serve():
        run_id = workshop.start_run()
        page.goto(f"{workshop.url}/ui/#/runs/{run_id}")
        expect(page.get_by_role("treeitem").first).to_contain_text("waiting")
    with workshop.serve():
        (request,) = workshop.find(run_id)["pending"]
        answer = {"request": request["id"], "response": {"number": 2}}
        httpx.post(f"{workshop.url}/api/runs/{run_id}/answers", json=answer).raise_for_status()
        expect(page.get_by_role("treeitem").first).to_contain_text("completed")
        for _ in range(2):
            expect(page.locator(".revision")).not_to_contain_text("interruption")
            expect(page.locator(".revision")).not_to_contain_text("not as expected")
            page.reload()
