"""Agent that makes offers and asks a person for the discount, for other programs."""

from __future__ import annotations

from dataclasses import dataclass

from tactician import Export, OperationContext, Platform, achieves_goal, action, ask_human, planned_agent
from tactician.stores import DocumentStore
from tactician.testing import ScriptedModel
from tests.crash.ledger import Ledger


@dataclass
class Inquiry:
    """Question for the price of something."""

    order: str
    cents: int


@dataclass
class Discount:
    """Discount that a person grants."""

    order: str
    percent: int
    cents: int


@dataclass
class Offered:
    """Offer with the discount."""

    order: str
    cents: int


@planned_agent(description="Sells things")
class Shop:
    """Agent that asks a person for a discount before it makes an offer.

    Args:
        ledger: ledger of the side effects.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @action
    async def find_discount(self, inquiry: Inquiry, context: OperationContext) -> Discount:
        """Ask the person who asks for the price which discount is right."""
        percent = await ask_human(int, f"Which discount for {inquiry.order}?")
        await self._ledger.record(inquiry.order, "grant", context.idempotency_key)
        return Discount(inquiry.order, percent, inquiry.cents)

    @achieves_goal("an offer", export=Export(remote=True, name="offer"))
    @action
    async def make_offer(self, discount: Discount, context: OperationContext) -> Offered:
        """Write the offer."""
        await self._ledger.record(discount.order, "offer", context.idempotency_key)
        return Offered(discount.order, discount.cents * (100 - discount.percent) // 100)


def create_shop_platform(store: DocumentStore, ledger: Ledger) -> Platform:
    """Return the platform of the shop."""
    return Platform(ScriptedModel(), store=store).register(Shop(ledger))
