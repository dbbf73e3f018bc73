"""Generic classes with actions: their type variables are what a subclass says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

import pytest

from tactician import PlannedAgent, UserInput, achieves_goal, action, by_name, condition, planned_agent, state
from tactician.errors import DeclarationError
from tests.agents.running import started, steps

T = TypeVar("T")
U = TypeVar("U")


@dataclass
class Frog:
    name: str


@dataclass
class Dog:
    name: str


@dataclass
class Report:
    text: str


class Finding(Generic[T]):
    kind: type[T]

    @action(output_binding="found")
    def find(self, topic: UserInput) -> T | None:
        return self.kind(topic.content)  # type: ignore[call-arg]

    @condition
    def is_there(self, found: T) -> bool:
        return isinstance(found, self.kind)


class Comparing(Generic[T, U]):
    @achieves_goal("compared")
    @action
    def compare(self, one: T, other: U | None) -> Report:
        return Report(f"{one} and {other}")


class Between(Finding[T]):
    """Leaves open what is found."""


async def test_a_subclass_says_what_a_type_variable_stands_for() -> None:
    @planned_agent(description="finds frogs")
    class Frogs(Finding[Frog]):
        kind = Frog

        @achieves_goal("told")
        @action(pre=["is_there"])
        def tell(self, found: Annotated[Frog, by_name]) -> Report:
            return Report(found.name)

    process = await started(Frogs(), "Kermit")
    assert process.result == Report("Kermit"), process.failure
    assert process.agent.action("find").output_types == (Frog,)


async def test_through_classes_that_leave_it_open_and_beside_others_with_the_same_variable() -> None:
    @planned_agent(description="finds dogs, and compares them")
    class Dogs(Between[Dog], Comparing[Dog, Frog]):
        kind = Dog

    @planned_agent(description="the same")
    class MoreDogs(Dogs):
        """Not generic any more."""

    for agent in (Dogs(), MoreDogs()):
        process = await started(agent, "Rex", Frog("Kermit"))
        assert process.result == Report("Dog(name='Rex') and Frog(name='Kermit')")
        assert steps(process) == ["find", "compare"]


async def test_states_may_be_generic_too() -> None:
    @state
    class Stage: ...

    @dataclass
    class Holding(Stage, Generic[T]):
        value: T

        @achieves_goal("told")
        @action
        def tell(self, extra: T) -> Report:
            return Report(f"{self.value} and {extra}")

    @dataclass
    class HoldingFrog(Holding[Frog]):
        @action
        def more(self) -> Frog:
            return Frog("another")

    @planned_agent(description="enters a state")
    class Keeper:
        @action
        def keep(self, frog: Frog) -> HoldingFrog:
            return HoldingFrog(frog)

    process = await started(Keeper(), Frog("Kermit"))
    assert process.result == Report("Frog(name='Kermit') and Frog(name='another')"), process.failure


def test_one_that_stands_for_nothing_is_a_mistake_that_says_what_to_do() -> None:
    @planned_agent(description="does not say what it finds")
    class Vague(Finding[T]):
        @achieves_goal("told")
        @action
        def tell(self, found: T) -> Report:
            return Report(str(found))

    with pytest.raises(DeclarationError) as raised:
        PlannedAgent(Vague())
    say = "say which type it is, as in `class StoryWriter(Writer[Story])`"
    assert raised.value.problems == (
        f"find: it returns T, which is not a class; {say}",
        f"is_there: parameter 'found' needs a class, not T; {say}",
        f"tell: parameter 'found' needs a class, not T; {say}",
    )
