"""Two service processes over one store: whichever is asked, each conversation goes on."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest

from tactician import Agent, AgentService, Platform
from tactician.llm import AssistantMessage, ModelRequest, ModelResponse, Text, UserMessage
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel
from tests.service.test_conversations import said

CONVERSATIONS = int(os.environ.get("TACTICIAN_CONVERSATIONS", "100"))
REQUESTS = 3


class Echo(ScriptedModel):
    """A model that repeats all that a user has said so far."""

    async def generate(self, request: ModelRequest) -> ModelResponse:
        await asyncio.sleep(0)
        texts = [message.content for message in request.messages if isinstance(message, UserMessage)]
        return ModelResponse(AssistantMessage((Text(" ".join(map(str, texts))),)))


def _serve(path: Path) -> AgentService:
    return AgentService(Platform(Echo(), store=SqliteStore(path))).register(Agent("Host"))


@pytest.mark.parametrize("seed", [1])
async def test_no_conversation_is_lost_split_or_mixed(tmp_path: Path, seed: int) -> None:
    path, chance = tmp_path / "talks.db", random.Random(seed)
    services = [_serve(path), _serve(path)]
    places = asyncio.Semaphore(20)

    async def talk(number: int) -> None:
        talk_id = f"talk-{number}"
        for request in range(REQUESTS):
            async with places:
                service = chance.choice(services)
                if chance.random() < 0.2:
                    await service.conversation(talk_id) if request else None  # reading leaves nothing stale behind
                result = await service.request_agent("host", f"{number}.{request}", conversation_id=talk_id)
            assert result.output == " ".join(f"{number}.{one}" for one in range(request + 1))

    async with services[0].platform, services[1].platform:
        await asyncio.gather(*map(talk, range(CONVERSATIONS)))
        for number in range(CONVERSATIONS):
            texts = said(await chance.choice(services).conversation(f"talk-{number}"))
            assert texts[::2] == [f"{number}.{request}" for request in range(REQUESTS)]
            assert len(texts) == 2 * REQUESTS


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
        texts = said(await first.conversation("same"))
        assert texts[::2] == ["x"] * len(answered)
