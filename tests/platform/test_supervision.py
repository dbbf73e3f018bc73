"""`SupervisorInvocation`: a model leads the actions of components; the guide's meal, sentence by sentence."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import Ai, Platform, ProcessOptions, ProcessStatus, UserInput, achieves_goal, action
from tactician.agents import component
from tactician.errors import AgentNotFoundError, ConfigurationError
from tactician.platform import SupervisorInvocation
from tactician.process import ProcessFailedError
from tactician.runs import Budget
from tactician.testing import ScriptedModel, ToolCall


@dataclass(frozen=True)
class Cook:
    name: str
    age: int


@dataclass(frozen=True)
class Order:
    dish: str
    quantity: int


@dataclass(frozen=True)
class Meal:
    dish: str
    cooked_by: str


@dataclass(frozen=True)
class Bill:
    total: int


@component
class Stages:
    @action
    async def choose_cook(self, user_input: UserInput, ai: Ai) -> Cook:
        """Chooses a cook."""
        return await ai.create(Cook, f"cook: {user_input.content}")

    @action
    async def take_order(self, user_input: UserInput, ai: Ai) -> Order:
        """Takes the order."""
        return await ai.create(Order, f"order: {user_input.content}")

    @achieves_goal("Cook the meal according to the order")
    @action
    def prepare_meal(self, cook: Cook, order: Order) -> Meal:
        return Meal(order.dish, cook.name)


@component
class Till:
    @action
    def take_order(self, meal: Meal) -> Bill:
        """Takes the money."""
        return Bill(len(meal.dish))


COOKED = ([ToolCall("choose_cook"), ToolCall("take_order")], Cook("Bob", 44), Order("pie", 2), ToolCall("prepare_meal"))


def supervisor(*steps: object) -> tuple[SupervisorInvocation[object], ScriptedModel]:
    model = ScriptedModel(*steps)
    return SupervisorInvocation(Platform(models=model)), model


async def test_a_typed_result_comes_from_the_actions_of_a_component() -> None:
    invocation, model = supervisor(*COOKED)
    meal = await invocation.returning(Meal).within(Stages()).run(UserInput("a pie by Bob"))
    assert meal == Meal("pie", "Bob")
    model.assert_exhausted()


async def test_the_supervisor_sees_actions_artifacts_and_the_goal() -> None:
    invocation, model = supervisor(*COOKED)
    await invocation.returning(Meal).within(Stages()).run("a pie by Bob")
    first, *_ = model.calls
    assert [tool.name for tool in first.tools] == ["choose_cook", "take_order", "prepare_meal"]
    assert first.tools[0].description == "Chooses a cook. Gives Cook {name: string, age: integer}. READY."
    assert '"content":"a pie by Bob"' in first.prompt
    assert "- Meal {dish: string, cooked_by: string}: Cook the meal according to the order" in first.prompt


async def test_its_dependencies_lead_the_goal_action() -> None:
    invocation, model = supervisor(*COOKED)
    await invocation.returning(Meal).within(Stages()).run("a pie by Bob")
    goal = model.calls[0].tools[2].description
    assert goal.endswith("NOT READY: needs Cook (from choose_cook) and Order (from take_order).")
    assert model.calls[3].tools[0].description.endswith("This reaches the goal. READY.")


async def test_the_type_that_is_wanted_is_the_goal_where_none_is_declared_for_it() -> None:
    invocation, model = supervisor(ToolCall("choose_cook"), Cook("Bob", 44))
    assert await invocation.returning(Cook).within(Stages(), Till()).run("Bob") == Cook("Bob", 44)
    names = [tool.name for tool in model.calls[0].tools]
    assert names == ["choose_cook", "stages_take_order", "till_take_order", "prepare_meal"]


async def test_several_components_work_together() -> None:
    invocation, _ = supervisor(
        [ToolCall("choose_cook"), ToolCall("stages_take_order")],
        Cook("Bob", 44),
        Order("pie", 2),
        ToolCall("prepare_meal"),
        ToolCall("till_take_order"),
    )
    assert await invocation.returning(Bill).within(Stages()).within(Till()).run("a pie") == Bill(3)


async def test_a_goal_that_is_not_reached_raises() -> None:
    invocation, _ = supervisor("No.", "No.", "I would rather not.")
    with pytest.raises(ProcessFailedError, match=r"needs Cook \(from choose_cook\).* I would rather not\."):
        await invocation.returning(Meal).within(Stages()).run("a pie")


async def test_nobody_gives_what_is_wanted() -> None:
    invocation, _ = supervisor()
    with pytest.raises(AgentNotFoundError, match="No action of Stages produces Bill, only: Cook, Meal, Order"):
        await invocation.returning(Bill).within(Stages()).run("a pie")


@component
class Guesser:
    @action
    def guess(self, user_input: UserInput) -> Cook | Order:
        return Order(user_input.content, 1)


async def test_another_type_than_was_wanted_is_not_passed_off_as_it() -> None:
    invocation, _ = supervisor(ToolCall("guess"))
    with pytest.raises(ProcessFailedError, match="Guesser gave an Order and not the type of `returning`"):
        await invocation.returning(Cook).within(Guesser()).run("a pie")


async def test_it_has_to_be_said_what_is_wanted_and_within_what() -> None:
    invocation, _ = supervisor()
    for incomplete in (invocation, invocation.returning(Meal), invocation.within(Stages())):
        with pytest.raises(ConfigurationError, match=r"\.returning\(Meal\)\.within\(Stages\(\)\)"):
            await incomplete.run("a pie")


async def test_model_rounds_and_options_can_be_set() -> None:
    platform = Platform(models=ScriptedModel())
    leader = ScriptedModel(ToolCall("take_order", order=1), "no")
    options = ProcessOptions(budget=Budget(actions=9))
    invocation = SupervisorInvocation(platform, model=leader, max_rounds=1, options=options)
    process = await invocation.returning(Meal).within(Stages()).start("a pie")
    assert process.status is ProcessStatus.FAILED
    assert process.options is options
    assert [call.tool_choice for call in leader.calls] == ["auto", "none"]
