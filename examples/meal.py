"""A meal is prepared: a model leads the stages, of which no agent has to be made.

Run it with `python examples/meal.py`.
"""

import asyncio

from pydantic import BaseModel

from tactician import Ai, Platform, SupervisorInvocation, UserInput, achieves_goal, action, component


class Cook(BaseModel):
    name: str
    age: int


class Order(BaseModel):
    dish: str
    quantity: int


class Meal(BaseModel):
    dish: str
    quantity: int
    ordered_by: str
    cooked_by: str


@component
class Stages:
    @action
    async def choose_cook(self, user_input: UserInput, ai: Ai) -> Cook:
        """Chooses a cook."""
        return await ai.create(Cook, f"From this, choose a cook: {user_input.content}")

    @action
    async def take_order(self, user_input: UserInput, ai: Ai) -> Order:
        """Takes the order."""
        return await ai.create(Order, f"From this, take an order of food: {user_input.content}")

    @achieves_goal("The meal is cooked according to the order")
    @action
    async def prepare_meal(self, cook: Cook, order: Order, user_input: UserInput, ai: Ai) -> Meal:
        """Prepares the meal."""
        return await ai.create(
            Meal,
            f"{cook.name}, {cook.age}, cooks {order.quantity} x {order.dish}. "
            f"Who ordered it is said here: {user_input.content}",
        )


async def main(platform: Platform, request: str) -> Meal:
    return await SupervisorInvocation(platform).returning(Meal).within(Stages()).run(UserInput(request))


if __name__ == "__main__":
    print(asyncio.run(main(Platform(), "Ann would like two omelettes, cooked by Bob, who is 44")))
