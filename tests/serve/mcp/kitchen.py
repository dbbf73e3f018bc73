"""Agents and tools that the tests publish, and clients that call them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import mcp_types as types
from mcp import Client
from mcp.client import ClientRequestContext
from pydantic import BaseModel

from tactician import Export, Platform, UserInput, achieves_goal, action, ask_human, confirm, planned_agent, tool
from tactician.serve import McpPublisher
from tactician.stores import DocumentStore
from tactician.testing import ScriptedModel

Era = Literal["auto", "legacy"]
ERAS: tuple[Era, Era] = ("auto", "legacy")


class Order(BaseModel):
    dish: str
    pieces: int = 1


class Guest(BaseModel):
    name: str


@dataclass(frozen=True)
class Meal:
    dish: str
    note: str = ""


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Wishes(BaseModel):
    vegetarian: bool
    size: Size = Size.SMALL
    note: str | None = None


class Deep(BaseModel):
    orders: list[Order]


@planned_agent(description="Cooks what is ordered.")
class Kitchen:
    @achieves_goal("A meal is cooked", export=Export(remote=True, name="cook_meal", starting_input_types=[Order]))
    @action
    def cook(self, order: Order) -> Meal:
        if order.dish == "stone":
            raise ValueError("nobody eats that")
        return Meal(f"{order.pieces} {order.dish}")

    @achieves_goal("A guest is served", export=Export(remote=True))
    @action
    def serve(self, order: Order, guest: Guest) -> str:
        return f"{order.dish} for {guest.name}"

    @achieves_goal("The kitchen is clean")
    @action
    def clean(self, user_input: UserInput) -> int:
        return len(user_input.content)


class Wish(BaseModel):
    dish: str


class Plan(BaseModel):
    text: str


@planned_agent(description="Asks before it cooks.")
class Careful:
    @achieves_goal("What the guest likes", export=Export(remote=True, name="ask_wishes", starting_input_types=[Wish]))
    @action
    async def ask(self, wish: Wish) -> Meal:
        wishes = await ask_human(Wishes, f"How do you like {wish.dish}?")
        sure = await confirm(wish, "Sure?")
        return Meal(wish.dish, f"{wishes.size.value}, vegetarian: {wishes.vegetarian}, sure: {sure}")

    @achieves_goal("A plan for several orders", export=Export(remote=True, name="plan_orders"))
    @action
    async def plan(self, plan: Plan) -> int:
        deep = await ask_human(Deep, "Which orders?")
        return len(deep.orders)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(needs_approval=True)
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


def create_platform(*replies: object, store: DocumentStore | None = None) -> Platform:
    model = ScriptedModel(*replies)
    return Platform(model, store=store).register(Kitchen(), Careful())


Answers = Callable[[types.ElicitRequestFormParams], types.ElicitResult]


class Person:
    """Whoever sits at a client: answers each form by the title of its message."""

    def __init__(self, *answers: Mapping[str, str | bool] | str) -> None:
        self.answers = list(answers)
        self.asked: list[types.ElicitRequestFormParams] = []

    async def answer(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestFormParams)
        self.asked.append(params)
        given = self.answers.pop(0)
        if given == "decline":
            return types.ElicitResult(action="decline")
        if given == "cancel":
            return types.ElicitResult(action="cancel")
        assert isinstance(given, Mapping)
        return types.ElicitResult(action="accept", content=dict(given))


def connect(publisher: McpPublisher, era: Era = "auto", person: Person | None = None) -> Client:
    """A client in this program."""
    return Client(publisher.server, mode=era, elicitation_callback=None if person is None else person.answer)


def read(result: types.CallToolResult) -> str:
    """The text of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


def read_json(result: types.CallToolResult) -> dict[str, object]:
    """The text of a result as JSON."""
    value = json.loads(read(result))
    assert isinstance(value, dict)
    return value
