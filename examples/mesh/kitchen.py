"""A kitchen that other programs order from: `tactician node examples/mesh/kitchen.py`."""

from __future__ import annotations

import os
from datetime import timedelta

from tactician import Platform, SqliteStore, runnable, tool
from tactician.mesh import Mesh, Node

STOCK = {"wagyu": 3, "beer": 40}


@runnable
async def prepare_meal(order: str) -> str:
    """Prepare a meal, and say when it is ready."""
    return f"Ready: {order}"


@tool
def check_inventory(item: str) -> dict[str, int]:
    """Return how much of an item there is."""
    return {item: STOCK.get(item.lower(), 0)}


@tool
def count_stock() -> dict[str, int]:
    """Return all that is in stock."""
    return STOCK


mesh = Mesh(os.environ.get("TACTICIAN_MESH", "sqlite:///hotel.db"), name="kitchen")
kitchen = Node("kitchen", Platform(store=SqliteStore("kitchen.db")), mesh, max_concurrent=4)
kitchen.offer(prepare_meal, name="prepare-meal", tags={"food"})
kitchen.offer(check_inventory, tags={"food", "stock"})
kitchen.schedule("stock report", count_stock, every=timedelta(hours=1))
