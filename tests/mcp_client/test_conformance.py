"""MCP's conformance suite, client scenarios, with a small program made of `McpServer`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.effort import EFFORT
from tests.support.npm import CONFORMANCE, find_npm_program

ROOT = Path(__file__).parents[2]
REVISIONS = ("2025-11-25", "2026-07-28")


@pytest.mark.soak
@pytest.mark.skipif(EFFORT == 1, reason="the suite is part of `make soak`")
@pytest.mark.parametrize("revision", REVISIONS)
def test_the_client_scenarios_of_the_suite(revision: str) -> None:
    """docs/decisions has the list of what passes."""
    suite = find_npm_program("conformance", CONFORMANCE)
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(suite.parent), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
    }
    program = f"{sys.executable} -m tests.mcp_client.conformance_client"
    options = ("--suite", "all", "--spec-version", revision, "--timeout", "900000")
    done = subprocess.run(
        (str(suite), "client", "--command", program, *options),
        capture_output=True,
        text=True,
        env=environment,
        timeout=1_800,
    )
    print(done.stdout[-4000:])
    failed = set(re.findall(r"^✗ ([\w/.-]+):", done.stdout, re.MULTILINE))
    passed = set(re.findall(r"^✓ ([\w/.-]+):", done.stdout, re.MULTILINE))
    assert len(passed) > 15
    assert failed == set()
