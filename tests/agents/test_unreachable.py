"""What can never come true is found when the agent is registered: circles of conditions, names that nothing has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic import BaseModel, ConfigDict

from tactician import Blackboard, Platform, UserInput, achieves_goal, action, by_name, condition, planned_agent
from tactician.testing import ScriptedModel
from tests.agents.running import started, steps
from tests.agents.test_mistakes import Correct, find_problems

REMEDY = "add it to the `post` of another action, or declare a @condition"
NAMES = "objects are called by their class, as in `bill` for a `Bill`, or by a binding"


@dataclass
class Bill:
    total: int

    @property
    def is_large(self) -> bool:
        return self.total > 10


@dataclass
class PaidBill(Bill):
    paid_by: str = ""


@dataclass
class Grown:
    size: int

    def __post_init__(self) -> None:
        self.double = self.size * 2


class Letter(BaseModel):
    text: str = ""


class Parcel(BaseModel):
    model_config = ConfigDict(extra="allow")


class Plain:
    def __init__(self) -> None:
        self.size = 3


class Dynamic(BaseModel):
    def __getattr__(self, name: str) -> int:
        return 7


def test_an_action_that_needs_what_it_makes_true_itself() -> None:
    @planned_agent(description="d")
    class Circle(Correct):
        @action(pre=["paid"], post=["paid"])
        def pay(self, bill: Bill) -> None: ...

    assert find_problems(Circle()) == (f"pay: it can never run, as only itself makes 'paid' true; {REMEDY}",)


def test_actions_that_need_each_other_and_what_follows_from_them() -> None:
    @planned_agent(description="d")
    class Circle(Correct):
        @action(pre=["sent"], post=["paid"])
        def pay(self, bill: Bill) -> None: ...

        @action(pre=["paid"], post=["sent"])
        def send(self, bill: Bill) -> None: ...

        @action(pre=["sent", "checked"])
        def file(self, bill: Bill) -> None: ...

        @action(post=["checked"])
        def check(self, bill: Bill) -> None: ...

    assert find_problems(Circle()) == tuple(
        f"{one}: it can never run, as only {other}, which can never run either, makes {name!r} true; {REMEDY}"
        for one, other, name in (("pay", "send", "sent"), ("send", "pay", "paid"), ("file", "send", "sent"))
    )


async def test_a_circle_with_a_way_in_is_none() -> None:
    @planned_agent(description="d")
    class WayIn:
        @condition
        def checked(self, bill: Bill) -> bool:
            return True

        @action(pre=["sent"], post=["paid"])
        def pay(self, bill: Bill) -> None: ...

        @action(pre=["paid"], post=["sent"])
        def send(self, bill: Bill) -> None: ...

        @action(cost=0.1, post=["sent"])
        def post(self, bill: Bill) -> None: ...

        @achieves_goal("done")
        @action(pre=["paid", "checked"], post=["checked"])
        def file(self, bill: Bill) -> str:
            return "filed"

    assert steps(await started(WayIn(), Bill(1))) == ["post", "pay", "file"]


def test_an_expression_about_what_there_never_is() -> None:
    @planned_agent(description="d")
    class Unknown(Correct):
        @action(pre=["expr: nosuch.total > 1", "expr: bil.total > 1 and total > 1"])
        def pay(self, bill: Bill) -> None: ...

    assert find_problems(Unknown()) == (
        f"pay: 'expr: nosuch.total > 1': nothing is called 'nosuch'; {NAMES}",
        "pay: 'expr: bil.total > 1 and total > 1': nothing is called 'bil'; did you mean 'bill'?",
        f"pay: 'expr: bil.total > 1 and total > 1': nothing is called 'total'; {NAMES}",
    )


def test_an_expression_about_what_its_object_does_not_have() -> None:
    @planned_agent(description="d")
    class Unknown(Correct):
        @action(pre=["expr: bill.nosuch > 1", "expr: letter.texts == ''"])
        def pay(self, bill: Bill, letter: Letter) -> None: ...

    assert find_problems(Unknown()) == (
        "pay: 'expr: bill.nosuch > 1': 'bill' has no 'nosuch'; declare it as a field",
        "pay: \"expr: letter.texts == ''\": 'letter' has no 'texts'; did you mean 'text'?",
    )


@pytest.mark.parametrize(
    "text",
    [
        "bill.is_large",
        "bill.total > 1",
        "bill.paid_by == 'me'",  # a `PaidBill` has it
        "paid_bill.paid_by == 'me'",
        "grown.double > 1",
        "parcel.anything == 1",
        "plain.size == 3",
        "dynamic.anything == 1",
        "first.total > 1",
        "it.anything",
        "user_input.content",
        "any(plain.nosuch for plain in grown.size)",  # `plain` is whatever is in it
        "letter.text == 'x'",  # nobody takes one, and somebody may start with one
    ],
)
def test_an_expression_that_may_be_true(text: str) -> None:
    @planned_agent(description="d")
    class Fine(Correct):
        @action(output_binding="first")
        def begin(self, user_input: UserInput) -> Bill:
            return Bill(1)

        @action(pre=[f"expr: {text}"])
        def pay(self, bill: Bill, grown: Grown, parcel: Parcel, plain: Plain, dynamic: Dynamic) -> None: ...

    assert list(Platform(ScriptedModel()).register(Fine()).agents) == ["Fine"]


def test_an_expression_about_anything() -> None:
    @planned_agent(description="d")
    class Anything(Correct):
        @action(pre=["expr: nosuch.total > 1"])
        def pay(self, whatever: object) -> None: ...

    assert list(Platform(ScriptedModel()).register(Anything()).agents) == ["Anything"]


def test_a_name_that_is_written_in_two_ways() -> None:
    @planned_agent(description="d")
    class Twice(Correct):
        @action(output_binding="draught")
        def draft(self, user_input: UserInput) -> Bill:
            return Bill(1)

        @action
        def send(self, draft: Annotated[Bill, by_name]) -> None: ...

    assert find_problems(Twice()) == ("send: no action binds anything to 'draft'; did you mean 'draught'?",)


class Binding:
    """Binds what it makes itself."""

    @achieves_goal("greeted")
    @action(pre=["expr: user.total > 1"])
    def greet(self, user: Annotated[Bill, by_name]) -> str:
        return f"hello {user.total}"


@pytest.mark.parametrize("gives", [Letter(), None])
async def test_an_action_may_say_that_it_binds_an_object_itself(gives: Letter | None) -> None:
    @planned_agent(description="d")
    class Agent(Binding):
        @action(post=["user: Bill"])
        def look_up(self, user_input: UserInput, blackboard: Blackboard) -> Letter | None:
            blackboard.add(PaidBill(7), "user")
            blackboard.add(Bill(8))
            return Letter()

    process = await started(Agent(), "x")
    assert process.result == "hello 7", process.failure
    assert "user: Bill" not in process.blackboard.conditions


async def test_what_it_binds_can_be_taken_by_its_type_too() -> None:
    @planned_agent(description="d")
    class Agent:
        @action(post=["user: Bill"])
        def look_up(self, user_input: UserInput, blackboard: Blackboard) -> None:
            blackboard.add(PaidBill(7), "user")

        @achieves_goal("greeted")
        @action
        def greet(self, bill: Bill) -> str:
            return f"hello {bill.total}"

    assert (await started(Agent(), "x")).result == "hello 7"


async def test_one_that_does_not_do_what_it_says() -> None:
    @planned_agent(description="d")
    class Agent(Binding):
        @action(post=["user: Bill"])
        def look_up(self, user_input: UserInput) -> None: ...

    process = await started(Agent(), "x")
    assert process.failure is not None
    assert "'user: Bill' is missing, as 'look_up' has run already" in process.failure


def test_a_promise_of_a_type_that_there_is_not() -> None:
    @planned_agent(description="d")
    class Agent(Binding, Correct):
        @action(post=["user: Bil", "stranger: Unheard"])
        def look_up(self, user_input: UserInput) -> None: ...

    assert find_problems(Agent()) == (
        "look_up: 'user: Bil' in `post`: there is no such type; did you mean 'user: Bill'?",
        "look_up: 'stranger: Unheard' in `post`: there is no such type; "
        "write a name and a type that is known, as in 'user: User'",
    )


@pytest.mark.parametrize(("value", "result"), [(True, "done"), (False, None), (None, "done")])
async def test_a_condition_that_an_action_sets_by_hand_stays_as_it_is(value: bool | None, result: str | None) -> None:
    @planned_agent(description="d")
    class Agent:
        @action(post=["verified"])
        def verify(self, user_input: UserInput, blackboard: Blackboard) -> Bill:
            if value is not None:
                blackboard.set_condition("verified", value)
            return Bill(1)

        @achieves_goal("done")
        @action(pre=["verified"])
        def finish(self, bill: Bill) -> str:
            return "done"

    process = await started(Agent(), "x")
    assert process.result == result
    assert process.blackboard.condition("verified") is (value is not False)


async def test_what_others_have_set_by_hand_does_not_count() -> None:
    @planned_agent(description="d")
    class Agent:
        @action
        def forget(self, user_input: UserInput, blackboard: Blackboard) -> Letter:
            blackboard.set_condition("verified", False)
            return Letter()

        @action(post=["verified"])
        def verify(self, letter: Letter) -> Bill:
            other = Blackboard()
            other.set_condition("verified", False)
            return Bill(1)

        @achieves_goal("done")
        @action(pre=["verified"])
        def finish(self, bill: Bill) -> str:
            return "done"

    assert (await started(Agent(), "x")).result == "done"
