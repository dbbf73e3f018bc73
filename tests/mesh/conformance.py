"""Tests that every transport passes. A subclass says which transport it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest

from tactician.clock import SYSTEM_CLOCK
from tactician.mesh.transports.transport import PRIVATE, LeasedMessage, Transport, TransportError, escape_name

LEASE = 30.0
WAIT = 10.0
SHORT = 1.0
"""Seconds of a lease that a test lets pass."""
NAMES = ("kitchen", "downtown/küche", "a.*.>", "x y;'\"$(id)", "K" * 100)


async def take(transport: Transport, queue: str, count: int = 1, lease: float = LEASE) -> list[LeasedMessage]:
    """Receive so many messages."""
    taken: list[LeasedMessage] = []
    while len(taken) < count:
        messages = await transport.receive(queue, limit=count - len(taken), lease=lease, wait=WAIT)
        assert messages, f"{len(taken)} of {count} messages came"
        taken += messages
    return taken


async def is_empty(transport: Transport, queue: str) -> bool:
    return await transport.receive(queue, limit=1, lease=LEASE, wait=0.1) == []


class TransportConformance:
    @pytest.fixture
    def opened(self) -> Callable[[], Transport]:
        """Return a transport to the same broker, as another machine would."""
        raise NotImplementedError

    @pytest.fixture
    async def transports(self, opened: Callable[[], Transport]) -> AsyncIterator[list[Transport]]:
        async with AsyncExitStack() as stack:
            opening = [opened() for _ in range(2)]
            for transport in opening:
                await transport.open()
                stack.push_async_callback(transport.aclose)
            yield opening

    @pytest.fixture
    def sender(self, transports: list[Transport]) -> Transport:
        return transports[0]

    @pytest.fixture
    def receiver(self, transports: list[Transport]) -> Transport:
        return transports[1]

    @pytest.fixture
    def queue(self, request: pytest.FixtureRequest) -> str:
        """Name of a queue of this test."""
        return f"queue-{request.node.name}"

    async def test_a_message_waits_for_its_receiver_and_is_gone_when_acknowledged(
        self, sender: Transport, receiver: Transport, queue: str
    ) -> None:
        body = bytes(range(256)) + "Grüße 🐸".encode()
        await sender.send(queue, body)

        (message,) = await take(receiver, queue)

        assert (message.body, message.queue) == (body, queue)
        assert await is_empty(sender, queue)
        await receiver.acknowledge(message)
        assert await is_empty(sender, queue)

    async def test_a_receiver_who_waits_gets_a_message_at_once(
        self, sender: Transport, receiver: Transport, queue: str
    ) -> None:
        waiting = asyncio.create_task(receiver.receive(queue, limit=5, lease=LEASE, wait=WAIT))
        await asyncio.sleep(0)

        await sender.send(queue, b"1")

        assert [message.body for message in await waiting] == [b"1"]

    @pytest.mark.parametrize("name", NAMES)
    async def test_a_queue_may_have_any_name(self, sender: Transport, receiver: Transport, name: str) -> None:
        await sender.send(name, name.encode())
        await sender.send(f"{name}2", b"of another queue")

        (message,) = await take(receiver, name)

        assert message.body == name.encode()
        await receiver.acknowledge(message)
        assert await is_empty(receiver, name)

    async def test_a_message_may_have_a_million_bytes(self, sender: Transport, receiver: Transport, queue: str) -> None:
        body = b"x" * 1_000_000
        await sender.send(queue, body)

        (message,) = await take(receiver, queue)

        assert message.body == body
        await receiver.acknowledge(message)

    async def test_of_several_receivers_each_message_goes_to_one(
        self, sender: Transport, receiver: Transport, queue: str
    ) -> None:
        bodies = [f"{number}".encode() for number in range(20)]
        for body in bodies:
            await sender.send(queue, body)
        taken: list[bytes] = []

        async def work(transport: Transport) -> None:
            while len(taken) < len(bodies):
                for message in await transport.receive(queue, limit=1, lease=LEASE, wait=0.2):
                    taken.append(message.body)
                    await transport.acknowledge(message)

        await asyncio.gather(work(sender), work(receiver))

        assert sorted(taken, key=int) == bodies

    async def test_a_message_whose_receiver_has_died_is_delivered_again(
        self, sender: Transport, receiver: Transport, queue: str
    ) -> None:
        await sender.send(queue, b"1")
        (first,) = await take(receiver, queue, lease=SHORT)

        (second,) = await take(sender, queue, lease=SHORT)

        assert second.body == first.body
        await sender.acknowledge(second)
        assert await is_empty(receiver, queue)

    async def test_a_lease_that_is_extended_does_not_end(
        self, sender: Transport, receiver: Transport, queue: str
    ) -> None:
        await sender.send(queue, b"1")
        (message,) = await take(receiver, queue, lease=SHORT)
        for _ in range(3):
            assert await sender.receive(queue, limit=1, lease=SHORT, wait=SHORT / 2) == []
            await receiver.extend(message, SHORT)

        await receiver.acknowledge(message)

        assert await is_empty(sender, queue)

    async def test_a_message_that_is_released_comes_again_after_its_delay(
        self, sender: Transport, receiver: Transport, queue: str
    ) -> None:
        await sender.send(queue, b"1")
        (message,) = await take(receiver, queue)

        await receiver.release(message)
        (message,) = await take(sender, queue)
        await sender.release(message, 0.4)

        assert await is_empty(receiver, queue)
        (message,) = await take(receiver, queue)
        assert message.body == b"1"
        await receiver.acknowledge(message)

    async def test_a_private_queue_is_that_of_its_process(
        self, sender: Transport, receiver: Transport, queue: str
    ) -> None:
        private = f"{PRIVATE}{queue}"
        assert await receiver.receive(private, limit=1, lease=LEASE, wait=0.01) == []

        await sender.send(private, b"1")
        (message,) = await take(receiver, private)

        assert message.body == b"1"
        await receiver.acknowledge(message)
        assert await is_empty(receiver, private)

    async def test_a_topic_reaches_all_who_have_subscribed(self, sender: Transport, receiver: Transport) -> None:
        if not sender.has_topics:
            with pytest.raises(TransportError, match="has no topics"):
                await sender.publish("hotel.bar", b"")
            return
        async with (
            receiver.subscribe("hotel.*") as part,
            receiver.subscribe("hotel.>") as everything,
            sender.subscribe("hotel.küche") as exact,
        ):
            for topic in ("hotel.bar", "hotel.küche", "hotel.küche.stock", "motel.bar", "hotel"):
                await sender.publish(topic, topic.encode())

            assert [(await anext(part)).decode() for _ in range(2)] == ["hotel.bar", "hotel.küche"]
            assert [(await anext(everything)).decode() for _ in range(3)][2] == "hotel.küche.stock"
            assert (await anext(exact)).decode() == "hotel.küche"

    async def test_what_was_published_while_a_subscriber_was_away_comes_first(
        self, sender: Transport, receiver: Transport, queue: str
    ) -> None:
        if not sender.has_topics:
            return
        topic = f"{escape_name(queue)}.a"
        await sender.publish(topic, b"1")
        await asyncio.sleep(0.01)
        since = SYSTEM_CLOCK.time()
        await asyncio.sleep(0.01)
        await sender.publish(topic, b"2")
        await sender.publish(f"{topic}.other", b"x")

        bodies = list[bytes]()
        async with receiver.subscribe(f"{escape_name(queue)}.*", since) as messages:
            await sender.publish(topic, b"3")
            while not {b"2", b"3"} <= {*bodies}:  # at least once, and in any order when others keep them
                bodies.append(await anext(messages))

        assert {*bodies} == {b"2", b"3"}

    async def test_of_many_who_claim_a_key_one_has_it(self, transports: list[Transport], queue: str) -> None:
        if not transports[0].has_claims:
            with pytest.raises(TransportError, match="has no claims"):
                await transports[0].claim(queue, 60)
            return
        claims = await asyncio.gather(*(transports[number % 2].claim(queue, 60) for number in range(10)))

        assert sorted(claims) == [False] * 9 + [True]
        assert await transports[0].claim(f"{queue}/other", 60)


class UnreachableBroker:
    """Tests of a transport whose broker is not there. A subclass says which address that is, with a password."""

    @pytest.fixture
    def absent(self) -> Transport:
        raise NotImplementedError

    async def test_an_absent_broker_is_named_without_its_password(self, absent: Transport) -> None:
        with pytest.raises(TransportError, match=r"127\.0\.0\.1") as failure:
            await absent.open()
        await absent.aclose()

        shown = f"{failure.value} {absent.label} {absent!r} {failure.value.__cause__!r}"
        assert "hunter2secret" not in shown
