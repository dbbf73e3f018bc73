"""Room service that orders from the kitchen, which is another program: `python examples/mesh/room_service.py`."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta

from tactician.mesh import Mesh, Priority


async def main() -> None:
    async with Mesh(os.environ.get("TACTICIAN_MESH", "sqlite:///hotel.db"), name="room-service") as mesh:
        meal = mesh.task("prepare-meal", on="kitchen")
        stock = mesh.task("check_inventory", on="kitchen")
        print("Beers:", (await stock.run({"item": "beer"})).output)
        order = "Wagyu, medium rare, room 403"
        result = await meal.run(order, priority=Priority.HIGH, deadline=timedelta(minutes=30))
        print(result.output)


if __name__ == "__main__":
    asyncio.run(main())
