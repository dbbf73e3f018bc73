"""The transports over which requests are tried, each with its real broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.stores import postgres
from tests.stores.postgres import free_port
from tests.support.brokers import Broker, nats_server, redis_server

TRANSPORTS = ("memory", "ws", "sqlite", "postgresql", "nats", "redis")


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with postgres.running(postgres.installed()) as server:
        yield f"postgresql://{server.address}/postgres"


@pytest.fixture(scope="session")
def nats_broker() -> Iterator[Broker]:
    with nats_server() as broker:
        yield broker


@pytest.fixture(scope="session")
def redis_broker() -> Iterator[Broker]:
    with redis_server() as broker:
        yield broker


@pytest.fixture
def realm() -> str:
    """Realm of a test, whose queues no other test has."""
    return f"realm-{uuid4().hex[:8]}"


@pytest.fixture(params=TRANSPORTS)
def url(request: pytest.FixtureRequest, tmp_path: Path, realm: str) -> str:
    """Address of each transport in turn."""
    match request.param:
        case "memory":
            return f"memory://{realm}"
        case "ws":
            return ",".join(f"ws://127.0.0.1:{free_port()}" for _ in range(2))
        case "sqlite":
            return f"sqlite:///{tmp_path}/mesh.db"
        case "postgresql":
            return str(request.getfixturevalue("postgres_url"))
    broker: Broker = request.getfixturevalue(f"{request.param}_broker")
    return broker.url
