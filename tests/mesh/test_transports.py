"""The transports, each over its real broker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tactician import MemoryStore
from tactician.errors import ConfigurationError
from tactician.mesh.transports.addresses import hide_credentials, open_transport
from tactician.mesh.transports.transport import Transport
from tests.mesh.conformance import TransportConformance, UnreachableBroker, take
from tests.stores.postgres import free_port
from tests.support.brokers import Broker


@asynccontextmanager
async def open_connected(*transports: Transport) -> AsyncIterator[list[Transport]]:
    """Open transports without a broker, and wait until they are connected."""
    async with AsyncExitStack() as stack:
        for transport in transports:
            await transport.open()
            stack.push_async_callback(transport.aclose)
            await transport.receive("listens", limit=1, lease=1, wait=0)
        await transports[0].send("connected", b"")
        await transports[1].acknowledge((await take(transports[1], "connected"))[0])
        yield [*transports]


class RestartedBroker:
    """Tests of a broker that is killed. A subclass has a fixture `broker`."""

    async def test_a_message_survives_the_death_of_its_broker(
        self, transports: list[Transport], queue: str, broker: Broker
    ) -> None:
        await transports[0].send(queue, b"before")

        broker.kill()
        broker.start()

        (message,) = await take(transports[1], queue)
        assert message.body == b"before"
        await transports[1].acknowledge(message)
        await transports[0].send(queue, b"after")
        (message,) = await take(transports[1], queue)
        assert message.body == b"after"
        await transports[1].acknowledge(message)


class TestMemory(TransportConformance):
    @pytest.fixture
    def opened(self, queue: str) -> Callable[[], Transport]:
        return lambda: open_transport(f"memory://{queue}")


class TestWebSocket(TransportConformance):
    @pytest.fixture
    def opened(self) -> Callable[[], Transport]:
        url = ",".join(f"ws://127.0.0.1:{free_port()}" for _ in range(2))
        return lambda: open_transport(url)

    @pytest.fixture
    async def transports(self, opened: Callable[[], Transport]) -> AsyncIterator[list[Transport]]:
        async with open_connected(opened(), opened()) as transports:
            yield transports


class TestSqlite(TransportConformance):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Callable[[], Transport]:
        return lambda: open_transport(f"sqlite:///{tmp_path}/mesh.db")


class TestPostgres(TransportConformance, UnreachableBroker):
    @pytest.fixture
    def opened(self, postgres_url: str) -> Callable[[], Transport]:
        return lambda: open_transport(postgres_url)

    @pytest.fixture
    def absent(self) -> Transport:
        return open_transport("postgresql://somebody:hunter2secret@127.0.0.1:1/mesh")


class TestNats(TransportConformance, RestartedBroker, UnreachableBroker):
    @pytest.fixture
    def broker(self, nats_broker: Broker) -> Broker:
        return nats_broker

    @pytest.fixture
    def opened(self, broker: Broker) -> Callable[[], Transport]:
        return lambda: open_transport(broker.url)

    @pytest.fixture
    def absent(self) -> Transport:
        return open_transport("nats://somebody:hunter2secret@127.0.0.1:1")


class TestRedis(TransportConformance, RestartedBroker, UnreachableBroker):
    @pytest.fixture
    def broker(self, redis_broker: Broker) -> Broker:
        return redis_broker

    @pytest.fixture
    def opened(self, broker: Broker) -> Callable[[], Transport]:
        return lambda: open_transport(broker.url)

    @pytest.fixture
    def absent(self) -> Transport:
        return open_transport("redis://:hunter2secret@127.0.0.1:1")


class TestKafka(TransportConformance, RestartedBroker, UnreachableBroker):
    @pytest.fixture
    def broker(self, kafka_broker: Broker) -> Broker:
        return kafka_broker

    @pytest.fixture
    def opened(self, broker: Broker) -> Callable[[], Transport]:
        store = MemoryStore()
        return lambda: open_transport(broker.url, store=store)

    @pytest.fixture
    def absent(self) -> Transport:
        return open_transport("kafka://somebody:hunter2secret@127.0.0.1:1")


class TestSqs(TransportConformance, UnreachableBroker):
    @pytest.fixture
    def opened(self, sqs_broker: Broker) -> Callable[[], Transport]:
        return lambda: open_transport(sqs_broker.url)

    @pytest.fixture
    def absent(self) -> Transport:
        return open_transport("sqs://AKIA:hunter2secret@127.0.0.1:1/eu-west-1")


@pytest.mark.parametrize("url", ["kitchen", "natz://host", "http://user:hunter2secret@host", "", "://"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="is not the URL of a transport") as refusal:
        open_transport(url)
    assert "hunter2" not in str(refusal.value)


def test_credentials_are_hidden() -> None:
    shown = [hide_credentials(url) for url in ("nats://a:b@h1:1,nats://c:d@h2:2", "redis://:p@h/0?password=p", "x")]
    assert shown == ["nats://h1:1,nats://h2:2", "redis://h/0", "x"]
