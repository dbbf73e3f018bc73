"""A meal is prepared: a model leads the stages, in the order that it thinks best.

Run it with `tactician run examples/meal.py "Ann would like two omelettes, cooked by Bob, who is 44"`. The embedded
model is too small to lead others; with `--scripted`, a script plays a larger one. `python examples/meal.py` does the
same without an agent.
"""

import asyncio

from pydantic import BaseModel

from tactician import (
    Ai,
    PlannedAgent,
    Planner,
    Platform,
    SupervisorInvocation,
    UserInput,
    achieves_goal,
    action,
    component,
)
from tactician.agents import combine_specs
from tactician.testing import ScriptedModel, ToolCall

REQUEST = "Ann would like two omelettes, cooked by Bob, who is 44"


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

    def __str__(self) -> str:
        return f"{self.quantity} x {self.dish} for {self.ordered_by}, by {self.cooked_by}"


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


async def prepare(platform: Platform, request: str) -> Meal:
    """One meal: no agent has to be made for that."""
    return await SupervisorInvocation(platform).returning(Meal).within(Stages()).run(UserInput(request))


def script() -> ScriptedModel:
    """Return a model that leads well."""
    return ScriptedModel(
        [ToolCall("choose_cook"), ToolCall("take_order")],
        Cook(name="Bob", age=44),
        Order(dish="omelette", quantity=2),
        ToolCall("prepare_meal"),
        Meal(dish="omelette", quantity=2, ordered_by="Ann", cooked_by="Bob"),
    )


agent = PlannedAgent.of(
    combine_specs([Stages()], name="Kitchen", description="Prepares meals", planner=Planner.SUPERVISOR)
)

if __name__ == "__main__":
    print(asyncio.run(prepare(Platform(script()), REQUEST)))
