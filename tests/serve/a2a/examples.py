"""Agents that tests publish."""

from __future__ import annotations

from dataclasses import dataclass

from tactician import Export, UserInput, achieves_goal, action, ask_human, confirm, planned_agent
from tactician.testing import ScriptedModel


@dataclass
class Order:
    item: str
    amount: int


@dataclass
class Quote:
    text: str
    price: float


@dataclass
class Greeting:
    text: str


@planned_agent(description="Sells things")
class Seller:
    @achieves_goal("a quote", export=Export(remote=True, name="quote"))
    @action
    async def make_quote(self, order: Order) -> Quote:
        if order.amount > 10:
            discount = await ask_human(float, f"Which discount for {order.amount}?")
            return Quote(f"{order.amount} {order.item}", order.amount * (1 - discount))
        return Quote(f"{order.amount} {order.item}", float(order.amount))


@planned_agent(description="Greets people")
class Greeter:
    @achieves_goal("a greeting", export=Export(remote=True, name="greet"))
    @action
    async def greet(self, name: UserInput) -> Greeting:
        sure = await confirm(None, f"Greet {name.content}?")
        return Greeting(f"Hello, {name.content}!" if sure else "No.")


def script() -> ScriptedModel:
    return ScriptedModel()
