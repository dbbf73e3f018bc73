"""Inputs of runs that workers begin: the same as those of runs that the caller begins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tactician import Platform, RunContext, runnable
from tactician.llm import AssistantMessage, Message, Text, UserMessage
from tactician.platform import Worker
from tactician.runs import Runnable
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import ScriptedModel


@dataclass
class Order:
    number: int


given: list[object] = []


async def take_text(text: str, context: RunContext) -> None:
    given.append(text)


async def take_message(message: UserMessage, context: RunContext) -> None:
    given.append(message)


async def take_messages(messages: tuple[Message, ...], context: RunContext) -> None:
    given.append(messages)


async def take_order(order: Order, context: RunContext) -> None:
    given.append(order)


HELLO = UserMessage("hello")


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize(
    ("function", "value"),
    [
        (take_text, "hello"),
        (take_message, HELLO),
        (take_messages, (HELLO, AssistantMessage((Text("hello"),)))),
        (take_order, Order(3)),
    ],
)
async def test_a_function_is_given_what_was_enqueued(
    function: object, value: object, is_stored: bool, tmp_path: Path
) -> None:
    store: DocumentStore = SqliteStore(tmp_path / "runs.db") if is_stored else MemoryStore()
    taker: Runnable = runnable(function)  # type: ignore[arg-type]  # functions of different types
    platform = Platform(models=ScriptedModel(), store=store).register(taker)
    await platform.enqueue(taker, value)

    assert await Worker(platform).run_once()

    assert given.pop() == value
    await store.aclose()
