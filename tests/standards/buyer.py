"""Planned agent whose actions use an MCP server, a skill with a script, and an agent of another program that asks."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic_core import from_json

from tactician import Ai, OperationContext, Platform, RunContext, UserInput, achieves_goal, action, planned_agent
from tactician.a2a import RemoteAgent
from tactician.llm import AssistantMessage, Features, ModelRequest, ModelResponse, Text, ToolResult
from tactician.llm.messages import join_text
from tactician.llm.model import Delta
from tactician.mcp import McpServer
from tactician.skills import Skills
from tactician.stores import DocumentStore
from tactician.testing import ToolCall
from tests.crash.ledger import Ledger
from tests.standards.coder import create_coder
from tests.support.nursery import ROOT

RAN: Final = "ran.txt"
"""File with a line for each time that the script of the skill has begun."""
HOLD: Final = "hold.txt"
"""File that the script waits for to vanish."""
_SKILL: Final = """---
name: tax
description: Adds the tax to a price. Use it for every price.
---
Run scripts/add.sh with the price in cents.
"""
_SCRIPT: Final = f"echo $1 >> {RAN}\nwhile [ -e {HOLD} ]; do sleep 0.02; done\necho $(($1 * 119 / 100))\n"


@dataclass
class Price:
    """Price of a product in cents."""

    order: str
    cents: int


@dataclass
class TaxedPrice:
    """Price with the tax."""

    order: str
    cents: int


@dataclass
class Offer:
    """Offer of the shop."""

    order: str
    cents: int


@dataclass
class Purchase:
    """What is bought."""

    text: str


class BuyerModel:
    """Model whose answer depends on nothing but the messages. Each answer is a side effect in a ledger."""

    name = "buyer"
    features = Features(tools=True, json_schema=True)

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the next answer."""
        asked = next(message for message in request.messages if join_text([message]).startswith("order "))
        _, order, task, value = join_text([asked]).split()
        results = [message.content for message in request.messages if isinstance(message, ToolResult)]
        step = _answer(order, task, value, results)
        await self._ledger.record(order, f"{task} answer {len(results) + 1}")
        part = step.to_call(f"{task}-{len(results)}") if isinstance(step, ToolCall) else Text(step)
        return ModelResponse(AssistantMessage((part,)), model=self.name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        """Yield the answer as a whole."""
        yield await self.generate(request)


def _answer(order: str, task: str, value: str, results: list[str]) -> ToolCall | str:
    match task, len(results):
        case "price", 0:
            return ToolCall("find_price", product=value, order=order)
        case "price", _:
            return f'{{"order": "{order}", "cents": {int(results[-1])}}}'
        case "tax", 0:
            return ToolCall("office_activate", name="tax")
        case "tax", 1:
            assert "scripts/add.sh" in results[-1]
            return ToolCall("office_run_script", skill="tax", path="scripts/add.sh", arguments=[value])
        case _:
            printed: Mapping[str, object] = from_json(results[-1])
            return f'{{"order": "{order}", "cents": {int(str(printed["output"]))}}}'


@planned_agent(description="Buys things")
class Buyer:
    """Agent that looks up a price, adds the tax, asks a shop for a discount, and pays.

    Args:
        ledger: ledger of the side effects.
        folder: folder of the skill and of its script's files.
        shop: address of the shop.
    """

    def __init__(self, ledger: Ledger, folder: Path, shop: str) -> None:
        self._ledger = ledger
        arguments = (sys.executable, "-m", "tests.standards.prices", str(ledger.path))
        self._prices = McpServer.stdio(*arguments, name="prices", cwd=ROOT, env={"PYTHONPATH": ":".join(sys.path)})
        office = Skills("Office", "What an office does").local(write_skill(folder))
        self._office = office.with_scripts("ask", folder=folder / "work")
        self._shop = RemoteAgent(shop, name="Shop", skill="offer").with_output_type(Offer)

    @action
    async def find_price(self, wish: UserInput, ai: Ai) -> Price:
        """Look up the price with a tool of the MCP server."""
        order, product = wish.content.split()
        return await ai.with_tools(self._prices).create(Price, f"order {order} price {product}")

    @action
    async def add_tax(self, price: Price, ai: Ai) -> TaxedPrice:
        """Add the tax with the script of a skill."""
        return await ai.with_reference(self._office).create(TaxedPrice, f"order {price.order} tax {price.cents}")

    @action
    async def ask_shop(self, price: TaxedPrice, context: RunContext) -> Offer:
        """Ask the agent of the shop, which asks a person for a discount."""
        return (await self._shop.run(price, context=context)).output

    @achieves_goal("it is bought")
    @action
    async def pay(self, offer: Offer, context: OperationContext) -> Purchase:
        """Pay."""
        await self._ledger.record(offer.order, "pay", context.idempotency_key)
        return Purchase(f"{offer.order} for {offer.cents} cents")


def write_skill(folder: Path) -> Path:
    """Write the skill, if it is not there, and return its folder."""
    place = folder / "tax"
    if not place.exists():
        (folder / "work").mkdir()
        (place / "scripts").mkdir(parents=True)
        (place / "scripts" / "add.sh").write_text(_SCRIPT)
        (place / "SKILL.md").write_text(_SKILL)
    return place


def create_buyer_platform(store: DocumentStore, ledger: Ledger, shop: str) -> Platform:
    """Return the platform of the buyer, with an agent that writes scripts."""
    platform = Platform(BuyerModel(ledger), store=store)
    return platform.register(Buyer(ledger, ledger.path.parent, shop), create_coder(ledger))
