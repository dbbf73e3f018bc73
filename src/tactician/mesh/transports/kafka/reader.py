"""Readers of Kafka: a thread each, which polls a consumer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from threading import Event, Thread
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from tactician.clock import SYSTEM_CLOCK, Timeout
from tactician.loggers import get_logger
from tactician.mesh.transports.kafka.options import CONSUMER
from tactician.mesh.transports.transport import TransportError

Take = Callable[[list[Message]], Awaitable[None]]
_POLL: Final = 0.1
_BATCH: Final = 50
_CONNECT: Final = 5.0
_PAUSE: Final = 0.2
_logger = get_logger(__name__)


class KafkaReader:
    """Reader of records, each of which is taken before the next are read.

    Args:
        options: options of all clients.
        group: group of consumers, which share the records, and whose place Kafka keeps.
        topic: name of the topic.
        partitions: partitions to read from now on, without a group; all of the group's share, when it is `None`.
        since: time of the first record, in seconds since the epoch; what is sent from now on, by default.
        take: takes records; it is called again with the same when it raises a `TransportError`.
    """

    def __init__(
        self,
        options: Mapping[str, str | int],
        group: str,
        topic: str,
        take: Take,
        partitions: Sequence[int] | None = None,
        since: float | None = None,
    ) -> None:
        self._options = {**options, **CONSUMER, "group.id": group, "error_cb": lambda _: None}
        self._topic = topic
        self._partitions = partitions
        self._since = since
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._is_ready = asyncio.Event()
        self._is_stopped = Event()
        self._thread = Thread(target=self._run, name="tactician-kafka-reader", daemon=True)

    async def start(self) -> None:
        """Start, and wait until no record is missed that is sent from then on.

        Raises:
            TransportError: when no broker answers.
        """
        self._thread.start()
        try:
            with Timeout(2 * _CONNECT, SYSTEM_CLOCK):
                await self._is_ready.wait()
        except TimeoutError:
            raise TransportError(f"Kafka does not tell the end of {self._topic}.") from None

    async def stop(self) -> None:
        """Stop."""
        self._is_stopped.set()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        consumer = Consumer(self._options, logger=_logger)
        try:
            while not self._begin(consumer) and not self._is_stopped.wait(_PAUSE):
                pass
            self._loop.call_soon_threadsafe(self._is_ready.set)
            while not self._is_stopped.is_set():
                if messages := _poll(consumer):
                    self._hand_over(messages)
                    self._commit(consumer, messages)
        finally:
            consumer.close()

    def _begin(self, consumer: Consumer) -> bool:
        """Begin to read, and return whether a broker has answered."""
        if self._partitions is None:
            consumer.subscribe([self._topic])
            return True
        try:
            places = [TopicPartition(self._topic, partition) for partition in self._partitions]
            if self._since is not None:
                moments = [TopicPartition(place.topic, place.partition, int(self._since * 1000)) for place in places]
                places = consumer.offsets_for_times(moments, timeout=_CONNECT)
            for place in places:
                if self._since is None or place.offset < 0:  # nothing is as new
                    _, place.offset = consumer.get_watermark_offsets(place, timeout=_CONNECT)
            consumer.assign(places)
        except (KafkaException, TypeError):  # it returns None when no broker answers
            return False
        return True

    def _hand_over(self, messages: list[Message]) -> None:
        while not self._is_stopped.is_set():
            taking = asyncio.run_coroutine_threadsafe(_call(self._take, messages), self._loop)
            try:
                taking.result()
                return
            except TransportError as error:
                _logger.warning("Records of %s are taken later: %s", self._topic, error)
            self._is_stopped.wait(_PAUSE)

    def _commit(self, consumer: Consumer, messages: list[Message]) -> None:
        """Keep the place in the group, unless the thread was stopped: then it is not certain what was taken."""
        if self._partitions is not None or self._is_stopped.is_set():
            return
        ends = {message.partition() or 0: (message.offset() or 0) + 1 for message in messages}
        places = [TopicPartition(self._topic, partition, offset) for partition, offset in ends.items()]
        with suppress(KafkaException):  # another instance reads them again, and the store has them already
            consumer.commit(offsets=places, asynchronous=False)


def _poll(consumer: Consumer) -> list[Message]:
    """Return the records that are there; a batch of the client waits until it is full, so the first is polled."""
    first = consumer.poll(_POLL)
    if first is None:
        return []
    return [message for message in (first, *consumer.consume(_BATCH, 0)) if message.error() is None]


async def _call(take: Take, messages: list[Message]) -> None:
    await take(messages)
