"""Objects of generic classes: what they are of goes with the declaration, and comes back from a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import pytest
from pydantic import BaseModel

from tactician import Platform, UserInput, achieves_goal, action, ask_human, planned_agent
from tactician.process import ProcessStatus
from tactician.testing import ScriptedModel
from tests.agents.running import started
from tests.agents.test_mistakes import Correct, find_problems
from tests.support.stored import JsonStore, respond

T = TypeVar("T")


@dataclass
class Frog:
    name: str


@dataclass
class Box(Generic[T]):
    inside: T


@dataclass
class FrogBox(Box[int]):
    """Derived from one that says what it is of."""


class Parcel(BaseModel, Generic[T]):
    inside: T


@planned_agent(description="packs frogs")
class Packer:
    @action
    def pack(self, user_input: UserInput) -> Box[Frog] | None:
        return Box(Frog(user_input.content))

    @achieves_goal("unpacked")
    @action
    async def unpack(self, box: Box[Frog]) -> str:
        asked = await ask_human(Frog, f"what is in the box with {box.inside.name}?")
        return f"{box.inside.name} and {asked.name}"


async def test_a_generic_data_class_comes_back_from_a_store_with_what_is_inside() -> None:
    store = JsonStore()
    process = await Platform(ScriptedModel(), store=store).register(Packer()).start("Packer", "Kermit")
    assert process.status is ProcessStatus.WAITING, process.failure

    elsewhere = Platform(ScriptedModel(), store=store).register(Packer())
    process = await respond(elsewhere, process, Frog("Robin"))
    assert process.result == "Kermit and Robin"
    assert process.last(Box) == Box(Frog("Kermit"))


async def test_a_generic_model_that_does_not_say_what_it_is_of_is_what_was_declared_when_it_fits() -> None:
    @planned_agent(description="packs")
    class Sender:
        @action
        def pack(self, user_input: UserInput) -> Parcel[int]:
            return Parcel(inside=3)

        @achieves_goal("sent")
        @action
        def send(self, parcel: Parcel[int]) -> str:
            return f"sent {parcel.inside + 1}"

    process = await started(Sender(), "x")
    assert process.result == "sent 4", process.failure


async def test_one_that_does_not_fit_fails_the_action() -> None:
    @planned_agent(description="packs what it should not")
    class Sender:
        @achieves_goal("packed")
        @action
        def pack(self, user_input: UserInput) -> Parcel[int]:
            return Parcel(inside="three")  # type: ignore[arg-type]  # on purpose

    process = await started(Sender(), "x")
    assert process.status is ProcessStatus.FAILED
    assert process.failure is not None
    assert process.failure.startswith(
        "pack raised TypeError: it declares Parcel[int] and returned Parcel, "
        "which is not valid as Parcel[int]: 1 validation"
    )


def test_two_of_a_class_whose_objects_do_not_tell_them_apart() -> None:
    @planned_agent(description="d")
    class Agent(Correct):
        @action
        def pack(self, user_input: UserInput) -> Box[Frog]:
            return Box(Frog(""))

        @action
        def count(self, box: Box[int], frogs: FrogBox, parcel: Parcel[int], other: Parcel[str]) -> None: ...

    assert find_problems(Agent()) == (
        "count: Box[Frog] and Box[int] cannot be distinguished; derive a class from each, as in "
        "`class Other(Box[int])`",
    )


def test_one_that_is_of_a_type_variable_says_what_to_do() -> None:
    class Packing(Generic[T]):
        @action
        def pack(self, user_input: UserInput) -> Box[T]:
            raise NotImplementedError

    @planned_agent(description="d")
    class Agent(Correct, Packing[T]):
        """Does not say what it packs."""

    say = "say which type it is, as in `class StoryWriter(Writer[Story])`"
    assert find_problems(Agent()) == (f"pack: it returns Box[~T], which is not a class; {say}",)


@pytest.mark.parametrize("kind", [list, dict])
def test_what_python_itself_has_is_still_no_class(kind: type) -> None:
    hint = list[Frog] if kind is list else dict[str, Frog]

    @planned_agent(description="d")
    class Agent(Correct):
        @action
        def count(self, frogs: hint) -> None: ...  # type: ignore[valid-type]

    assert find_problems(Agent())[0].endswith(
        "; wrap it in a class of its own, so that the planner can tell it from others"
    )
