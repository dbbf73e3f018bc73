"""The help desk of the examples: actions of two components react to messages, over a restart."""

from __future__ import annotations

from pathlib import Path

from examples.help_desk import Order, create_bot
from tactician import Platform
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel


async def test_the_desk_talks_about_an_order_and_remembers_it(tmp_path: Path) -> None:
    model = ScriptedModel("Hello!", "It will be there tomorrow.", "Order 17, yes.")

    async def ask(text: str, chat: str = "a") -> str:
        async with Platform(model, store=SqliteStore(tmp_path / "desk.db")) as platform:
            session = await create_bot(platform).session("alice", id=chat, memory_id="alice")
            return (await session.send(text)).text

    assert await ask("Hello") == "Hello!"
    assert await ask("Where is order 5?") == "There is no such order. Which number is on your receipt?"
    assert await ask("I meant order 17") == "Order 17 is on its way."
    assert await ask("When will it be here?") == "It will be there tomorrow."
    assert "order 17, which is on its way" in model.calls[1].messages[0].text
    assert await ask("Do you know me?", chat="b") == "Order 17, yes."
    async with Platform(model, store=SqliteStore(tmp_path / "desk.db")) as platform:
        assert await platform.memories.read("alice", Order) == [Order("17", "on its way")]
