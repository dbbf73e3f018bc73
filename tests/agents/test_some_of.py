"""`SomeOf`: an action gives one or more of several objects."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pydantic import BaseModel

from tactician import ProcessStatus, SomeOf, UserInput, achieves_goal, action, planned_agent, state
from tests.agents.running import started, steps


@dataclass(frozen=True)
class Frog:
    name: str


@dataclass(frozen=True)
class Dog:
    name: str


@dataclass(frozen=True)
class FrogOrDog(SomeOf):
    frog: Frog | None = None
    dog: Dog | None = None


class Pets(SomeOf, BaseModel):
    frog: Frog | None = None
    dog: Dog | None = None


class Plain(SomeOf):
    frog: Frog | None
    dog: Dog | None
    _note = "not a part"

    def __init__(self, frog: Frog | None = None, dog: Dog | None = None) -> None:
        self.frog = frog
        self.dog = dog


@planned_agent(description="Finds an animal")
class Finder:
    def __init__(self, found: FrogOrDog) -> None:
        self.found = found

    @action
    def find(self, user_input: UserInput) -> FrogOrDog:
        return self.found

    @achieves_goal("Create a prince from a frog")
    @action
    def kiss(self, frog: Frog) -> str:
        return f"Prince {frog.name}"

    @achieves_goal("Walk the dog")
    @action
    def walk(self, dog: Dog) -> str:
        return f"walked {dog.name}"


@pytest.mark.parametrize(
    ("found", "way"),
    [(FrogOrDog(frog=Frog("Kermit")), "kiss"), (FrogOrDog(dog=Dog("Duke")), "walk")],
)
async def test_the_field_that_is_set_shows_the_way(found: FrogOrDog, way: str) -> None:
    process = await started(Finder(found), "go")
    assert steps(process) == ["find", way]


async def test_all_fields_that_are_set_are_on_the_blackboard_after_the_whole() -> None:
    found = FrogOrDog(Frog("Kermit"), Dog("Duke"))
    process = await started(Finder(found), "go")
    assert process.blackboard.objects[1:4] == (found, Frog("Kermit"), Dog("Duke"))
    assert process.history[0].outputs == ("FrogOrDog", "Frog", "Dog")


async def test_without_any_field_there_is_only_the_whole() -> None:
    process = await started(Finder(FrogOrDog()), "go")
    assert process.status is ProcessStatus.STUCK
    assert process.history[0].outputs == ("FrogOrDog",)


@pytest.mark.parametrize("kind", [Pets, Plain])
async def test_it_may_be_a_pydantic_model_or_a_plain_class(kind: type) -> None:
    def find(self: object, user_input: UserInput) -> object:
        return kind(dog=Dog("Duke"))

    find.__annotations__["return"] = kind
    agent = planned_agent(description="finds")(type("Agent", (Finder,), {"find": action(find)}))
    assert (await started(agent(FrogOrDog()), "go")).result == "walked Duke"


async def test_an_action_may_take_the_whole() -> None:
    @planned_agent(description="takes all")
    class Agent(Finder):
        @achieves_goal("counted", value=1)
        @action
        def count(self, found: FrogOrDog) -> int:
            return (found.frog is not None) + (found.dog is not None)

    process = await started(Agent(FrogOrDog(Frog("Kermit"), Dog("Duke"))), "go")
    assert process.result == 2


@state
@dataclass(frozen=True)
class Asleep:
    name: str

    @achieves_goal("awake")
    @action
    def wake_up(self) -> str:
        return f"good morning, {self.name}"


@dataclass(frozen=True)
class Sleepy(SomeOf):
    dog: Dog | None = None
    asleep: Asleep | None = None


async def test_a_field_may_be_a_state() -> None:
    @planned_agent(description="puts somebody to bed")
    class Agent:
        @action
        def put_to_bed(self, user_input: UserInput) -> Sleepy:
            return Sleepy(asleep=Asleep(user_input.content))

    process = await started(Agent(), "Ada")
    assert process.result == "good morning, Ada"
    assert [type(value) for value in process.blackboard.objects] == [Sleepy, Asleep, str]
