"""An agent that pays two amounts before it answers, in whichever program it goes on, and stores that die."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from tactician import Agent, handoff, runnable
from tactician.errors import StoreError
from tactician.llm import (
    AssistantMessage,
    Message,
    ModelRequest,
    ModelResponse,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tactician.runs import RunContext, Runnable
from tactician.stores import MemoryStore
from tactician.stores.document import Body, Lease, StoredDocument, StoredStep
from tactician.testing import ScriptedModel
from tactician.tools import tool

PAYMENTS = 2
T = TypeVar("T")
Pay = Callable[[str], None]


class CashierModel(ScriptedModel):
    """Says what follows from the messages alone, so that it says the same in every program."""

    async def generate(self, request: ModelRequest) -> ModelResponse:
        asked = max(n for n, one in enumerate(request.messages) if isinstance(one, UserMessage))
        question = request.messages[asked]
        assert isinstance(question, UserMessage)
        tools = {tool.name for tool in request.tools}
        if "transfer_to_cashier" in tools:
            return _says(ToolCall(f"{question.text} to cashier", "transfer_to_cashier"))
        after = request.messages[asked:]
        paid = sum(isinstance(one, ToolResult) and one.name == "pay" for one in after)
        if "pay" in tools and paid < PAYMENTS:
            order = f"{question.text} {paid + 1}"
            return _says(ToolCall(order, "pay", f'{{"order": "{order}"}}'))
        return _says(Text(f"Done: {question.text}."))


def _says(part: Text | ToolCall) -> ModelResponse:
    return ModelResponse(AssistantMessage((part,)))


def cashier(pay: Pay, *, needs_approval: bool = False) -> Agent:
    """The agent. It pays by the function."""

    def pay_order(order: str) -> str:
        """Pay an order."""
        pay(order)
        return f"paid {order}"

    return Agent("Cashier", tools=[tool(name="pay", needs_approval=needs_approval)(pay_order)])


def desk(pay: Pay) -> Agent:
    """An agent that hands over to the cashier."""
    return Agent("Desk", handoffs=[handoff(cashier(pay))])


def shop(pay: Pay) -> Runnable:
    """A Runnable that is no agent, and runs one inside."""
    inner = cashier(pay)

    async def serve(messages: list[Message], context: RunContext) -> str:
        return (await inner.run(messages[-1], context=context)).output

    return runnable(serve, name="shop")


def said_by_cashier(question: str) -> list[str]:
    """What a conversation has after a question to the cashier."""
    paid = [text for n in range(PAYMENTS) for text in ("", f"paid {question} {n + 1}")]
    return [question, *paid, f"Done: {question}."]


class MortalStore(MemoryStore):
    """A store as a program sees it that dies at one of its writes. Others see the same documents.

    Args:
        shared: the store that all programs share.
        lives: how many writes the program survives; all, when `None`.
        dies_after: true when the write that kills it is done; else it is not.
    """

    keeps_objects = False

    def __init__(self, shared: MemoryStore, lives: int | None = None, *, dies_after: bool = False) -> None:
        vars(self).update(vars(shared))
        self._lives = lives
        self._dies_after = dies_after
        self.is_dead = False

    async def _write(self, write: Coroutine[Any, Any, T]) -> T:
        self._check(write)
        if self._lives is None:
            return await write
        self._lives -= 1
        if self._lives >= 0:
            return await write
        self.is_dead = True
        if self._dies_after:
            await write
        self._check(write)
        raise AssertionError

    def _check(self, call: Coroutine[Any, Any, T]) -> None:
        if self.is_dead:
            call.close()
            raise StoreError("the program is dead")

    async def save(self, document: StoredDocument, lease: Lease | None = None) -> StoredDocument:
        return await self._write(super().save(_as_text(document), lease))

    async def add_step(self, document: StoredDocument, body: Body) -> StoredDocument:
        return await self._write(super().add_step(document, body))

    async def fold(self, document: StoredDocument) -> StoredDocument:
        return await self._write(super().fold(_as_text(document)))

    async def add_and_claim(
        self, document: StoredDocument, owner: str, seconds: float, step: StoredStep | None = None
    ) -> tuple[StoredDocument, Lease]:
        return await self._write(super().add_and_claim(_as_text(document), owner, seconds, step))

    async def append(self, lease: Lease, step: StoredStep) -> None:
        return await self._write(super().append(lease, step))

    async def release(self, lease: Lease) -> None:
        return await self._write(super().release(lease))

    async def claim(self, *args: Any, **filters: Any) -> tuple[StoredDocument, Lease] | None:  # noqa: ANN401 - all
        return await self._write(super().claim(*args, **filters))

    async def load(self, collection: str, id: str, *, with_body: bool = True) -> StoredDocument | None:
        load = super().load(collection, id, with_body=with_body)
        self._check(load)
        return await load


def _as_text(document: StoredDocument) -> StoredDocument:
    return document if document.body is None else replace(document, body=document.text)
