"""`confirm`: the object is shown as people read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import pytest
from pydantic import BaseModel

from tactician import Platform, UserInput, achieves_goal, action, confirm, planned_agent
from tactician.testing import ScriptedModel


class Line(BaseModel):
    """A line of an order."""

    article: str
    number: int


class Order(BaseModel):
    """An order."""

    customer_name: str
    is_paid: bool
    day: date
    note: str | None
    lines: list[Line]
    tags: list[str]
    empty: list[str]


@dataclass
class Point:
    """A point."""

    x: float


ORDER = Order(
    customer_name="Ann",
    is_paid=False,
    day=date(2026, 2, 3),
    note=None,
    lines=[Line(article="pen", number=2)],
    tags=["a", "b"],
    empty=[],
)
SHOWN: Sequence[tuple[object, str]] = [
    (
        ORDER,
        "customer name: Ann\nis paid: no\nday: 2026-02-03\nnote: -\n"
        "lines:\n  -\n    article: pen\n    number: 2\ntags:\n  - a\n  - b\nempty: -",
    ),
    (Point(2.5), "x: 2.5"),
    ("as it is", "as it is"),
    ({"text": "one\ntwo"}, "text:\n  one\n  two"),
    (True, "yes"),
    (7, "7"),
]


@pytest.mark.parametrize(("subject", "shown"), SHOWN)
async def test_what_is_to_be_confirmed_is_shown_for_people(subject: object, shown: str) -> None:
    @planned_agent(description="asks")
    class Clerk:
        @achieves_goal("decides")
        @action
        async def decide(self, asked: UserInput) -> bool:
            return await confirm(subject, "Sure?")

    process = await Platform(models=ScriptedModel()).start(Clerk(), UserInput("go"))
    assert process.pending[0].prompt == f"Sure?\n\n{shown}"


async def test_very_much_is_cut_off() -> None:
    @planned_agent(description="asks")
    class Clerk:
        @achieves_goal("decides")
        @action
        async def decide(self, asked: UserInput) -> bool:
            return await confirm(["x" * 100] * 1000, "Sure?")

    process = await Platform(models=ScriptedModel()).start(Clerk(), UserInput("go"))
    assert len(process.pending[0].prompt) < 11_000
