"""States: phases of the work, each with actions, conditions and goals of its own; loops from one to the other."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass

import pytest
from pydantic import BaseModel

from tactician import (
    Ai,
    Blackboard,
    Budget,
    PlannedAgent,
    ProcessOptions,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    condition,
    cost,
    planned_agent,
    state,
)
from tactician.testing import ScriptedModel
from tests.agents.running import started, steps


@dataclass(frozen=True)
class Story:
    text: str


@dataclass(frozen=True)
class ReviewedStory:
    text: str
    review: str


@dataclass(frozen=True)
class HumanFeedback:
    comments: str


@state
class Stage:
    """Only the base needs the decorator."""


@planned_agent(description="Generate a story and review it")
class WriteAndReview:
    def __init__(self, comments: list[str]) -> None:
        self.comments = comments

    @action
    def craft(self, user_input: UserInput) -> AssessStory:
        return AssessStory(user_input, Story("draft"), self.comments)


@dataclass(frozen=True)
class AssessStory(Stage):
    user_input: UserInput
    story: Story
    comments: list[str]

    @action
    def get_feedback(self) -> HumanFeedback:
        return HumanFeedback(self.comments.pop(0))

    @action
    def assess(self, feedback: HumanFeedback) -> Stage:
        if feedback.comments == "good":
            return Done(self.story)
        return ReviseStory(self, feedback)


@dataclass(frozen=True)
class ReviseStory(Stage):
    assessed: AssessStory
    feedback: HumanFeedback

    @action
    async def revise(self, ai: Ai) -> AssessStory:
        text = await ai.generate_text(f"{self.feedback.comments}: {self.assessed.story.text}")
        return AssessStory(self.assessed.user_input, Story(text), self.assessed.comments)


@dataclass(frozen=True)
class Done(Stage):
    story: Story

    @achieves_goal("The story has been crafted and reviewed")
    @action
    def review(self) -> ReviewedStory:
        return ReviewedStory(self.story.text, "fine")


LAP = ["AssessStory.get_feedback", "AssessStory.assess"]


async def test_states_loop_until_the_goal_is_reached() -> None:
    model = ScriptedModel("second", "third")
    process = await started(WriteAndReview(["dull", "short", "good"]), "a knight", model=model)
    assert process.status is ProcessStatus.COMPLETED
    assert process.result == ReviewedStory("third", "fine")
    lap = [*LAP, "ReviseStory.revise"]
    assert steps(process) == ["craft", *lap, *lap, *LAP, "Done.review"]
    assert [call.prompt for call in model.calls] == ["dull: draft", "short: second"]


async def test_the_plan_leads_through_the_states() -> None:
    process = PlannedAgent(WriteAndReview([])).create_process("a knight")
    assert str(await process.outlook()) == "craft -> AssessStory.get_feedback -> AssessStory.assess -> Done.review"


async def test_entering_a_state_takes_everything_else_off_the_blackboard() -> None:
    process = await started(WriteAndReview(["good"]), "a knight")
    assert [type(value).__name__ for value in process.blackboard.objects] == ["Done", "ReviewedStory"]


async def test_a_loop_without_an_end_is_ended_by_the_budget() -> None:
    options = ProcessOptions(budget=Budget(actions=20))
    model = ScriptedModel(*["again"] * 10)
    process = await started(WriteAndReview(["dull"] * 10), "x", model=model, options=options)
    assert process.status is ProcessStatus.TERMINATED
    assert len(process.history) == 20


@state
@dataclass(frozen=True)
class Counting:
    count: int

    @action
    def count_on(self) -> Counting | Counted:
        return Counted(self.count) if self.count == 3 else Counting(self.count + 1)


class Counted(BaseModel):
    count: int

    def __init__(self, count: int) -> None:
        super().__init__(count=count)


@planned_agent(description="counts")
class Counter:
    @action
    def begin(self, user_input: UserInput) -> Counting:
        return Counting(0)

    @achieves_goal("counted")
    @action
    def finish(self, counted: Counted) -> str:
        return str(counted.count)


async def test_a_state_can_be_followed_by_the_same_state() -> None:
    process = await started(Counter(), "go")
    assert process.result == "3"
    assert steps(process) == ["begin", *["Counting.count_on"] * 4, "finish"]


async def test_an_equal_state_is_entered_like_any_other() -> None:
    @state
    @dataclass(frozen=True)
    class Same:
        tries: list[int]

        @action
        def go(self) -> Same | Counted:
            self.tries.pop()
            return Counted(7) if not self.tries else Same(self.tries)

    @planned_agent(description="stays the same")
    class Agent:
        @action
        def begin(self, user_input: UserInput) -> Same:
            return Same([1, 2, 3])

        @achieves_goal("counted")
        @action
        def finish(self, counted: Counted) -> str:
            return str(counted.count)

    assert steps(await started(Agent(), "go")) == ["begin", "Same.go", "Same.go", "Same.go", "finish"]


async def test_a_state_may_be_a_pydantic_model_or_a_plain_class_and_may_return_itself() -> None:
    @state
    class Model(BaseModel):
        tries: int = 0

        @action
        def go(self) -> Model | Plain:
            self.tries += 1
            return self if self.tries < 2 else Plain(self.tries)

    @state
    class Plain:
        def __init__(self, tries: int) -> None:
            self.tries = tries

        @achieves_goal("done")
        @action
        def finish(self) -> str:
            return str(self.tries)

    @planned_agent(description="of all kinds")
    class Agent:
        @action
        def begin(self, user_input: UserInput) -> Model:
            return Model()

    process = await started(Agent(), "go")
    assert steps(process) == ["begin", "Model.go", "Model.go", "Plain.finish"]
    assert process.result == "2"


@dataclass(frozen=True)
class Ticket:
    description: str


@dataclass(frozen=True)
class Resolved:
    handled_by: str


@state
class Category(ABC):
    @abstractmethod
    def team(self) -> str: ...

    @achieves_goal("handled")
    @action
    def handle(self) -> Resolved:
        return Resolved(self.team())


@dataclass(frozen=True)
class Critical(Category):
    ticket: Ticket

    def team(self) -> str:
        return "on call"


class Special(Category):
    def team(self) -> str:
        return "specialists"


class VerySpecial(Special):
    def team(self) -> str:
        return "the boss"


@planned_agent(description="Triage tickets")
class Triage:
    @action
    def triage(self, ticket: Ticket) -> Category:
        kinds = {"down": Critical(ticket), "odd": Special(), "very odd": VerySpecial()}
        return kinds[ticket.description]


@pytest.mark.parametrize(
    ("description", "handled"),
    [("down", "Critical.handle"), ("odd", "Special.handle"), ("very odd", "VerySpecial.handle")],
)
async def test_what_a_base_state_declares_belongs_to_each_state(description: str, handled: str) -> None:
    process = await started(Triage(), Ticket(description))
    assert steps(process) == ["triage", handled]
    assert process.goal is not None
    assert process.goal.name == handled


def test_an_abstract_state_has_no_actions_of_its_own() -> None:
    names = [action.name for action in PlannedAgent(Triage()).spec.actions]
    assert names == ["triage", "Critical.handle", "Special.handle", "VerySpecial.handle"]


async def test_a_state_has_conditions_and_costs_of_its_own() -> None:
    @state
    @dataclass(frozen=True)
    class Draft:
        quality: float

        @condition
        def good(self) -> bool:
            return self.quality > 0.5

        @cost
        def effort(self) -> float:
            return 1 - self.quality

        @action(cost=0.3)
        def polish(self) -> Counted:
            return Counted(1)

        @action(cost_method="effort", pre=["good"])
        def keep(self) -> Counted:
            return Counted(2)

    @planned_agent(description="drafts")
    class Drafter:
        def __init__(self, quality: float) -> None:
            self.quality = quality

        @condition
        def good(self) -> bool:
            raise AssertionError("the state has one of its own")

        @action
        def begin(self, user_input: UserInput) -> Draft:
            return Draft(self.quality)

        @achieves_goal("done")
        @action
        def finish(self, counted: Counted) -> str:
            return str(counted.count)

    assert steps(await started(Drafter(0.9), "go"))[1] == "Draft.keep"
    assert steps(await started(Drafter(0.6), "go"))[1] == "Draft.polish"
    assert steps(await started(Drafter(0.1), "go"))[1] == "Draft.polish"


async def test_an_agents_own_action_may_take_a_state_and_is_there_in_a_state() -> None:
    @state
    @dataclass(frozen=True)
    class Open:
        text: str

        @action
        def read(self) -> Story:
            return Story(self.text)

    @planned_agent(description="takes a state")
    class Agent:
        @action
        def begin(self, user_input: UserInput) -> Open:
            return Open(user_input.content)

        @achieves_goal("done")
        @action
        def finish(self, opened: Open, story: Story) -> str:
            return opened.text + story.text

    assert (await started(Agent(), "x")).result == "xx"


async def test_an_action_that_needs_nothing_is_not_there_again_in_a_state() -> None:
    @state
    class Waiting:
        @action
        def wait(self) -> Never:
            return Never()

    @dataclass(frozen=True)
    class Never:
        pass

    @planned_agent(description="begins by itself")
    class Agent:
        @action
        def begin(self) -> Waiting:
            return Waiting()

        @condition
        def ready(self, never: Never) -> bool:
            return False

        @achieves_goal("done")
        @action(pre=["ready"])
        def finish(self, never: Never) -> str:
            raise AssertionError("it is never ready")

    process = await started(Agent())
    assert process.status is ProcessStatus.STUCK
    assert steps(process) == ["begin", "Waiting.wait"]


@state(preserve=True)
class Room:
    """Leaves on the blackboard what is there."""


@dataclass(frozen=True)
class Hall(Room):
    @action
    def open_door(self, user_input: UserInput) -> Kitchen:
        return Kitchen(self, hungry=True)


@dataclass(frozen=True)
class Kitchen(Room):
    hall: Hall
    hungry: bool

    @action
    def leave(self) -> Hall | Garden:
        return Garden(self.hall) if self.hungry else self.hall


@dataclass(frozen=True)
class Garden(Room):
    hall: Hall

    @action
    def go_in(self, story: Story) -> Story | None:
        return None

    @achieves_goal("tired")
    @action(cost=0.5)
    def sleep(self, user_input: UserInput, blackboard: Blackboard) -> str:
        return ", ".join(type(value).__name__ for value in blackboard.objects)


@planned_agent(description="walks around")
class Walker:
    @action
    def enter(self, user_input: UserInput) -> Hall:
        return Hall()


async def test_a_preserving_state_takes_only_older_states_off_the_blackboard() -> None:
    process = await started(Walker(), "go")
    assert steps(process) == ["enter", "Hall.open_door", "Kitchen.leave", "Garden.sleep"]
    assert process.result == "UserInput, Garden"
    hidden = [type(entry.value).__name__ for entry in process.blackboard.entries if entry.hidden]
    assert hidden == ["Hall", "Kitchen"]


async def test_a_preserved_state_can_be_entered_again_and_its_actions_run_again() -> None:
    @state(preserve=True)
    class Ping:
        def __init__(self) -> None:
            self.count = 0

        @action
        def hit(self) -> Pong | Counted:
            self.count += 1
            return Pong(self) if self.count < 3 else Counted(self.count)

    @state(preserve=True)
    class Pong:
        def __init__(self, ping: Ping) -> None:
            self.ping = ping

        @action
        def hit(self) -> Ping:
            return self.ping

    @planned_agent(description="plays")
    class Player:
        @action
        def serve(self, user_input: UserInput) -> Ping:
            return Ping()

        @achieves_goal("done")
        @action
        def finish(self, counted: Counted, user_input: UserInput) -> str:
            return user_input.content

    process = await started(Player(), "go")
    assert steps(process) == ["serve", "Ping.hit", "Pong.hit", "Ping.hit", "Pong.hit", "Ping.hit", "finish"]


@planned_agent(description="its states are nested in it")
class Nesting:
    @state
    class Phase:
        pass

    @dataclass(frozen=True)
    class First(Phase):
        text: str

        @action
        def go_on(self) -> Second:  # type: ignore[name-defined]  # noqa: F821 - found in the agent's class
            return Nesting.Second(self.text)

    @dataclass(frozen=True)
    class Second(Phase):
        text: str

        @achieves_goal("done")
        @action
        def finish(self) -> str:
            return self.text

    @action
    def begin(self, user_input: UserInput) -> First:
        return Nesting.First(user_input.content)


async def test_states_can_be_nested_in_the_agents_class(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert (await started(Nesting(), "x")).result == "x"
    assert caplog.records == []


async def test_a_state_inside_a_function_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    @state
    class Local:
        @achieves_goal("done")
        @action
        def finish(self) -> str:
            return "done"

    @planned_agent(description="has a local state")
    class Agent:
        @action
        def begin(self, user_input: UserInput) -> Local:
            return Local()

    with caplog.at_level(logging.WARNING):
        assert (await started(Agent(), "x")).result == "done"
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "The state test_a_state_inside_a_function_is_warned_of.<locals>.Local is defined inside a function"
    ]


def test_states_of_the_same_name_have_full_names() -> None:
    def build(home: str) -> type:
        def finish(self: object) -> str:
            return home

        members = {"__module__": home, "finish": achieves_goal("done")(action(finish))}
        return state(type("Twin", (), members))

    def begin(self: object, user_input: UserInput) -> object:
        raise AssertionError("this is not run")

    begin.__annotations__["return"] = build("first") | build("second")
    agent = planned_agent(description="has twins")(type("Agent", (), {"begin": action(begin)}))()
    assert [one.name for one in PlannedAgent(agent).spec.actions] == ["begin", "Twin.finish", "second.Twin.finish"]


@state
@dataclass(frozen=True)
class Fork:
    """Has a goal of its own, and what the agent could make more of."""

    @action
    def read(self) -> Story:
        return Story("read")

    @achieves_goal("kept")
    @action
    def keep(self, story: Story) -> Counted:
        return Counted(1)


@planned_agent(description="would rather do something else")
class Tempted:
    @action
    def begin(self, user_input: UserInput) -> Fork:
        return Fork()

    @achieves_goal("stolen", value=0.9)
    @action
    def steal(self, story: Story) -> str:
        return "stolen"


async def test_in_a_state_what_it_declares_comes_first() -> None:
    process = await started(Tempted(), "go")
    assert steps(process) == ["begin", "Fork.read", "Fork.keep"]
    assert process.result == Counted(1)


@state
@dataclass(frozen=True)
class Needy:
    @achieves_goal("told")
    @action
    def tell(self, story: Story) -> str:
        return story.text


@planned_agent(description="could help, but not in the state")
class Helper:
    @action
    def begin(self, user_input: UserInput) -> Needy:
        return Needy()

    @action
    def invent(self) -> Story:
        return Story("invented")


async def test_what_takes_nothing_is_not_there_in_a_state() -> None:
    process = await started(Helper(), "go")
    assert process.status is ProcessStatus.STUCK
    assert steps(process) == ["begin"]
    assert process.failure is not None
    assert "'Story' is missing and no action provides it" in process.failure


async def test_in_a_preserving_state_all_actions_are_there() -> None:
    @state(preserve=True)
    @dataclass(frozen=True)
    class Open:
        @achieves_goal("told")
        @action
        def tell(self, story: Story) -> str:
            return story.text

    @planned_agent(description="helps in the state too")
    class Agent:
        @action
        def begin(self, user_input: UserInput) -> Open:
            return Open()

        @action
        def invent(self) -> Story:
            return Story("invented")

    process = await started(Agent(), Open())
    assert process.result == "invented"
