"""MCP's conformance suite, server scenarios, against agents and tools that are published."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.serve.mcp.conformance_server import publisher
from tests.serve.mcp.kitchen import ERAS, Era, connect, read
from tests.support.effort import EFFORT
from tests.support.npm import CONFORMANCE, find_npm_program

FOLDER = Path(__file__).parent
EXPECTED: dict[str, dict[str, str]] = yaml.safe_load((FOLDER / "expected_failures.yml").read_text(encoding="utf-8"))
LEAST = {"2025-03-26": 1, "2025-06-18": 25, "2025-11-25": 30, "2026-07-28": 30}
"""Scenarios that each revision has at least."""
TASKS = ("lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "mrtr-input", "request-headers")
MORE_TASKS = ("dispatch-and-envelope", "status-notifications", "required-task-error", "mrtr-composition")
PASSED = ("SUCCESS", "INFO", "SKIPPED", "WARNING")


@pytest.mark.parametrize("era", ERAS)
async def test_the_server_has_what_the_suite_calls(era: Era) -> None:
    async with connect(publisher, era) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"test_simple_text", "test_elicitation", "json_schema_2020_12_tool", "test_tool_with_progress"} <= names
        assert read(await client.call_tool("test_error_handling", {})).startswith("This tool intentionally")
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert {"test_simple_prompt", "test_prompt_with_arguments"} <= prompts


def test_each_expected_failure_has_a_reason() -> None:
    assert set(EXPECTED) == {"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
    assert all(len(reason.split()) > 2 for failures in EXPECTED.values() for reason in failures.values())


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = f"from tactician.cli import main; import sys; sys.argv = {_arguments(port)!r}; main()"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL, env={**os.environ}) as server:
        try:
            _wait_until_it_listens(port)
            yield f"http://localhost:{port}/mcp"
        finally:
            server.terminate()


@pytest.mark.soak
@pytest.mark.skipif(EFFORT == 1, reason="the suite is part of `make soak`")
@pytest.mark.parametrize("revision", list(EXPECTED))
def test_all_other_scenarios_pass(address: str, revision: str, tmp_path: Path) -> None:
    results = _run_suite(address, tmp_path, "--suite", "all", "--spec-version", revision)
    assert len(results) >= LEAST[revision]
    failed = {name for name, checks in results.items() if any(one["status"] not in PASSED for one in checks)}
    assert {_name_scenario(name) for name in failed} == set(EXPECTED[revision])


@pytest.mark.soak
@pytest.mark.skipif(EFFORT == 1, reason="the suite is part of `make soak`")
@pytest.mark.parametrize("scenario", [*TASKS, *MORE_TASKS])
def test_the_tasks_extension(address: str, scenario: str, tmp_path: Path) -> None:
    (checks,) = _run_suite(address, tmp_path, "--scenario", f"tasks-{scenario}").values()
    assert [check for check in checks if check["status"] not in PASSED] == []


def _run_suite(address: str, folder: Path, *options: str) -> dict[str, list[dict[str, str]]]:
    """Return the checks of each scenario."""
    suite = find_npm_program("conformance", CONFORMANCE)
    path = os.pathsep.join([str(suite.parent), os.environ["PATH"]])
    command = [str(suite), "server", "--url", address, *options, "-o", str(folder)]
    subprocess.run(command, check=False, capture_output=True, timeout=300, env={**os.environ, "PATH": path})
    return {file.parent.name: json.loads(file.read_text(encoding="utf-8")) for file in folder.rglob("checks.json")}


def _arguments(port: int) -> list[str]:
    return ["tactician", "mcp", "serve", str(FOLDER / "conformance_server.py"), "--http", str(port)]


def _name_scenario(folder: str) -> str:
    """`server-tools-list-2026-11-23T00-29-04-123Z` is of `tools-list`."""
    return folder.removeprefix("server-")[: -len("-2026-11-23T00-29-04-123Z")]


def _wait_until_it_listens(port: int) -> None:
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("the server does not listen")
