"""Sender of records to Kafka, whose thread waits for the acknowledgements."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from threading import Event, Thread
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tactician.loggers import get_logger
from tactician.mesh.transports.kafka.options import PRODUCER
from tactician.mesh.transports.transport import TransportError
from tactician.secrets import mask_secrets

_POLL: Final = 0.1
_CONNECT: Final = 3.0
_FULL: Final = (KafkaError._QUEUE_FULL, KafkaError.KAFKA_STORAGE_ERROR, KafkaError.POLICY_VIOLATION)
_logger = get_logger(__name__)


class KafkaSender:
    """Sender of records.

    Args:
        options: options of all clients.
        label: the address without credentials.
    """

    def __init__(self, options: Mapping[str, str | int], label: str) -> None:
        self._label = label
        self._options: dict[str, Any] = {**options, "error_cb": self._note}
        self._producer: Producer | None = None
        self._is_stopped = Event()
        self._thread: Thread | None = None
        self._partitions: dict[str, int] = {}

    async def open(self) -> None:
        """Connect.

        Raises:
            TransportError: when no broker answers.
        """
        try:
            self._producer = Producer({**self._options, **PRODUCER}, logger=_logger)
            await asyncio.to_thread(self._producer.list_topics, timeout=_CONNECT)
        except KafkaException as error:
            raise explain(self._label, error.args[0]) from error
        self._is_stopped.clear()
        self._thread = Thread(target=self._poll, name="tactician-kafka-sender", daemon=True)
        self._thread.start()

    async def aclose(self) -> None:
        """Stop."""
        self._is_stopped.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)
        self._producer = self._thread = None
        self._partitions.clear()

    def _poll(self) -> None:
        producer = self._connected
        while not self._is_stopped.is_set():
            producer.poll(_POLL)

    async def find_partitions(self, topic: str, create: int = -1) -> int:
        """Return the number of partitions of a topic, which is created if it is absent.

        Args:
            topic: name of the topic.
            create: number of partitions then; as many as the brokers are configured for, by default.

        Raises:
            TransportError: when no broker answers.
        """
        if topic not in self._partitions:
            self._partitions[topic] = await asyncio.to_thread(self._create_topic, topic, create)
        return self._partitions[topic]

    def _create_topic(self, topic: str, partitions: int) -> int:
        admin = AdminClient(dict(self._options), logger=_logger)
        try:
            created = admin.create_topics([NewTopic(topic, partitions, -1)], operation_timeout=_CONNECT)
            try:
                created[topic].result(timeout=2 * _CONNECT)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
            return len(admin.list_topics(topic, timeout=_CONNECT).topics[topic].partitions) or 1
        except KafkaException as error:
            raise explain(self._label, error.args[0]) from error

    async def send(
        self, topic: str, body: bytes, *, key: str = "", partition: int = -1, headers: Mapping[str, bytes] | None = None
    ) -> None:
        """Send a record, and wait until all replicas that are in sync have it.

        Raises:
            TransportError: when they have not in time.
        """
        loop = asyncio.get_running_loop()
        sent: asyncio.Future[KafkaError | None] = loop.create_future()

        def conclude(error: KafkaError | None) -> None:
            if not sent.done():
                sent.set_result(error)

        def note(error: KafkaError | None, _: Message) -> None:
            loop.call_soon_threadsafe(conclude, error)

        try:
            self._connected.produce(topic, body, key.encode(), partition, on_delivery=note, headers=dict(headers or {}))
        except (BufferError, KafkaException) as error:
            raise TransportError(f"{self._label}: {error}", is_full=isinstance(error, BufferError)) from error
        if (failure := await sent) is not None:
            raise explain(self._label, failure)

    @property
    def _connected(self) -> Producer:
        if self._producer is None:
            raise TransportError(f"{self._label} is not open: use the mesh inside `async with mesh:`")
        return self._producer

    def _note(self, error: KafkaError) -> None:
        _logger.info("%s: %s", self._label, mask_secrets(error.str()))


def explain(label: str, error: KafkaError) -> TransportError:
    """Return the error of a transport for an error of Kafka."""
    return TransportError(f"{label}: {error.name()}: {mask_secrets(error.str())}", is_full=error.code() in _FULL)
