"""Brokers that are full, and messages that are too large, not valid, or of another version of the protocol."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from nats.aio.client import Client
from nats.js import api
from redis.asyncio import Redis

from tactician import MemoryStore, Platform, runnable
from tactician.mesh import Mesh, Node
from tactician.mesh.messages.codec import MessageCodec
from tactician.mesh.messages.requests import MeshRequest
from tactician.mesh.transports.addresses import open_transport
from tactician.mesh.transports.transport import TransportError
from tactician.testing import ScriptedModel
from tests.mesh.conformance import take
from tests.support.brokers import Broker, nats_server

HOSTILE = (b"", b"\xff\xfe\x00", b"{}", b"[" * 5_000, b'{"specversion": "1.0"}', b"null", b'{"a": 1e999}')


@runnable
async def prepare(order: str) -> str:
    """Prepare a meal."""
    return f"{order}, ready"


async def test_a_node_survives_hostile_messages_and_tells_another_version_of_the_protocol(url: str, realm: str) -> None:
    async with Mesh(url, realm=realm, name="kitchen") as own, Mesh(url, realm=realm, name="guest") as mesh:
        node = Node("kitchen", Platform(ScriptedModel(), store=MemoryStore()), own)
        node.offer(prepare)
        await node.start()
        for body in HOSTILE:
            for queue in (node.queue, own.reply_queue):
                with suppress(TransportError):  # a broker may refuse it
                    await mesh.transport.send(queue, body)
        request = MeshRequest(id=realm, sender="guest", capability="prepare", input="x", reply_to=mesh.reply_queue)
        with mesh.calls.listen(realm) as call:
            event = json.loads(MessageCodec("guest").encode(request))
            event["type"], event["data"]["colour"] = "tactician.request.v2", "of the next version"
            await mesh.transport.send(node.queue, json.dumps(event).encode())
            await call.is_answered.wait()
            assert call.reply is not None
            assert call.reply.rejection is not None
            assert (call.reply.rejection.reason, "v2" in call.reply.rejection.message) == ("unsupported_version", True)

        event["type"] = "tactician.request.v1"
        with mesh.calls.listen(realm) as call:
            await mesh.transport.send(node.queue, json.dumps(event).encode())
            await call.is_answered.wait()
            assert call.reply is not None
            assert call.reply.output == "x, ready", "unknown fields are ignored"
        await node.drain()


async def test_a_message_that_is_too_large_leaves_the_queue_as_it_was(url: str, realm: str) -> None:
    transport = open_transport(url, store=MemoryStore())
    await transport.open()
    too_large, is_taken = b"x" * 9_000_000, True
    try:
        await transport.send(realm, too_large)
    except TransportError:
        is_taken = False
    await transport.send(realm, b"{}")

    bodies = [message.body for message in await take(transport, realm, 2 if is_taken else 1)]

    assert bodies == ([too_large, b"{}"] if is_taken else [b"{}"])
    await transport.aclose()


async def test_a_full_stream_of_nats_refuses_and_keeps_what_it_has() -> None:
    with nats_server() as broker:
        client = Client()
        await client.connect(broker.url)
        stream = api.StreamConfig(
            name="TACTICIAN",
            subjects=["tactician.queue.>"],
            retention=api.RetentionPolicy.WORK_QUEUE,
            discard=api.DiscardPolicy.NEW,
            max_msgs=1,
        )
        await client.jetstream().add_stream(stream)
        await client.close()
        await check_that_a_full_broker_refuses(broker.url)


async def test_a_full_redis_refuses_and_keeps_what_it_has(redis_broker: Broker) -> None:
    transport = open_transport(redis_broker.url)
    await transport.open()
    await transport.send("full", b"1")
    async with Redis.from_url(redis_broker.url) as client:
        await client.config_set("maxmemory", "1")
        with pytest.raises(TransportError) as refusal:
            await transport.send("full", b"2")
        assert refusal.value.is_full
        await client.config_set("maxmemory", "0")
    (message,) = await take(transport, "full")
    assert message.body == b"1"
    await transport.acknowledge(message)
    await transport.aclose()


async def check_that_a_full_broker_refuses(url: str) -> None:
    transport = open_transport(url)
    await transport.open()
    await transport.send("full", b"1")
    with pytest.raises(TransportError) as refusal:
        await transport.send("full", b"2")
    assert refusal.value.is_full
    (message,) = await take(transport, "full")
    assert message.body == b"1"
    await transport.acknowledge(message)
    await transport.send("full", b"3")
    await transport.aclose()
