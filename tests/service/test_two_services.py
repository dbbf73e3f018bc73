"""Two service processes over one store: whichever is asked, each conversation goes on."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest

from tactician import Agent, AgentService, Platform
from tactician.errors import RunConflictError
from tactician.events import Event
from tactician.llm import ModelRequest, ModelResponse
from tactician.runs import RunStarted
from tactician.stores import SqliteStore
from tests.service.serving import Echo, create_service
from tests.service.test_conversations import said
from tests.stores.postgres import installed, running
from tests.support.effort import CONVERSATIONS, SEED

ROOT = Path(__file__).parents[2]
REQUESTS = 3
AT_ONCE = 20


class ServiceProcess:
    """A service in a process of its own, and the requests that it has not answered yet."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._open: dict[int, asyncio.Future[object]] = {}
        self._numbers = count()
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            number, answered = json.loads(line)
            self._open.pop(number).set_result(answered)
        for future in self._open.values():
            future.set_exception(RuntimeError("the service process has ended"))

    async def ask(self, talk_id: str, text: str | None) -> object:
        """What the agent answers; without a text, all that was said in the conversation."""
        assert self._process.stdin is not None
        number = next(self._numbers)
        answered = self._open[number] = asyncio.get_running_loop().create_future()
        self._process.stdin.write(json.dumps([number, talk_id, text]).encode() + b"\n")
        return await answered

    async def end(self) -> None:
        """Let it answer all requests, and end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert await self._process.wait() == 0
        await self._reader


@asynccontextmanager
async def two_services(address: str, agent: str) -> AsyncIterator[list[ServiceProcess]]:
    program = (sys.executable, "-m", "tests.service.serving", address, agent)
    pipe = asyncio.subprocess.PIPE
    started = [await asyncio.create_subprocess_exec(*program, cwd=ROOT, stdin=pipe, stdout=pipe) for _ in range(2)]
    services = [ServiceProcess(process) for process in started]
    try:
        yield services
        for service in services:
            await service.end()
    finally:
        for process in started:
            if process.returncode is None:
                process.kill()
                await process.wait()


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "talks.db")
        return
    with running(installed()) as server:
        yield f"postgresql://{server.address}/{server.create_database()}"


@pytest.mark.soak
@pytest.mark.parametrize("agent", ["host", "chat"])
async def test_no_conversation_is_lost_split_or_mixed(address: str, agent: str) -> None:
    chance, places = random.Random(SEED), asyncio.Semaphore(AT_ONCE)
    conversations = CONVERSATIONS if agent == "host" else CONVERSATIONS // 4  # each message takes several steps

    async def talk(services: list[ServiceProcess], number: int) -> None:
        talk_id = f"talk-{number}"
        for request in range(REQUESTS):
            async with places:
                if request and chance.random() < 0.2:
                    await chance.choice(services).ask(talk_id, None)  # reading leaves nothing stale behind
                output = await chance.choice(services).ask(talk_id, f"{number}.{request}")
            assert output == " ".join(f"{number}.{one}" for one in range(request + 1))

    async with two_services(address, agent) as services:
        await asyncio.gather(*(talk(services, number) for number in range(conversations)))
        for number in range(conversations):
            texts = await chance.choice(services).ask(f"talk-{number}", None)
            assert isinstance(texts, list)
            assert texts[::2] == [f"{number}.{request}" for request in range(REQUESTS)]
            assert len(texts) == 2 * REQUESTS


def _serve(path: Path) -> AgentService:
    return create_service(SqliteStore(path))


async def test_a_conversation_that_one_has_begun_is_found_by_the_other(tmp_path: Path) -> None:
    first, second = _serve(tmp_path / "talks.db"), _serve(tmp_path / "talks.db")
    async with first.platform, second.platform:
        talk_id = first.create_conversation()
        await first.request_agent("host", "one", conversation_id=talk_id)
        result = await second.request_agent("host", "two", conversation_id=talk_id)
        assert result.output == "one two"
        assert (await first.request_agent("host", "three", conversation_id=talk_id)).output == "one two three"


async def test_two_first_requests_at_the_same_moment_share_the_conversation(tmp_path: Path) -> None:
    first, second = _serve(tmp_path / "talks.db"), _serve(tmp_path / "talks.db")
    async with first.platform, second.platform:
        asked = [service.request_agent("host", "x", conversation_id="same") for service in (first, second)]
        results = await asyncio.gather(*asked, return_exceptions=True)
        answered = [result for result in results if not isinstance(result, BaseException)]
        assert answered, results
        assert all(isinstance(result, RunConflictError) for result in results if result not in answered), results
        texts = said(await first.conversation("same"))
        assert texts[::2] == ["x"] * len(answered)


class Slow(Echo):
    """A model that answers once it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked, self.is_free = threading.Event(), threading.Event()

    async def generate(self, request: ModelRequest) -> ModelResponse:
        self.is_asked.set()
        await asyncio.to_thread(self.is_free.wait, 30)
        return await super().generate(request)


async def test_a_request_that_finds_another_at_work_at_the_last_moment_leaves_the_conversation_alone(
    tmp_path: Path,
) -> None:
    model, answers = Slow(), list[str]()

    async def ask_first() -> None:
        platform = Platform(model, store=SqliteStore(tmp_path / "talks.db")).register(Agent("Host"))
        async with platform:
            service = AgentService(platform)
            answers.append(str((await service.request_agent("host", "first", conversation_id="same")).output))

    other = threading.Thread(target=lambda: asyncio.run(ask_first()))

    def overtake(event: Event) -> None:
        """Let the other begin its run after this has looked at the conversation, and before it names its own run."""
        if isinstance(event, RunStarted) and event.kind == "request":
            other.start()
            assert model.is_asked.wait(30)

    late = Platform(Echo(), store=SqliteStore(tmp_path / "talks.db"), on_event=overtake).register(Agent("Host"))
    async with late:
        with pytest.raises(RunConflictError, match="wait until that run has ended"):
            await AgentService(late).request_agent("host", "second", conversation_id="same")
        model.is_free.set()
        await asyncio.to_thread(other.join, 30)
        assert answers == ["first"]
        assert said(await AgentService(late).conversation("same")) == ["first", "first"]
