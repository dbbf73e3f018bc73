"""The types of parameters and results decide what runs, and in which order."""

from __future__ import annotations

from dataclasses import dataclass

from tactician import ProcessStatus, UserInput, achieves_goal, action, planned_agent
from tests.agents.running import started, steps


@dataclass(frozen=True)
class Person:
    name: str


@dataclass(frozen=True)
class Horoscope:
    text: str


@dataclass(frozen=True)
class News:
    text: str


@dataclass(frozen=True)
class Writeup:
    text: str


@planned_agent(description="writes up what the stars and the news say")
class Stars:
    """Declared last step first: the order of the source is not the order of the plan."""

    @achieves_goal("a writeup")
    @action
    def write_up(self, person: Person, news: News, horoscope: Horoscope) -> Writeup:
        return Writeup(f"{person.name}: {horoscope.text}, {news.text}")

    @action
    async def find_news(self, person: Person, horoscope: Horoscope) -> News:
        return News(f"news for {horoscope.text}")

    @action
    def read_stars(self, person: Person) -> Horoscope:
        return Horoscope("love")

    @action
    async def extract(self, user_input: UserInput) -> Person:
        return Person(user_input.content)


async def test_a_chain_runs_in_the_order_of_its_types() -> None:
    process = await started(Stars(), "Ada")
    assert steps(process) == ["extract", "read_stars", "find_news", "write_up"]
    assert process.status is ProcessStatus.COMPLETED
    assert process.result == Writeup("Ada: love, news for love")


async def test_text_becomes_user_input() -> None:
    process = await started(Stars(), "Ada")
    assert process.last(UserInput) == UserInput("Ada")


async def test_actions_do_not_run_for_what_is_there_already() -> None:
    process = await started(Stars(), Person("Ada"), News("old"))
    assert steps(process) == ["read_stars", "write_up"]
    assert process.result == Writeup("Ada: love, old")


async def test_an_unrelated_action_never_runs() -> None:
    @planned_agent(description="has an action too many")
    class Busy(Stars):
        @action
        def gossip(self, person: Person) -> int:
            raise AssertionError("nobody needs a number")

    assert "gossip" not in steps(await started(Busy(), "Ada"))


async def test_the_newest_object_of_a_type_is_passed() -> None:
    process = await started(Stars(), Person("old"), Person("new"), Horoscope("luck"), News("none"))
    assert process.result == Writeup("new: luck, none")


async def test_an_action_without_domain_parameters_can_start_a_plan() -> None:
    @planned_agent(description="needs nothing")
    class FromNothing:
        @action
        def draw(self) -> Horoscope:
            return Horoscope("luck")

        @achieves_goal("done")
        @action
        def write(self, horoscope: Horoscope) -> Writeup:
            return Writeup(horoscope.text)

    process = await started(FromNothing())
    assert process.result == Writeup("luck")


async def test_a_goal_action_that_gives_nothing_completes_the_process() -> None:
    sent: list[str] = []

    @planned_agent(description="sends")
    class Sender:
        @achieves_goal("sent")
        @action
        def send(self, user_input: UserInput) -> None:
            sent.append(user_input.content)

    process = await started(Sender(), "hello")
    assert process.status is ProcessStatus.COMPLETED
    assert process.result is None
    assert sent == ["hello"]


async def test_a_goal_action_may_give_the_type_that_it_takes() -> None:
    @planned_agent(description="polishes")
    class Polisher:
        @achieves_goal("polished")
        @action
        def polish(self, draft: Writeup) -> Writeup:
            return Writeup(draft.text + "!")

    process = await started(Polisher(), Writeup("good"))
    assert steps(process) == ["polish"]
    assert process.result == Writeup("good!")


async def test_a_goal_whose_result_is_already_there_says_so() -> None:
    process = await started(Stars(), "Ada", Writeup("by hand"))
    assert process.status is ProcessStatus.STUCK
    assert process.failure is not None
    assert "'write_up' does not run when there is Writeup already" in process.failure


async def test_falsy_objects_are_objects() -> None:
    class Basket(list[str]):
        pass

    @planned_agent(description="counts")
    class Counter:
        @action
        def collect(self, user_input: UserInput) -> Basket:
            return Basket()

        @achieves_goal("counted")
        @action
        def count(self, basket: Basket) -> int:
            return len(basket)

    process = await started(Counter(), "nothing")
    assert process.result == 0
