"""Actions and conditions come from base classes too; what a class defines anew counts as it is."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import PlannedAgent, UserInput, achieves_goal, action, condition, planned_agent
from tactician.errors import DeclarationError
from tests.agents.running import started, steps


@dataclass(frozen=True)
class Draft:
    text: str


class Writing:
    @action
    def write(self, user_input: UserInput) -> Draft:
        return Draft(f"{user_input.content} by {self.author()}")

    def author(self) -> str:
        return "nobody"


class Checking:
    @condition
    def checked(self, draft: Draft) -> bool:
        return True


@planned_agent(description="the base", name="Base desk")
class Desk(Writing, Checking):
    @achieves_goal("done")
    @action(pre=["checked"])
    def finish(self, draft: Draft) -> str:
        return draft.text


@planned_agent(description="the special one")
class SpecialDesk(Desk):
    def author(self) -> str:
        return "somebody"


async def test_actions_and_conditions_are_inherited() -> None:
    process = await started(Desk(), "x")
    assert steps(process) == ["write", "finish"]
    assert process.result == "x by nobody"


async def test_an_inherited_action_calls_the_subclass() -> None:
    assert (await started(SpecialDesk(), "x")).result == "x by somebody"


async def test_a_subclass_has_its_own_name_and_description() -> None:
    base, special = PlannedAgent(Desk()), PlannedAgent(SpecialDesk())
    assert (base.name, base.description) == ("Base desk", "the base")
    assert (special.name, special.description) == ("SpecialDesk", "the special one")
    assert getattr(SpecialDesk(), "name", None) == "SpecialDesk"
    assert getattr(SpecialDesk(), "description", None) == "the special one"
    assert getattr(Desk(), "name", None) == "Base desk"


async def test_a_name_that_the_user_wrote_is_kept() -> None:
    class Labelled:
        name = "my label"

    @planned_agent(description="d")
    class Agent(Labelled, Desk):
        pass

    assert Agent().name == "my label"
    assert PlannedAgent(Agent()).name == "Agent"


async def test_an_overridden_action_is_what_the_subclass_declares() -> None:
    @planned_agent(description="overrides an action")
    class Own(Desk):
        @action
        def write(self, user_input: UserInput) -> Draft:
            return Draft("own")

    assert (await started(Own(), "x")).result == "own"


async def test_an_action_can_be_overridden_by_one_that_takes_something_else() -> None:
    @planned_agent(description="overrides an action")
    class Own(Desk):
        @action
        def write(self, user_input: Draft) -> Draft:  # type: ignore[override]  # on purpose
            return Draft("rewritten")

    assert steps(await started(Own(), Draft("x"))) == ["finish"]


async def test_an_override_without_a_decorator_is_the_action() -> None:
    @planned_agent(description="writes something else")
    class Own(Desk):
        def write(self, user_input: UserInput) -> Draft:
            return Draft("gold, and its own")

    process = await started(Own(), "gold")
    assert steps(process)[0] == "write"
    assert process.last(Draft) == Draft("gold, and its own")


async def test_an_override_of_an_override_is_what_the_nearest_decorator_declares() -> None:
    class Dearer(Desk):
        @action(cost=0.7)
        def write(self, user_input: UserInput) -> Draft:
            raise AssertionError("it is overridden")

    @planned_agent(description="writes")
    class Own(Dearer):
        def write(self, user_input: UserInput) -> Draft:
            return Draft("x")

    written = PlannedAgent(Own()).spec.action("write").plan
    assert written.cost == 0.7


def test_an_action_can_be_taken_away() -> None:
    @planned_agent(description="takes an action away")
    class Silent(Desk):
        write = None  # type: ignore[assignment]

    assert [one.name for one in PlannedAgent(Silent()).spec.actions] == ["finish"]


async def test_an_overridden_condition_counts() -> None:
    @planned_agent(description="is stricter")
    class Strict(Desk):
        @condition
        def checked(self, draft: Draft) -> bool:
            return "gold" in draft.text

    assert (await started(Strict(), "gold")).result == "gold by nobody"
    assert steps(await started(Strict(), "tin")) == ["write"]


def test_a_subclass_has_to_be_decorated_itself() -> None:
    class Undecorated(Desk):
        pass

    with pytest.raises(DeclarationError, match=r"Undecorated .*\n.*decorate the class with @planned_agent"):
        PlannedAgent(Undecorated())


async def test_each_instance_has_its_own_state() -> None:
    @planned_agent(description="holds a service")
    class Holder(Writing, Checking):
        def __init__(self, author: str) -> None:
            self._author = author

        def author(self) -> str:
            return self._author

        @achieves_goal("done")
        @action
        def finish(self, draft: Draft) -> str:
            return draft.text

    assert (await started(Holder("Ada"), "x")).result == "x by Ada"
    assert (await started(Holder("Bob"), "x")).result == "x by Bob"


async def test_an_agent_can_be_a_dataclass() -> None:
    @planned_agent(description="is a dataclass")
    @dataclass(slots=True)
    class Data:
        suffix: str

        @achieves_goal("done")
        @action
        def finish(self, user_input: UserInput) -> str:
            return user_input.content + self.suffix

    assert (await started(Data("!"), "x")).result == "x!"
