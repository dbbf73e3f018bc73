"""Direct connections between programs: who may connect, what is refused, and what a disconnect leaves."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import aiohttp
import pytest

from tactician import MemoryStore, Platform, runnable
from tactician.errors import ConfigurationError
from tactician.mesh import Mesh, Node
from tactician.mesh.messages.signing import MessageSigner
from tactician.mesh.transports.addresses import open_transport
from tactician.mesh.transports.transport import Transport, TransportError
from tactician.testing import FakeClock, ScriptedModel
from tests.mesh.conformance import take
from tests.mesh.test_transports import open_connected
from tests.stores.postgres import free_port
from tests.support.waiting import eventually

KEY, OTHER = "k" * 32, "o" * 32


@pytest.fixture
def address() -> str:
    return f"ws://127.0.0.1:{free_port()},ws://127.0.0.1:{free_port()}"


@pytest.fixture
async def listening(address: str) -> AsyncIterator[Transport]:
    """A program that listens, and has a key."""
    transport = open_transport(address, keys=[KEY])
    await transport.open()
    await transport.receive("kitchen", limit=1, lease=1, wait=0)
    yield transport
    await transport.aclose()


@pytest.mark.parametrize("url", ["ws://10.0.0.1:7000", "ws://127.0.0.1:1?listen=0.0.0.0:1", "ws://kitchen:7000"])
def test_other_machines_need_a_key(url: str) -> None:
    with pytest.raises(ConfigurationError, match="needs a mesh key"):
        Mesh(url)
    Mesh(url, key=KEY)


@pytest.mark.parametrize("url", ["ws://", "ws://kitchen", "ws://a:b@127.0.0.1:1", "ws://127.0.0.1:x", "ws://h:1/path"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="has the form ws://host:port"):
        Mesh(url, key=KEY)


@pytest.mark.parametrize("keys", [([KEY], [OTHER, KEY]), ([KEY, OTHER], [KEY]), ([KEY, OTHER], [OTHER])])
async def test_a_key_may_be_changed_one_program_after_the_other(
    address: str, keys: tuple[list[str], list[str]]
) -> None:
    async with open_connected(*(open_transport(address, keys=each) for each in keys)):
        pass


@pytest.mark.parametrize("keys", [(), (OTHER,)])
async def test_a_program_with_another_key_gets_nothing(
    listening: Transport, address: str, keys: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    stranger = open_transport(address, keys=keys)
    await stranger.open()
    await listening.send("kitchen", b"secret")

    assert await stranger.receive("kitchen", limit=1, lease=1, wait=0.3) == []
    await stranger.aclose()

    assert "A connection was refused" in caplog.text
    assert KEY not in caplog.text


async def test_a_page_in_a_browser_is_refused(listening: Transport, address: str) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
            await session.ws_connect(_write_url(address), headers={"Origin": "http://127.0.0.1"})
    assert refusal.value.status == 403


def _write_url(address: str) -> str:
    return address.partition(",")[0].replace("ws:", "http:")


HELLOS = {
    "no JSON": b"\xff\x00 hello",
    "another version": json.dumps({"protocol": 2, "id": "x", "nonce": "n"}).encode(),
    "no id": json.dumps({"protocol": 1, "nonce": "n"}).encode(),
    "a long id": json.dumps({"protocol": 1, "id": "x" * 1000, "nonce": "n"}).encode(),
    "a number as id": json.dumps({"protocol": 1, "id": 7, "nonce": "n"}).encode(),
    "deep": b'{"a":' * 1000 + b"1" + b"}" * 1000,
    "too large": b"x" * 2_000_000,
}


@pytest.mark.parametrize("hello", HELLOS.values(), ids=HELLOS)
async def test_a_hello_that_is_none_ends_the_connection(listening: Transport, address: str, hello: bytes) -> None:
    async with aiohttp.ClientSession() as session, session.ws_connect(_write_url(address)) as socket:
        await socket.receive()
        await socket.send_bytes(hello)
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
    await listening.send("kitchen", b"1")
    assert (await take(listening, "kitchen"))[0].body == b"1"


@pytest.mark.parametrize("role", ["caller", "listener"])
async def test_an_answer_to_another_hello_is_refused(listening: Transport, address: str, role: str) -> None:
    async with aiohttp.ClientSession() as session, session.ws_connect(_write_url(address)) as socket:
        hello = json.loads((await socket.receive()).data)
        await socket.send_bytes(json.dumps({"protocol": 1, "id": "x", "nonce": "n"}).encode())
        nonce = "of an earlier hello" if role == "caller" else hello["nonce"]
        proof = {"role": role, "from": "x", "to": hello["id"], "nonce": nonce}
        MessageSigner([KEY]).sign(proof)
        await socket.receive()
        await socket.send_bytes(json.dumps(proof).encode())
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE


FRAMES = {
    "no header": b"take",
    "no JSON": b"{\n",
    "an unknown kind": b'{"kind": "drop"}\n',
    "negative": b'{"kind": "take", "name": "kitchen", "seconds": -1}\n',
    "endless": b'{"kind": "take", "name": "kitchen", "seconds": 1e99}\n',
    "a long name": json.dumps({"kind": "take", "name": "x" * 2000}).encode() + b"\n",
    "too large": b'{"kind": "topic", "name": "x"}\n' + b"x" * 2_000_000,
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
async def test_a_frame_that_is_none_ends_the_connection(listening: Transport, address: str, frame: bytes) -> None:
    async with aiohttp.ClientSession() as session, session.ws_connect(_write_url(address)) as socket:
        hello = json.loads((await socket.receive()).data)
        await socket.send_bytes(json.dumps({"protocol": 1, "id": "x", "nonce": "n"}).encode())
        proof = {"role": "caller", "from": "x", "to": hello["id"], "nonce": hello["nonce"]}
        MessageSigner([KEY]).sign(proof)
        await socket.send_bytes(json.dumps(proof).encode())
        await socket.receive()
        await socket.send_bytes(b'{"kind": "acknowledge", "receipt": 7, "call": 1}\n')
        assert (await socket.receive()).data == b'{"kind":"answer","call":1}\n', "nothing was leased"
        await socket.send_bytes(frame)
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
    await listening.send("kitchen", b"1")
    assert (await take(listening, "kitchen"))[0].body == b"1"


async def test_a_node_without_a_free_address_says_so(listening: Transport, address: str) -> None:
    transport = open_transport(address.partition(",")[0], keys=[KEY])
    await transport.open()
    with pytest.raises(TransportError, match=r"\?listen="):
        await transport.receive("kitchen", limit=1, lease=1, wait=0)
    await transport.aclose()


async def test_a_message_waits_for_a_node_that_comes_back(listening: Transport, address: str) -> None:
    first = open_transport(address, keys=[KEY])
    await first.open()
    await listening.send("bar", b"1")
    await take(first, "bar", lease=0.2)
    await first.aclose()
    again = open_transport(address, keys=[KEY])
    await again.open()
    (message,) = await take(again, "bar")
    assert message.body == b"1"
    await again.acknowledge(message)
    await again.aclose()


async def test_30_two_nodes_over_real_sockets_discover_each_other_and_forget_who_is_disconnected(address: str) -> None:
    clock = FakeClock()

    @runnable
    async def work(text: str) -> str:
        return text

    def create(name: str) -> tuple[Mesh, Node]:
        mesh = Mesh(address, key=KEY, name=name, clock=clock)
        node = Node(name, Platform(ScriptedModel(), store=MemoryStore(clock=clock), clock=clock), mesh)
        node.offer(work, name=f"work-of-{name}")
        return mesh, node

    (kitchen_mesh, kitchen), (bar_mesh, bar) = create("kitchen"), create("bar")
    async with kitchen_mesh, kitchen:
        await bar.start()
        await eventually(lambda: _list_names(kitchen_mesh) == _list_names(bar_mesh) == {"kitchen", "bar"})

        await bar_mesh.aclose()
        clock.advance(31)
        await eventually(lambda: _list_names(kitchen_mesh) == {"kitchen"})
        await bar.drain()


def _list_names(mesh: Mesh) -> set[str]:
    return {card.node for card in mesh.directory.list_cards()}
