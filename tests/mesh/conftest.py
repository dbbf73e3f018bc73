"""The transports over which requests are tried, each with its real broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.stores import postgres
from tests.stores.postgres import free_port
from tests.support.brokers import Broker, kafka_server, nats_server, redis_server, sqs_server

TRANSPORTS = ("memory", "ws", "sqlite", "postgresql", "nats", "redis", "kafka", "sqs")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    with postgres.running(postgres.installed()) as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: postgres.Server) -> str:
    return postgres_server.url


@pytest.fixture(scope="session")
def nats_broker() -> Iterator[Broker]:
    with nats_server() as broker:
        yield broker


@pytest.fixture(scope="session")
def redis_broker() -> Iterator[Broker]:
    with redis_server() as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka_broker() -> Iterator[Broker]:
    with kafka_server() as broker:
        yield broker


@pytest.fixture(scope="session")
def sqs_broker() -> Iterator[Broker]:
    with sqs_server() as broker:
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
