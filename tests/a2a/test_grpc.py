"""Remote agents that speak gRPC only, over a loopback socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict
from pydantic_core import to_json

from tactician import Agent, Platform, RunStatus, runnable
from tactician.a2a import RemoteAgent, RemoteCardError, RemoteTaskChanged, RemoteTaskError, RemoteUnavailableError
from tactician.llm import ModelRequest, ModelResponse
from tactician.llm.model import Delta, TextDelta
from tactician.runs import RunResult
from tactician.serve import A2aSettings, GrpcSettings, Person, app
from tactician.stores import MemoryStore, open_store
from tactician.testing import ScriptedModel, ToolCall
from tests.a2a.test_connections import serve_raw
from tests.serve.a2a.examples import Quote, Seller
from tests.serve.a2a.sdk import SETTINGS, load_card
from tests.serve.a2a.serving import serve_a2a
from tests.serve.a2a.test_extended_card import TOKEN, Tokens
from tests.serve.listening import listening
from tests.support.waiting import eventually


@asynccontextmanager
async def serve_grpc_card(
    address: str, headers: Mapping[str, str] | None = None, scheme: str = ""
) -> AsyncIterator[str]:
    """Serve the card below an address without its interfaces of HTTP, and yield the address of this card."""
    card = MessageToDict(await load_card(address, headers))
    interfaces = card["supportedInterfaces"]
    card["supportedInterfaces"] = [
        {**interface, "url": scheme + interface["url"]}
        for interface in interfaces
        if interface["protocolBinding"] == "GRPC"
    ]
    async with serve_raw(lambda path, headers: to_json(card)) as url:
        yield url


@pytest.fixture
async def server() -> AsyncIterator[Platform]:
    async with Platform(ScriptedModel("unused"), store=MemoryStore()) as platform:
        yield platform.register(Seller())


@pytest.fixture
async def url(server: Platform) -> AsyncIterator[str]:
    talker = Agent("Talker", description="Talks", model=ScriptedModel("one two three", "four"))
    async with serve_a2a(server, talker, settings=SETTINGS) as address, serve_grpc_card(address) as card:
        yield card


class Hesitant(ScriptedModel):
    """Model that says its last word once somebody has heard the first."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.is_heard = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        """Yield the answer word by word."""
        async for item in super().stream(request):
            if isinstance(item, TextDelta) and item.text == "three":
                await self.is_heard.wait()
            yield item


async def test_text_comes_in_pieces(server: Platform) -> None:
    model, pieces = Hesitant("one two three"), list[str]()
    talker = Agent("Talker", description="Talks", model=model)
    async with serve_a2a(server, talker, settings=SETTINGS) as address, serve_grpc_card(address) as url:
        remote = await RemoteAgent.discover(url, skill="talker")
        async for piece in remote.stream_text("say it"):
            pieces.append(piece)
            model.is_heard.set()
    assert len(pieces) > 1
    assert "".join(pieces) == "one two three"


async def test_events_come_and_data_as_typed_objects(url: str) -> None:
    talker = await RemoteAgent.discover(url, skill="talker")
    events = [event async for event in talker.stream("again")]
    quotes = (await RemoteAgent.discover(url, skill="quote")).with_output_type(Quote)

    assert [event.state for event in events if isinstance(event, RemoteTaskChanged)][-1] == "completed"
    assert (await quotes.run({"item": "pens", "amount": 3})).output == Quote("3 pens", 3.0)
    with pytest.raises(RemoteTaskError, match=r"was rejected: .*amount"):
        await quotes.run({"item": "pens"})


async def test_a_run_waits_and_another_process_resumes_it(url: str, tmp_path: Path) -> None:
    address = str(tmp_path / "runs.db")
    async with open_store(address) as store, Platform(ScriptedModel("unused"), store=store) as platform:
        remote = await RemoteAgent.discover(url, name="Quotes", skill="quote")
        platform.register(remote)
        waiting = await remote.run({"item": "pens", "amount": 20}, context=platform.context())
        assert waiting.status is RunStatus.WAITING
    async with open_store(address) as store, Platform(ScriptedModel("unused"), store=store) as platform:
        platform.register(RemoteAgent(url, name="Quotes", skill="quote"))
        done = await platform.respond(waiting.run_id, waiting.pending[0].id, 0.5)

    assert isinstance(done, RunResult)
    assert done.output == {"text": "20 pens", "price": 10}


async def test_it_is_a_tool(url: str) -> None:
    talker = await RemoteAgent.discover(url, skill="talker")
    model = ScriptedModel(ToolCall("talker", request="say it"), "It said: one two three")
    assert (
        await Agent("Asker", model=model, tools=[talker.as_tool()]).run("ask it")
    ).output == "It said: one two three"


async def test_a_run_that_is_cancelled_cancels_the_task() -> None:
    reached = asyncio.Event()

    async def slow(text: str) -> str:
        """Wait."""
        reached.set()
        await asyncio.Event().wait()
        return text

    async with (
        Platform(ScriptedModel("unused"), store=MemoryStore()) as platform,
        serve_a2a(platform, runnable(slow), settings=SETTINGS) as address,
        serve_grpc_card(address) as url,
    ):
        remote, is_known = await RemoteAgent.discover(url), asyncio.Event()

        async def follow() -> None:
            async for event in remote.stream("x"):
                if isinstance(event, RemoteTaskChanged):  # from now on there is a task that can be cancelled
                    is_known.set()

        running = asyncio.create_task(follow())
        await reached.wait()
        await is_known.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

        async def is_killed() -> bool:
            return [run.status for run in await platform.runs(names=["a2a"])] == ["killed"]

        await eventually(is_killed)


async def test_tokens_go_to_the_host_that_the_program_names() -> None:
    token, people = "a-token-of-the-clerk", {"a-token-of-the-clerk": Person("Anna")}
    headers = {"Authorization": f"Bearer {token}"}
    platform = Platform(ScriptedModel(), store=MemoryStore())
    platform.register(Agent("Talker", description="Talks", model=ScriptedModel("Hello.")))
    async with (
        platform,
        listening(lambda address: app(platform, people=people, url=address, a2a=SETTINGS)) as address,
        serve_grpc_card(address, headers) as url,
    ):
        remote = await RemoteAgent.discover(url, headers=headers)
        assert (await remote.run("hi")).output == "Hello."
        assert "clerk" not in repr(remote)
        for wrong in ({}, {"Authorization": "Bearer a-token-of-nobody-here"}):
            with pytest.raises(RemoteUnavailableError, match="UNAUTHENTICATED"):
                await RemoteAgent(url, name="Talker", headers=wrong).run("hi")
        elsewhere = url.replace("127.0.0.1", "localhost")
        with pytest.raises(RemoteUnavailableError, match="UNAUTHENTICATED"):
            await RemoteAgent(elsewhere, name="Talker", headers=headers, allow_private=True).run("hi")


async def test_a_card_does_not_lead_to_a_private_address(url: str) -> None:
    elsewhere = url.replace("127.0.0.1", "localhost")
    with pytest.raises(RemoteUnavailableError, match="private network"):
        await RemoteAgent(elsewhere, name="Talker", skill="talker").run("hi")


@pytest.mark.parametrize(
    "place", ["unix:/tmp/socket", "https://", "user:password@host:1", "ftp://host:1", "host:port", "[::1:8"]
)
async def test_an_address_that_is_none_is_refused(place: str) -> None:
    interface = {"url": place, "protocolBinding": "GRPC", "protocolVersion": "1.0"}
    card = {"name": "Raw", "description": "d", "version": "1", "supportedInterfaces": [interface], "skills": []}
    async with serve_raw(lambda path, headers: to_json(card)) as url:
        with pytest.raises(RemoteCardError, match="is not an address of gRPC"):
            await (await RemoteAgent.discover(url)).run("hi")


async def test_a_server_that_is_not_encrypted_as_its_card_says_is_not_used(url: str) -> None:
    async with serve_grpc_card(url, scheme="https://") as encrypted:
        with pytest.raises(RemoteUnavailableError, match="gRPC Error"):
            await RemoteAgent(encrypted, name="Talker", skill="talker", idle=3).run("hi")


async def test_an_answer_that_is_too_long_is_not_read() -> None:
    talker = Agent("Talker", description="Talks", model=ScriptedModel("x" * 100_000))
    async with (
        Platform(ScriptedModel("unused"), store=MemoryStore()) as platform,
        serve_a2a(platform, talker, settings=SETTINGS) as address,
        serve_grpc_card(address) as url,
    ):
        remote = await RemoteAgent.discover(url, max_bytes=20_000, timeout=10)
        with pytest.raises((RemoteTaskError, RemoteUnavailableError), match="Talker"):
            await remote.run("hi")


async def test_the_extended_card_is_loaded_with_the_token() -> None:
    clock = Agent("Clock", description="Tells the time", model=ScriptedModel("Noon."))
    ledger = Agent("Ledger", description="Knows the accounts", model=ScriptedModel("Ten."))
    settings = A2aSettings(poll=0.05, grpc=GrpcSettings(authentication=Tokens()))
    async with (
        Platform(ScriptedModel(), store=MemoryStore()) as platform,
        serve_a2a(platform, clock, extended=[ledger], backend=Tokens(), settings=settings) as address,
        serve_grpc_card(address) as url,
    ):
        remote = await RemoteAgent.discover(url, skill="ledger", headers=TOKEN)
        assert remote.description == "Knows the accounts"
        with pytest.raises(RemoteCardError, match="no skill 'ledger'"):
            await RemoteAgent.discover(url, skill="ledger")
