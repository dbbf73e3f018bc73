"""A request over a mesh beside the same durable run, and beside the A2A SDK, Celery on Redis, and Temporal."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.environments import Environment
from benchmarks.measures import ChildError, json_from, progress
from benchmarks.report import Section, judge

ROUNDS, FEW = 20, 3
BUDGETS = {"memory": 0.4, "nats": 1.2}
"""Milliseconds of processor time above the same run here, on both sides together."""
TITLES = {"local": "a durable run here", "memory": "a request over memory", "nats": "a request over NATS"}
PEERS = {"A2A SDK over HTTP": "a2a-sdk", "Celery on Redis": "celery", "Temporal": "temporal"}


def measure(environments: Mapping[str, Environment], *, quick: bool) -> list[Section]:
    rounds = FEW if quick else ROUNDS
    columns = ("way", "ms of a request", "above the run here", "budget")
    section = Section("A request to another program, processor time of both sides", columns, raw={})
    _measure_mesh(section, environments["mesh"], rounds)
    for title, name in PEERS.items():
        _measure_peer(section, title, environments[name], rounds)
    section.notes.append("The lowest of all rounds; ours take turns in one process. Brokers and servers do not count.")
    return [section]


def _measure_mesh(section: Section, environment: Environment, rounds: int) -> None:
    if environment.problem:
        section.add_failure("a mesh", environment.problem)
        return
    progress("mesh: memory and NATS")
    program = str(environment.python.with_name("nats-server"))
    try:
        with _serve([program, "-a", "127.0.0.1", "-js", "-sd", "{folder}", "-p", "{port}"]) as port:
            urls = ["memory://benchmark", f"nats://127.0.0.1:{port}"]
            times = _ask(environment, ["benchmarks.clients.tactician_mesh", str(rounds), *urls])
    except ChildError as error:
        section.add_failure("a mesh", str(error))
        return
    section.raw |= times
    for name, seconds in times.items():
        above = (seconds - times["local"]) * 1000
        verdict = judge(above, BUDGETS[name], " ms") if name in BUDGETS else ""
        section.add(TITLES[name], f"{seconds * 1000:.2f}", "" if name == "local" else f"{above:.2f}", verdict)


def _measure_peer(section: Section, title: str, environment: Environment, rounds: int) -> None:
    if environment.problem:
        section.add_failure(title, environment.problem)
        return
    progress(f"mesh: {title}")
    module = f"benchmarks.clients.mesh_{environment.name.partition('-')[0]}"
    try:
        if environment.name == "celery":
            command = [shutil.which("redis-server") or "redis-server", "--bind", "127.0.0.1", "--dir", "{folder}"]
            with _serve([*command, "--appendonly", "yes", "--port", "{port}"]) as port:
                seconds = _ask(environment, [module, str(rounds), f"redis://127.0.0.1:{port}/0"])
        else:
            seconds = _ask(environment, [module, str(rounds)])
    except ChildError as error:
        section.add_failure(title, str(error))
        return
    section.raw[title] = seconds
    section.add(title, f"{seconds * 1000:.2f}")


def _ask(environment: Environment, arguments: list[str]) -> Any:  # noqa: ANN401  (it is JSON)
    return json_from(environment.python, ["-m", *arguments], timeout=300)


@contextmanager
def _serve(command: list[str]) -> Iterator[int]:
    """Run a broker on a free port of loopback, and yield the port once it accepts connections.

    Raises:
        ChildError: when it is not installed, or has not started.
    """
    with socket.socket() as probe, tempfile.TemporaryDirectory() as folder:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        filled = [part.format(port=port, folder=folder) for part in command]
        try:
            broker = subprocess.Popen(filled, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except OSError as error:
            raise ChildError(f"{Path(command[0]).name} is not installed") from error
        try:
            _wait_for(port, Path(command[0]).name)
            yield port
        finally:
            broker.kill()
            broker.wait()


def _wait_for(port: int, name: str) -> None:
    ends_at = time.monotonic() + 30
    while time.monotonic() < ends_at:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise ChildError(f"{name} has not started")
