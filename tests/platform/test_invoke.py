"""`invoke`: the type that is wanted finds the agent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest

from tactician import Agent, Blackboard, Platform, UserInput, achieves_goal, action, condition, planned_agent
from tactician.errors import AgentNotFoundError
from tactician.process import ProcessFailedError, ProcessStuckError
from tactician.testing import ScriptedModel


class Animal:
    pass


@dataclass(frozen=True)
class Dog(Animal):
    name: str


@dataclass(frozen=True)
class Cat(Animal):
    name: str


@dataclass(frozen=True)
class Address:
    street: str


@planned_agent(description="finds dogs by what is said")
class DogFinder:
    @achieves_goal("a dog")
    @action
    def find(self, user_input: UserInput) -> Dog:
        return Dog(user_input.content)


@planned_agent(description="finds dogs by address")
class Neighbour:
    @achieves_goal("a dog")
    @action
    def look(self, address: Address) -> Dog:
        return Dog(address.street)


@planned_agent(description="finds cats")
class CatFinder:
    @achieves_goal("a cat")
    @action
    def find(self, user_input: UserInput) -> Cat:
        return Cat(user_input.content)


def platform_of(*agents: object) -> Platform:
    return Platform(models=ScriptedModel()).register(*agents)


async def test_the_agent_whose_goal_yields_the_type_is_run() -> None:
    platform = platform_of(Agent("Support"), DogFinder(), CatFinder())
    assert await platform.invoke(Cat, "Tom") == Cat("Tom")
    assert await platform.invoke(Dog, UserInput("Rex")) == Dog("Rex")


async def test_a_superclass_of_the_goals_type_will_do() -> None:
    assert await platform_of(CatFinder()).invoke(Animal, "Tom") == Cat("Tom")


async def test_a_subclass_of_the_goals_type_will_not_do() -> None:
    class Poodle(Dog):
        pass

    with pytest.raises(AgentNotFoundError):
        await platform_of(DogFinder()).invoke(Poodle, "Rex")


async def test_an_agent_with_a_plan_is_preferred_to_one_that_was_registered_first() -> None:
    platform = platform_of(Neighbour(), DogFinder())
    assert await platform.invoke(Dog, "Rex") == Dog("Rex")
    assert await platform.invoke(Dog, Address("Main St")) == Dog("Main St")
    assert len(await platform.processes()) == 2


async def test_the_first_of_several_agents_with_a_plan_is_taken() -> None:
    assert await platform_of(DogFinder(), CatFinder()).invoke(Animal, "x") == Dog("x")


async def test_without_a_plan_the_error_tells_what_is_missing() -> None:
    with pytest.raises(ProcessStuckError) as caught:
        await platform_of(Neighbour(), DogFinder()).invoke(Dog)
    assert str(caught.value) == (
        "Neighbour is stuck: No plan reaches 'look': 'Address' is missing and no action provides it; "
        "the nearest action is 'look', which needs 'Address'. On the blackboard: nothing. "
        "The others have no plan either. DogFinder: No plan reaches 'find': 'UserInput' is missing and no action "
        "provides it; the nearest action is 'find', which needs 'UserInput'."
    )
    with pytest.raises(ProcessStuckError) as caught:
        await platform_of(Neighbour()).invoke(Dog)
    assert str(caught.value) == (
        "Neighbour is stuck: No plan reaches 'look': 'Address' is missing and no action provides it; "
        "the nearest action is 'look', which needs 'Address'. On the blackboard: nothing."
    )


async def test_without_a_plan_a_condition_that_raises_is_told_too() -> None:
    @planned_agent(description="cannot tell")
    class Unsure:
        @condition
        def ready(self) -> bool:
            raise LookupError("no weather")

        @achieves_goal("found")
        @action(pre=["ready"])
        def find(self, address: UserInput) -> Dog:
            raise AssertionError("it is never ready")

    with pytest.raises(ProcessStuckError, match=r"The others have no plan either\. Unsure: LookupError: no weather"):
        await platform_of(Neighbour(), Unsure()).invoke(Dog, "Rex")


async def test_without_an_agent_the_error_tells_what_there_is() -> None:
    with pytest.raises(AgentNotFoundError) as caught:
        await platform_of(DogFinder(), CatFinder(), Neighbour()).invoke(Address, "x")
    assert str(caught.value) == "No registered agent yields an Address. The registered goals yield: Cat, Dog."
    with pytest.raises(AgentNotFoundError, match="The registered goals yield: nothing"):
        await platform_of(Agent("Support")).invoke(Address, "x")


async def test_an_agent_works_towards_the_goal_that_is_wanted() -> None:
    @planned_agent(description="would rather find a cat")
    class Both:
        @achieves_goal("a dog", value=0.1)
        @action
        def find_dog(self, user_input: UserInput) -> Dog:
            return Dog(user_input.content)

        @achieves_goal("a cat", value=0.9)
        @action
        def find_cat(self, user_input: UserInput) -> Cat:
            return Cat(user_input.content)

    platform = platform_of(Both())
    assert await platform.invoke(Dog, "Rex") == Dog("Rex")
    assert await platform.invoke(Cat, "Tom") == Cat("Tom")
    assert (await platform.start("Both", "any")).result == Cat("any")


async def test_the_result_is_what_the_goal_gave() -> None:
    @planned_agent(description="leaves a cat behind")
    class Messy:
        @achieves_goal("a dog")
        @action
        def find(self, user_input: UserInput, blackboard: Blackboard) -> Dog:
            blackboard.add(Cat("stray"))
            return Dog(user_input.content)

    assert await platform_of(Messy()).invoke(Animal, "Rex", Cat("first")) == Dog("Rex")


async def test_a_goal_that_may_give_one_of_several_types() -> None:
    @planned_agent(description="finds a dog or a cat")
    class Either:
        @achieves_goal("an animal")
        @action
        def find(self, user_input: UserInput) -> Dog | Cat:
            return Dog("Rex") if user_input.content == "woof" else Cat("Tom")

    platform = platform_of(Either())
    assert await platform.invoke(Dog, "woof") == Dog("Rex")
    assert await platform.invoke(Animal, "meow") == Cat("Tom")
    with pytest.raises(ProcessFailedError, match="Either gave a Cat and not a Dog"):
        await platform.invoke(Dog, "meow")


async def test_an_agent_whose_condition_raises_is_passed_over() -> None:
    @planned_agent(description="is broken")
    class Broken:
        @condition
        def ready(self) -> bool:
            raise LookupError("no weather")

        @achieves_goal("a dog")
        @action(pre=["ready"])
        def find(self, user_input: UserInput) -> Dog:
            raise AssertionError("never ready")

    assert await platform_of(Broken(), DogFinder()).invoke(Dog, "Rex") == Dog("Rex")
    with pytest.raises(ProcessFailedError, match=r"no weather \(in the condition 'ready'\)"):
        await platform_of(Broken()).invoke(Dog, "Rex")


async def test_conditions_are_not_evaluated_to_choose_the_only_agent() -> None:
    evaluated: Counter[str] = Counter()

    @planned_agent(description="counts")
    class Counting:
        @condition
        def ready(self) -> bool:
            evaluated["ready"] += 1
            return True

        @achieves_goal("a dog")
        @action(pre=["ready"])
        def find(self, user_input: UserInput) -> Dog:
            return Dog("Rex")

    await platform_of(Counting(), CatFinder()).invoke(Dog, "x")
    assert evaluated["ready"] == 1  # the tick that acts; the goal is seen without it
