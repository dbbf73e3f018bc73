"""Subclasses, unions and nothing at all: an action's result may be other than the planner hoped."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import ProcessStatus, UserInput, achieves_goal, action, planned_agent
from tests.agents.running import started, steps


class Intent:
    pass


class Billing(Intent):
    pass


class Sales(Intent):
    pass


class LargeSales(Sales):
    pass


@dataclass(frozen=True)
class Answer:
    text: str


@planned_agent(description="answers by intent")
class FrontDesk:
    @action
    def classify(self, user_input: UserInput) -> Intent | None:
        kinds = {"bill": Billing, "buy": Sales, "buy a lot": LargeSales, "hm": Intent}
        kind = kinds.get(user_input.content)
        return kind() if kind else None

    @action
    def bill(self, intent: Billing) -> Answer:
        return Answer("billing")

    @action
    def sell(self, intent: Sales) -> Answer:
        return Answer("sales")

    @achieves_goal("answered")
    @action
    def reply(self, answer: Answer) -> str:
        return answer.text


@pytest.mark.parametrize(
    ("request_", "action_", "reply"),
    [("bill", "bill", "billing"), ("buy", "sell", "sales"), ("buy a lot", "sell", "sales")],
)
async def test_the_actual_subclass_decides_which_action_goes_on(request_: str, action_: str, reply: str) -> None:
    process = await started(FrontDesk(), request_)
    assert steps(process) == ["classify", action_, "reply"]
    assert process.result == reply


async def test_an_object_that_is_no_subclass_leaves_the_process_stuck() -> None:
    process = await started(FrontDesk(), "hm")
    assert process.status is ProcessStatus.STUCK
    assert steps(process) == ["classify"]
    assert process.failure is not None
    assert "'classify' has run already" in process.failure


async def test_nothing_without_another_way_leaves_the_process_stuck() -> None:
    process = await started(FrontDesk(), "nonsense")
    assert process.status is ProcessStatus.STUCK
    assert process.failure is not None
    assert "'classify' ran and gave nothing" in process.failure
    assert process.history[0].outputs == ()


async def test_a_goal_lacks_what_its_own_action_lacks() -> None:
    @planned_agent(description="has a goal for each intent")
    class Desks:
        @action
        def classify(self, user_input: UserInput) -> Intent | None:
            return None

        @achieves_goal("billed")
        @action
        def bill(self, intent: Billing) -> Answer:
            return Answer("billing")

        @achieves_goal("sold")
        @action
        def sell(self, intent: Sales) -> Answer:
            return Answer("sales")

    process = await started(Desks(), "nonsense")
    assert process.failure == (
        "No plan reaches 'bill': 'Billing' is missing, as 'classify' ran and gave nothing. "
        "No plan reaches 'sell': 'Sales' is missing, as 'classify' ran and gave nothing. "
        "On the blackboard: UserInput."
    )


async def test_every_way_that_does_not_lead_on_is_explained() -> None:
    @planned_agent(description="could ask, if there were somebody to ask")
    class Alone(FrontDesk):
        @action(pre=["colleague is in"])
        def ask_a_colleague(self, user_input: UserInput) -> Answer:
            return Answer("from a colleague")

        @action(post=["colleague is in"])
        def call(self, frog: Frog) -> None: ...

    process = await started(Alone(), "nonsense")
    assert process.failure is not None
    assert "'Billing' is missing, as 'classify' ran and gave nothing" in process.failure
    assert "'Frog' is missing and no action provides it" in process.failure


async def test_nothing_makes_the_planner_take_another_way() -> None:
    @planned_agent(description="has a way out")
    class Patient(FrontDesk):
        @action(cost=0.5)
        def ask_a_colleague(self, user_input: UserInput) -> Answer:
            return Answer("from a colleague")

    process = await started(Patient(), "nonsense")
    assert steps(process) == ["classify", "ask_a_colleague", "reply"]
    assert process.result == "from a colleague"


async def test_a_base_class_is_satisfied_by_a_subclass() -> None:
    @planned_agent(description="takes any intent")
    class Any:
        @action
        def guess(self, user_input: UserInput) -> Billing:
            return Billing()

        @achieves_goal("answered")
        @action
        def reply(self, intent: Intent) -> str:
            return type(intent).__name__

    assert (await started(Any(), "x")).result == "Billing"


async def test_a_subclass_that_is_there_keeps_the_action_for_its_base_class_from_running() -> None:
    @planned_agent(description="needs any intent")
    class Any:
        @action
        def guess(self, user_input: UserInput) -> Intent:
            raise AssertionError("there is an intent already")

        @achieves_goal("answered")
        @action
        def reply(self, intent: Intent) -> str:
            return type(intent).__name__

    assert (await started(Any(), "x", Sales())).result == "Sales"


@dataclass(frozen=True)
class Frog:
    name: str


@dataclass(frozen=True)
class Dog:
    name: str


@dataclass(frozen=True)
class Prince:
    name: str


@planned_agent(description="a frog or a dog becomes a prince")
class FrogOrDog:
    def __init__(self, found: Frog | Dog | None) -> None:
        self.found = found

    @action
    def find(self, user_input: UserInput) -> Frog | Dog | None:
        return self.found

    @action
    def kiss(self, frog: Frog) -> Prince:
        return Prince(frog.name)

    @action
    def train(self, dog: Dog) -> Prince:
        return Prince(dog.name)

    @achieves_goal("a prince")
    @action
    def crown(self, prince: Prince) -> str:
        return prince.name


@pytest.mark.parametrize(("found", "way"), [(Frog("Kermit"), "kiss"), (Dog("Duke"), "train")])
async def test_a_union_goes_on_with_what_came_back(found: Frog | Dog, way: str) -> None:
    process = await started(FrogOrDog(found), "look")
    assert steps(process) == ["find", way, "crown"]
    assert process.result == found.name


async def test_a_union_that_gives_nothing_leaves_the_process_stuck() -> None:
    assert (await started(FrogOrDog(None), "look")).status is ProcessStatus.STUCK


@planned_agent(description="its goal is a union")
class Pond:
    def __init__(self, found: Frog | Dog | None) -> None:
        self.found = found

    @achieves_goal("an animal")
    @action
    def look(self, user_input: UserInput) -> Frog | Dog | None:
        return self.found


@pytest.mark.parametrize("found", [Frog("Kermit"), Dog("Duke")])
async def test_a_goal_can_be_a_union(found: Frog | Dog) -> None:
    process = await started(Pond(found), "look")
    assert process.status is ProcessStatus.COMPLETED
    assert process.result == found


async def test_a_goal_that_gives_nothing_is_not_reached() -> None:
    process = await started(Pond(None), "look")
    assert process.status is ProcessStatus.STUCK
    assert process.result is None
    assert process.failure is not None
    assert "'Frog or Dog' is missing, as 'look' ran and gave nothing" in process.failure


async def test_a_goal_that_gave_nothing_can_be_reached_through_another_action() -> None:
    @planned_agent(description="has a second pond")
    class TwoPonds(Pond):
        @action(cost=1.0)
        def look_elsewhere(self, user_input: UserInput) -> Frog:
            return Frog("from elsewhere")

    process = await started(TwoPonds(None), "look")
    assert steps(process) == ["look", "look_elsewhere"]
    assert process.result == Frog("from elsewhere")


async def test_nothing_sets_no_post_condition() -> None:
    @planned_agent(description="pays, or not")
    class Till:
        @action(post=["paid"])
        def pay(self, user_input: UserInput) -> Answer | None:
            return None

        @achieves_goal("shipped")
        @action(pre=["paid"])
        def ship(self, user_input: UserInput) -> str:
            raise AssertionError("nobody paid")

    process = await started(Till(), "pay")
    assert process.status is ProcessStatus.STUCK
    assert not process.blackboard.condition("paid")


async def test_classes_of_the_same_name_are_told_apart() -> None:
    other = type("Frog", (), {"__module__": "elsewhere"})

    def swap(self: object, frog: Frog) -> object:
        return other()

    def finish(self: object, stranger: object) -> str:
        return type(stranger).__module__

    swap.__annotations__["return"] = other
    finish.__annotations__["stranger"] = other
    members = {"swap": action(swap), "finish": achieves_goal("done")(action(finish))}
    process = await started(planned_agent(description="swaps")(type("Swapper", (), members))(), Frog("Kermit"))
    assert steps(process) == ["swap", "finish"]
    assert process.result == "elsewhere"


class Document:
    pass


class Signed(Document):
    pass


@planned_agent(description="signs a document")
class Notary:
    @action
    def write(self, user_input: UserInput) -> Document:
        return Document()

    @achieves_goal("signed")
    @action
    def sign(self, document: Document) -> Signed:
        return Signed()


async def test_an_action_may_refine_an_object_to_a_subclass() -> None:
    process = await started(Notary(), "write")
    assert steps(process) == ["write", "sign"]
    assert isinstance(process.result, Signed)


async def test_a_subclass_can_also_come_from_somewhere_else() -> None:
    @planned_agent(description="has a key and a document")
    class Vault:
        @action
        def write(self, user_input: UserInput) -> Document:
            return Document()

        @action
        def note(self, document: Document) -> Answer:
            return Answer("note")

        @achieves_goal("signed")
        @action
        def sign(self, note: Answer) -> Signed:
            return Signed()

    assert steps(await started(Vault(), "write")) == ["write", "note", "sign"]
