"""Pictures in chats: in messages and from tools, on the wire of each dialect, and once in the store."""

from __future__ import annotations

import base64
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from tactician import Agent, Ai, AssistantMessage, Chatbot, Image, Platform, UserMessage, action, component, tool
from tactician.conversation import Conversation
from tactician.llm import Text, ToolCall
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel
from tests.support.strict_servers import SITES, StrictServer
from tests.support.voices import Saying, says

PNG = b"\x89PNG\r\n\x1a\n" + Random(1).randbytes(2_000)
JPEG = b"\xff\xd8\xff" + Random(2).randbytes(2_000)


def encode(content: bytes) -> str:
    return base64.b64encode(content).decode()


def block(site: str, content: bytes, media_type: str) -> dict[str, object]:
    """The picture as the dialect of a provider has it in a message of the user."""
    url = f"data:{media_type};base64,{encode(content)}"
    match site:
        case "anthropic":
            return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": encode(content)}}
        case "openai":
            return {"type": "input_image", "image_url": url, "detail": "auto"}
        case _:
            return {"type": "image_url", "image_url": {"url": url}}


@tool
def take_photo() -> Image:
    """Take a photo."""
    return Image.from_bytes(JPEG)


@component
class Talk:
    @action(trigger=UserMessage, can_rerun=True)
    async def reply(self, conversation: Conversation, ai: Ai) -> AssistantMessage:
        return await ai.respond(conversation)


def list_stored(path: Path) -> tuple[int, str]:
    """The number of pictures in a store, and all of its texts."""
    with closing(sqlite3.connect(path)) as database:
        (count,) = database.execute("SELECT count(*) FROM tactician_attachments").fetchone()
        rows = database.execute("SELECT body FROM tactician_bodies UNION ALL SELECT body FROM tactician_steps")
        return int(count), "".join(body for (body,) in rows)


@pytest.mark.parametrize("site", ["openai", "anthropic", "mistral"])
async def test_a_planned_bot_shows_its_model_the_pictures_of_the_conversation(site: str, tmp_path: Path) -> None:
    async with StrictServer(SITES[site], says(SITES[site].voice, Saying("a cat"))) as server:
        for number in range(2):  # each with a platform of its own, as after a restart
            store = SqliteStore(tmp_path / "chats.db")
            async with Platform(server.serve(), store=store).register(Talk()) as platform:
                session = await Chatbot(platform).session(id="talk")
                asked = UserMessage((Text("What is this?"), Image.from_bytes(PNG))) if number == 0 else "And now?"
                assert (await session.send(asked)).text == "a cat"
        shown = block(site, PNG, "image/png")
        for body in server.bodies:
            assert json.dumps(shown) in json.dumps(body)
    count, texts = list_stored(tmp_path / "chats.db")
    assert count == 1
    assert encode(PNG) not in texts


@pytest.mark.parametrize("site", ["openai", "anthropic", "mistral"])
async def test_an_agent_keeps_the_pictures_of_its_tools(site: str, tmp_path: Path) -> None:
    voice = SITES[site].voice
    call = Saying(calls=(ToolCall("call_1", "take_photo", "{}"),))
    replies = (says(voice, call), says(voice, Saying("a dog")), says(voice, Saying("still a dog")))
    async with StrictServer(SITES[site], *replies) as server:
        for text in ("a dog", "still a dog"):
            async with Platform(server.serve(), store=SqliteStore(tmp_path / "chats.db")) as platform:
                bot = Chatbot(platform, Agent("Watcher", tools=[take_photo]))
                assert (await (await bot.session(id="talk")).send("Look!")).text == text
        shown = json.dumps(block(site, JPEG, "image/jpeg"))
        assert [shown in json.dumps(body) for body in server.bodies] == [False, True, True]
    count, texts = list_stored(tmp_path / "chats.db")
    assert count == 1
    assert encode(JPEG) not in texts


async def test_a_picture_is_forgotten_with_its_session(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "chats.db")
    async with Platform(ScriptedModel("a", "b"), store=store).register(Talk()) as platform:
        bot = Chatbot(platform)
        for name in ("a", "b"):
            session = await bot.session(id=name)
            await session.send(UserMessage((Image.from_bytes(PNG),)))
        await bot.forget("a")
        assert list_stored(tmp_path / "chats.db")[0] == 1
        await bot.forget("b")
        assert list_stored(tmp_path / "chats.db")[0] == 0


@pytest.mark.parametrize(
    ("images", "problem"),
    [
        ([Image(data=encode(b"no picture at all"))], "begin like no PNG"),
        ([Image(data="no base64!")], "neither"),
        ([Image(data="A" * 28_000_000)], "at most 20,971,520 bytes"),
        ([Image.from_bytes(PNG)] * 21, "at most 20 pictures"),
        ([Image(url="file:///etc/passwd")], "begins with https"),
    ],
)
async def test_a_message_with_a_picture_that_is_none_is_refused(images: list[Image], problem: str) -> None:
    session = await Chatbot(Platform(ScriptedModel()).register(Talk())).session()
    with pytest.raises(ValueError, match=problem):
        await session.send(UserMessage(tuple(images)))
    assert len(session.conversation) == 0


async def test_the_type_of_a_picture_is_that_of_its_content() -> None:
    async with StrictServer(SITES["openai"]) as server:
        session = await Chatbot(Platform(server.serve()).register(Talk())).session()
        await session.send(UserMessage((Image(data=encode(JPEG), media_type="image/png"),)))
        assert json.dumps(block("openai", JPEG, "image/jpeg")) in json.dumps(server.bodies[0])
