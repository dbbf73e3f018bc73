"""Two programs, as a reader starts them in two terminals, and the commands for requests."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tactician import MemoryStore, Platform, runnable
from tactician.clock import SystemClock
from tactician.mesh import Mesh, Node
from tactician.testing import ScriptedModel
from tests.cli.support import Done, tactician

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "mesh"


class Terminal:
    """A folder with the mesh, and programs in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.environment = {**os.environ, "TACTICIAN_MESH": f"sqlite:///{folder}/hotel.db", "PYTHONPATH": str(ROOT)}

    def start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *command], cwd=self._folder, env=self.environment, stderr=subprocess.PIPE, text=True
        )

    def run(self, *command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=self._folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fail(self, *arguments: str) -> str:
        """Run a command about the mesh that fails, and return what it says."""
        command = [sys.executable, "-m", "tactician", "mesh", *arguments]
        done = subprocess.run(
            command, cwd=self._folder, env=self.environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode in (1, 2), done.stderr
        return done.stderr

    def mesh(self, *arguments: str) -> str:
        return self.run("-m", "tactician", "mesh", *arguments)


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path)


@pytest.fixture
def kitchen(terminal: Terminal) -> Iterator[subprocess.Popen[str]]:
    program = terminal.start("-m", "tactician", "node", str(EXAMPLES / "kitchen.py"))
    assert program.stderr is not None
    assert "kitchen offers prepare-meal, check_inventory" in program.stderr.readline()
    try:
        yield program
    finally:
        program.kill()
        program.communicate()


def check_directives(terminal: Terminal) -> None:
    def mesh(*arguments: str) -> Done:
        return tactician("mesh", *arguments, env=terminal.environment)

    vip = mesh("direct", "kitchen", "The guest in 801 is a VIP", "--by", "manager", "--hours", "8")
    assert vip.err == "kitchen: applied.\n"
    limit = mesh("control", "kitchen", "set-concurrency", "2", "--by", "manager")
    assert limit.err == "kitchen: applied.\n"
    listed = mesh("directives").out.splitlines()
    assert [line.partition("Z] ")[2] for line in listed] == ["The guest in 801 is a VIP", "SetConcurrency(2)"]
    assert mesh("withdraw", limit.out.strip()).code == 0
    assert "SetConcurrency" not in mesh("directives").out
    assert "No directive" in mesh("withdraw", limit.out.strip()).err

    assert "No capability 'prepare'" in mesh("control", "kitchen", "disable", "prepare").err
    assert "The command set-tier needs a value: set-tier TIER." in mesh("control", "kitchen", "set-tier").err
    assert "'SetTire' is no command" in mesh("control", "kitchen", "set-tire", "x").err
    nobody = mesh("direct", "bar", "No ice", "--by", "manager").err
    assert "No node answers to 'bar' now" in " ".join(nobody.split())


def test_two_programs_and_the_commands_for_requests(terminal: Terminal, kitchen: subprocess.Popen[str]) -> None:
    shown = terminal.run(str(EXAMPLES / "room_service.py"))
    assert shown == "Beers: {'beer': 40}\nReady: Wagyu, medium rare, room 403\n"

    assert terminal.mesh("send", "prepare-meal", "Ramen", "--on", "kitchen", "--id", "order-17") == "Ready: Ramen\n"
    status = json.loads(terminal.mesh("status", "order-17", "--on", "kitchen"))
    assert (status["status"], status["reply"]["output"]) == ("completed", "Ready: Ramen")
    cancelled = tactician("mesh", "cancel", "order-17", "--on", "kitchen", env=terminal.environment)
    assert cancelled.code == 0, cancelled.err
    listed = terminal.mesh("nodes")
    assert "kitchen  READY  0 running, 0 waiting" in listed
    assert "check_inventory  (tool)  [food, stock]" in listed
    assert "kitchen  stock report  every 1:00:00  next " in terminal.mesh("schedules")

    check_directives(terminal)
    assert "has no request 'order-18'" in " ".join(terminal.fail("cancel", "order-18", "--on", "kitchen").split())
    directed = terminal.start("-m", "tactician", "mesh", "direct", "kitchn", "Hurry", "--by", "Ann")
    assert "Did you mean 'kitchen'?" in " ".join(directed.communicate(timeout=60)[1].split())

    kitchen.send_signal(signal.SIGTERM)
    assert kitchen.wait(30) == 0


class ShiftedClock(SystemClock):
    """Clock by which some work takes longer."""

    shift = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.shift


async def test_a_request_that_must_meet_its_deadline_is_refused(terminal: Terminal) -> None:
    clock = ShiftedClock()

    @runnable
    async def cook(order: str) -> str:
        clock.shift += 300
        return f"{order} is ready"

    async def send(*options: str) -> Done:
        command = "mesh", "send", "cook", "Ramen", "--on", "bar", *options
        return await asyncio.to_thread(tactician, *command, env=terminal.environment)

    async with Mesh(terminal.environment["TACTICIAN_MESH"], clock=clock) as mesh:
        bar = Node("bar", Platform(ScriptedModel(), store=MemoryStore(), clock=clock), mesh)
        bar.offer(cook)
        async with bar:
            tried = await send("--seconds", "60")
            refused = await send("--seconds", "60", "--must-meet-deadline")
            met = await send("--seconds", "6000", "--must-meet-deadline")
    endless = await send("--must-meet-deadline")

    assert (tried.out, met.out) == ("Ramen is ready\n", "Ramen is ready\n")
    assert (refused.code, "bar cannot meet the deadline" in " ".join(refused.err.split())) == (2, True)
    assert "needs --seconds" in endless.err


def test_a_broker_that_is_away_is_a_single_sentence(terminal: Terminal) -> None:
    failed = terminal.fail("nodes", "--mesh", "nats://127.0.0.1:9")
    assert failed.count("127.0.0.1:9") <= 2
    assert "Connect call failed" in failed
    assert "Traceback" not in failed
