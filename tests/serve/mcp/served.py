"""A file as users write it, for `tactician mcp serve`."""

from __future__ import annotations

from pydantic import BaseModel

from tactician import Export, achieves_goal, action, ask_human, planned_agent


class Order(BaseModel):
    dish: str


class Taste(BaseModel):
    spicy: bool


class Meal(BaseModel):
    dish: str


@planned_agent(description="Cooks")
class Cook:
    @achieves_goal("A meal is cooked", export=Export(remote=True, name="cook_meal"))
    @action
    async def cook(self, order: Order) -> Meal:
        print("this goes to stderr, and not to the client")
        taste = await ask_human(Taste, f"How do you like {order.dish}?")
        return Meal(dish=f"spicy {order.dish}" if taste.spicy else order.dish)


cook = Cook()
