"""Annotations are read as Python reads them. This module is without `from __future__ import annotations`."""

from dataclasses import dataclass
from typing import Annotated, Optional, Union

import pytest

from tactician import UserInput, achieves_goal, action, by_name, planned_agent
from tests.agents.running import started, steps


@planned_agent(description="names what comes later")
class Forward:
    @action
    def first(self, user_input: UserInput) -> "Later":
        return Later(user_input.content)

    @achieves_goal("done")
    @action
    def second(self, later: "Later | None", same: "Annotated[Later, by_name] | None") -> "Optional[Last]":  # noqa: UP045 - on purpose
        return Last("without" if later is None else later.text)


@dataclass(frozen=True)
class Later:
    text: str


@dataclass(frozen=True)
class Last:
    text: str


async def test_a_class_can_be_named_before_it_is_defined() -> None:
    assert (await started(Forward(), Later("x"))).result == Last("x")


async def test_unions_of_the_typing_module_are_unions() -> None:
    @planned_agent(description="written in the old way")
    class Old:
        @action
        def first(self, user_input: UserInput) -> Union[Later, Last, None]:  # noqa: UP007 - on purpose
            return Last("x")

        @achieves_goal("done")
        @action
        def second(self, last: Last, later: Optional[Later] = None) -> str:  # noqa: UP045 - on purpose
            return last.text if later is None else later.text

    assert (await started(Old(), "x")).result == "x"


async def test_what_annotated_adds_does_not_matter() -> None:
    @planned_agent(description="has remarks")
    class Remarks:
        @achieves_goal("done")
        @action
        def only(self, user_input: Annotated[UserInput, "what was typed"]) -> Annotated[Last, "the end"]:
            return Last(user_input.content)

    assert (await started(Remarks(), "x")).result == Last("x")


async def test_classes_of_a_function_are_found() -> None:
    @dataclass(frozen=True)
    class Local:
        text: str

    @planned_agent(description="uses a local class")
    class Agent:
        @action
        def first(self, user_input: UserInput) -> "Local":
            return Local(user_input.content)

        @achieves_goal("done")
        @action
        def second(self, local: Local) -> "str":
            return local.text

    process = await started(Agent(), "x")
    assert steps(process) == ["first", "second"]
    assert process.result == "x"


@pytest.mark.parametrize("kind", [str, int, dict, UserInput])
async def test_any_class_can_flow(kind: type) -> None:
    def give(self: object, user_input: UserInput) -> object:
        return kind("1") if kind is not dict else {}

    def take(self: object, given: object) -> bool:
        return isinstance(given, kind)

    give.__annotations__["return"] = kind
    take.__annotations__["given"] = kind
    members = {"give": action(give), "take": achieves_goal("done")(action(take))}
    agent = planned_agent(description="passes it on")(type("Pass", (), members))
    assert (await started(agent(), "x")).result is True
