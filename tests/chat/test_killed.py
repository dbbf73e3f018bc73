"""Chats whose program is killed in the middle of a message, while a model answers, and continued by another program."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tactician import AssistantMessage, Chatbot, ProcessStatus, UserMessage
from tactician.conversation import ConversationStore
from tactician.llm import Message
from tactician.runs import RunStatus
from tactician.stores import open_store
from tests.chat.mortal import SESSION, create_platform
from tests.stores import postgres
from tests.support.forking import ROOT, bare_environment

LONGEST = 60.0
RESTING = (ProcessStatus.RESTING, RunStatus.COMPLETED)
ANSWERS = [
    "before! of ['before']",
    "hang! of ['before', 'hang']",
    "after! of ['before', 'hang', 'after']",
]


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    with postgres.running(postgres.installed()) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return postgres.create_store_url(request, tmp_path)


@contextmanager
def program(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """A program that takes part in the chat, until the end of the block."""
    command = [sys.executable, "-m", "tests.chat.mortal", *map(str, arguments)]
    process = subprocess.Popen(command, cwd=ROOT, env=bare_environment(), stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def wait_until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(LONGEST):
        while not await holds():  # noqa: ASYNC110 - another program does it
            await asyncio.sleep(0.05)


async def wait_for_answer(ledger: Path, count: int) -> None:
    """Wait until the model has been asked so often for an answer."""

    async def has_begun() -> bool:
        return lines(ledger).count("answering") >= count

    await wait_until(has_begun)


def lines(ledger: Path) -> list[str]:
    return ledger.read_text().splitlines() if ledger.exists() else []


async def run_to_end(*arguments: object) -> str:
    """Run a program, and return what it prints."""
    with program(*arguments) as process:
        out, _ = await asyncio.to_thread(process.communicate, timeout=LONGEST)
        assert process.returncode == 0
        return out.decode().strip()


@pytest.mark.parametrize("bot_name", ["planned", "plain"])
async def test_a_message_is_answered_once_by_whoever_comes_next(bot_name: str, url: str, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    assert await run_to_end(url, ledger, bot_name, "before") == ANSWERS[0]
    with program(url, ledger, bot_name, "hang") as victim:
        await wait_for_answer(ledger, 2)
        victim.kill()
    with program(url, ledger, bot_name, "work"):
        await wait_for_answer(ledger, 3)
        await rest(url, ledger, bot_name)
    assert await run_to_end(url, ledger, bot_name, "after") == ANSWERS[2]

    assert [line for line in lines(ledger) if line != "answering"] == [
        "look up before",
        "look up hang",
        "look up after",
    ]
    messages = await load_messages(url)
    assert [message.text for message in messages if isinstance(message, UserMessage)] == ["before", "hang", "after"]
    assert [message.text for message in messages if isinstance(message, AssistantMessage) and message.text] == ANSWERS


async def rest(url: str, ledger: Path, bot_name: str) -> None:
    """Wait until the session rests."""
    async with open_store(url) as store, create_platform(store, ledger, hangs=False) as platform:
        bot = platform.agents[bot_name]
        assert isinstance(bot, Chatbot)

        async def is_at_rest() -> bool:
            session = await bot.find(SESSION)
            return session is not None and session.status in RESTING

        await wait_until(is_at_rest)


async def load_messages(url: str) -> Sequence[Message]:
    """Return the messages of the session."""
    async with open_store(url) as store:
        conversation = await ConversationStore(store).load(SESSION)
    assert conversation is not None
    return conversation.to_tuple()
