"""Connections to agents of other programs: signatures, keys, private addresses and sizes."""

from __future__ import annotations

import asyncio
import gzip
import resource
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from pydantic_core import from_json, to_json

from tactician import Agent, Platform
from tactician.a2a import RemoteAgent, RemoteCardError, RemoteTaskError, RemoteUnavailableError
from tactician.errors import ConfigurationError
from tactician.llm import AssistantMessage, ModelResponse
from tactician.llm import ToolCall as CalledTool
from tactician.serve import A2aSettings, a2a_app
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.serve.a2a.serving import serve_a2a

Answer = Callable[[str, Mapping[str, str]], bytes]


def create_keys() -> tuple[str, str]:
    """Return a private key of the curve P-256, and its public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private.decode(), key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


@asynccontextmanager
async def serve_raw(answer: Answer, sent: list[bytes] | None = None, more: str = "") -> AsyncIterator[str]:
    """Serve a function from the path and the headers of a request to the JSON of the answer.

    What clients send is appended to `sent`. Answers have `more` headers.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        if sent is not None:
            sent.append(content)
        body = answer(first.split()[1], headers)
        start = f"HTTP/1.1 200 OK\r\n{more}content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        writer.write(f"{start}connection: close\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def create_card(url: str, **fields: object) -> bytes:
    interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    return to_json(
        {"name": "Raw", "description": "d", "version": "1", "supportedInterfaces": [interface], "skills": [], **fields}
    )


def create_reply(text: str) -> bytes:
    message = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": text}]}
    return to_json({"jsonrpc": "2.0", "id": 1, "result": {"message": message}})


async def test_the_signature_of_a_card_is_checked_when_a_key_is_given() -> None:
    private, public = create_keys()
    talker = Agent("Talker", model=ScriptedModel("hello"))
    async with Platform(ScriptedModel("-"), store=MemoryStore()) as platform:
        async with serve_a2a(platform, talker, settings=A2aSettings(signing_key=private)) as url:
            signed = await RemoteAgent.discover(url, verify_key=public)
            assert (await signed.run("hi")).output == "hello"
            with pytest.raises(RemoteCardError, match="no valid signature"):
                await RemoteAgent.discover(url, verify_key=create_keys()[1])
        async with serve_a2a(platform, talker) as url:
            with pytest.raises(RemoteCardError, match="no valid signature"):
                await RemoteAgent.discover(url, verify_key=public)


def test_a_signing_key_that_cannot_be_used_is_not_quoted() -> None:
    platform = Platform(ScriptedModel("-"), store=MemoryStore())
    settings = A2aSettings(signing_key="-----BEGIN my secret")
    assert "secret" not in repr(settings)
    with pytest.raises(ConfigurationError, match="P-256") as refused:
        a2a_app(platform, "http://localhost", publish=[Agent("A", model=ScriptedModel("x"))], settings=settings)
    assert "secret" not in str(refused.value)


async def test_keys_go_to_the_origin_that_the_program_names_only() -> None:
    seen: list[Mapping[str, str]] = []

    def elsewhere(path: str, headers: Mapping[str, str]) -> bytes:
        seen.append(headers)
        return create_reply("hello")

    async with serve_raw(elsewhere) as other:

        def card(path: str, headers: Mapping[str, str]) -> bytes:
            assert headers["authorization"] == "Bearer key"
            return create_card(other)

        async with serve_raw(card) as url:
            remote = await RemoteAgent.discover(url, headers={"Authorization": "Bearer key"}, allow_private=True)
            assert (await remote.run("hi")).output == "hello"
            assert "key" not in repr(remote)
    assert [headers.get("authorization") for headers in seen] == [None]


async def test_a_card_does_not_lead_to_a_private_address() -> None:
    async with serve_raw(lambda path, headers: create_reply("secret")) as other:
        for place in (other, other.replace("127.0.0.1", "localhost"), "http://169.254.169.254/latest"):

            def card(path: str, headers: Mapping[str, str], place: str = place) -> bytes:
                return create_card(place)

            async with serve_raw(card) as url:
                remote = await RemoteAgent.discover(url)
                with pytest.raises(RemoteUnavailableError, match=r"Raw .*private network"):
                    await remote.run("hi")


async def test_an_answer_that_is_too_long_is_not_read() -> None:
    def answer(path: str, headers: Mapping[str, str]) -> bytes:
        host = headers["host"]
        return create_card(f"http://{host}/") if path.endswith("card.json") else create_reply("x" * 100_000)

    async with serve_raw(answer) as url:
        remote = await RemoteAgent.discover(url, max_bytes=10_000)
        with pytest.raises((RemoteTaskError, RemoteUnavailableError), match=r"Raw .*longer than 10,000 bytes"):
            await remote.run("hi")


async def test_a_compressed_answer_is_refused() -> None:
    bomb = gzip.compress(b'{"name": "' + b"x" * 200_000_000 + b'"}', compresslevel=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with serve_raw(lambda path, headers: bomb, more="content-encoding: gzip\r\n") as url:
        with pytest.raises(RemoteUnavailableError, match="the response is compressed"):
            await RemoteAgent.discover(url)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes


async def test_a_server_without_streams_is_asked_again_until_it_is_done() -> None:
    states = ["SUBMITTED", "WORKING", "WORKING", "COMPLETED"]
    sent: list[bytes] = []

    def answer(path: str, headers: Mapping[str, str]) -> bytes:
        if path.endswith("card.json"):
            return create_card(f"http://{headers['host']}/")
        state = states.pop(0)
        artifacts = [{"artifactId": "a", "parts": [{"text": "done"}]}] if not states else []
        task = {
            "id": "t",
            "contextId": "c",
            "status": {"state": f"TASK_STATE_{state}"},
            "artifacts": artifacts,
        }
        is_first = state == "SUBMITTED"
        return to_json({"jsonrpc": "2.0", "id": 1, "result": {"task": task} if is_first else task})

    async with serve_raw(answer, sent) as url:
        remote = await RemoteAgent.discover(url)
        assert (await remote.run("hi")).output == "done"
    calls = [from_json(content) for content in sent if content]
    assert [call["method"] for call in calls] == ["SendMessage", *["GetTask"] * 3]
    assert calls[0]["params"]["configuration"]["returnImmediately"]


@pytest.mark.parametrize("body", [b"not json", b"[]", b'{"name": 7}', b'{"name": "N", "supportedInterfaces": []}'])
async def test_a_card_that_is_none_is_refused(body: bytes) -> None:
    async with serve_raw(lambda path, headers: body) as url:
        with pytest.raises((RemoteUnavailableError, RemoteCardError), match=url):
            await (await RemoteAgent.discover(url, name="Raw")).run("hi")


@pytest.mark.parametrize("url", ["ftp://host", "https://user:password@host", "nonsense"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(RemoteCardError, match="begins with http"):
        RemoteAgent(url, name="Remote")


async def test_a_card_that_drips_is_given_up_in_time() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n")
        with suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.02)
        writer.close()
        ended.set()

    ended = asyncio.Event()
    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    async with asyncio.timeout(10):
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(RemoteUnavailableError, match=rf"{url}.*did not come within 0.5 seconds"):
            await RemoteAgent.discover(url, timeout=0.5)
        await ended.wait()
    server.close()


async def test_a_name_on_a_card_commands_no_terminal() -> None:
    def answer(path: str, headers: Mapping[str, str]) -> bytes:
        skill = {"id": "s\x1b[2J", "name": "S", "description": "d", "tags": ["t"]}
        return create_card("ftp://nowhere", name="Ra\x1b[31mw", description="\x07d", skills=[skill])

    async with serve_raw(answer) as url:
        remote = await RemoteAgent.discover(url)
        with pytest.raises((RemoteUnavailableError, RemoteTaskError)) as failed:
            await remote.run("hi")
        with pytest.raises(RemoteCardError) as refused:
            await RemoteAgent.discover(url, skill="other")

    shown = (remote.name, remote.description, str(failed.value), str(refused.value))
    assert not any(character in text for text in shown for character in "\x1b\x07")
    assert "Ra\\x1b[31mw" in str(failed.value)


async def test_ids_of_messages_do_not_repeat_when_ids_of_calls_do() -> None:
    sent: list[bytes] = []

    def answer(path: str, headers: Mapping[str, str]) -> bytes:
        host = headers["host"]
        return create_card(f"http://{host}/") if path.endswith("card.json") else create_reply("done")

    async with serve_raw(answer, sent) as url:
        tool = (await RemoteAgent.discover(url, name="Raw")).as_tool()
        calls = [AssistantMessage((CalledTool("call_1", "raw", '{"request": "go"}'),))] * 2
        model = ScriptedModel(*map(ModelResponse, calls), "Both are done.")
        platform = Platform(ScriptedModel(), store=MemoryStore())
        agent = Agent("Asker", model=model, tools=[tool])
        async with platform.register(agent):
            await agent.run("ask twice", context=platform.context())

    messages = [from_json(content)["params"]["message"] for content in sent if content]
    assert len(messages) == 2
    assert len({message["messageId"] for message in messages}) == 2
    assert len({message["metadata"]["idempotencyKey"] for message in messages}) == 2
