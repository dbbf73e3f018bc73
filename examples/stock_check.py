"""An order for what runs out in a shop: built-in tools, and data that the agents read as TOON.

The stock is a table, which takes half as many tokens as TOON as it does as JSON. The embedded model is too small for
tables; run it with `tactician run examples/stock_check.py tea --scripted`, and a script plays a larger one.
"""

from pydantic import BaseModel

from tactician import ContextFormat, Ensemble, Task, tool
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import calculator, date_time, pipeline, query_json

STOCK = [
    {"sku": "T1", "name": "green tea", "left": 2, "price": 3.5},
    {"sku": "T2", "name": "black tea", "left": 41, "price": 3.25},
    {"sku": "T3", "name": "white tea", "left": 0, "price": 12.25},
]


class Shortage(BaseModel):
    """Thing of which more has to be ordered."""

    sku: str
    amount: int
    price: float


@tool
def list_stock(kind: str) -> list[dict[str, object]]:
    """List the things of a kind with what is left of them.

    Args:
        kind: the kind, such as tea
    """
    return [thing for thing in STOCK if kind in str(thing["name"])]


list_left = pipeline(list_stock, query_json, name="look_up_stock", description="Get a part of the list of the stock")
find = Task("Find out of which {input} fewer than 5 are left", output_type=list[Shortage], tools=[list_stock])
add_up = Task("Work out what the order costs", context=[find], tools=[calculator], expected_output="The sum in euros")
order = Task("Write the order, with the date of today", context=[find, add_up], tools=[date_time, list_left])

agent = Ensemble(
    "Stock check",
    [find, add_up, order],
    context_format=ContextFormat.TOON,
    description="Orders what runs out in a shop",
)


def script() -> ScriptedModel:
    """Return what a larger model says."""
    return ScriptedModel(
        ToolCall("list_stock", kind="tea"),
        [Shortage(sku="T1", amount=6, price=3.5), Shortage(sku="T3", amount=4, price=12.25)],
        ToolCall("calculator", expression="6 * 3.5 + 4 * 12.25"),
        "70.00 euros",
        [ToolCall("date_time", zone="Europe/Paris"), ToolCall("look_up_stock", kind="tea", path="[*].name")],
        "We order 6 green tea and 4 white tea for 70.00 euros.",
    )
