"""Actions that run at once: what a process knows in the end is the same as with one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician import (
    Budget,
    PlannedAgent,
    Platform,
    ProcessOptions,
    ProcessStatus,
    RunContext,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
)
from tactician.process import AgentProcess, ProcessFailedError
from tactician.runs.progress.steps import Snapshot
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.agents.running import started, steps
from tests.support.effort import examples
from tests.support.stored import JsonStore, load_record, respond


class Made:
    """What an action of a random agent gives: it tells what it was made of."""

    def __init__(self, of: Sequence[Made | None] = ()) -> None:
        self.of = tuple(str(one) for one in of)

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.of)})"


@dataclass(frozen=True)
class Node:
    """An action: what it needs, what it takes when it is there, what its type is a kind of, and how long it takes."""

    needs: tuple[str, ...]
    takes: tuple[str, ...]
    base: str
    pauses: int
    asks: bool = False


BASES = ("Made", "Source", "Text")


@st.composite
def graphs(draw: st.DrawFn, *, asks: bool = False) -> list[Node]:
    """Each node takes what nodes before it give, by their types or by what these are kinds of; it may ask a person."""
    nodes: list[Node] = []
    for number in range(draw(st.integers(2, 8))):
        before = [f"T{n}" for n in range(number)]
        kinds = sorted({*before, *(node.base for node in nodes)} - {"Made"})
        some = st.lists(st.sampled_from(kinds), max_size=2, unique=True) if kinds else st.just([])
        needs = draw(some)
        takes = [kind for kind in draw(some) if kind not in needs]
        base = draw(st.sampled_from([*BASES, *before]))
        nodes.append(Node(tuple(needs), tuple(takes), base, draw(st.integers(0, 5)), asks and draw(st.booleans())))
    return nodes


def agent_for(nodes: Sequence[Node], order: Sequence[int]) -> object:
    types: dict[str, type[Made]] = {"Made": Made, **{name: type(name, (Made,), {}) for name in BASES[1:]}}
    for number, node in enumerate(nodes):
        types[f"T{number}"] = type(f"T{number}", (types[node.base],), {})
    last = len(nodes)
    types["Goal"] = type("Goal", (Made,), {})
    goal = Node(tuple(f"T{number}" for number in range(last)), ("Source", "Text"), "Made", 0)
    members: dict[str, object] = {f"make{n}": action(_method(nodes[n], types[f"T{n}"], types)) for n in order}
    members["finish"] = achieves_goal("made")(action(_method(goal, types["Goal"], types)))
    return planned_agent(description="made at random")(type("Random", (), members))()


def _method(node: Node, gives: type[Made], types: Mapping[str, type[Made]]) -> Callable[..., object]:
    async def work(*of: Made | None) -> Made:
        for _ in range(node.pauses):
            await asyncio.sleep(0)
        if node.asks:
            await ask_human(str, "Well?")
        return gives(of)

    names = ", ".join(f"in_{kind}" for kind in (*node.needs, *node.takes))
    parameters = ", ".join(["self, user_input", *(f"in_{kind}" for kind in node.needs)])
    parameters += "".join(f", in_{kind}=None" for kind in node.takes)
    scope: dict[str, object] = {"work": work}
    exec(f"async def run({parameters}):\n    return await work({names})", scope)
    made = scope["run"]
    assert callable(made)
    made.__annotations__ = {f"in_{kind}": types[kind] for kind in node.needs}
    made.__annotations__ |= {f"in_{kind}": types[kind] | None for kind in node.takes}
    made.__annotations__ |= {"user_input": UserInput, "return": gives}
    return made


def run_with(agent: object, most: int, *, actions: int = 50) -> AgentProcess:
    options = ProcessOptions(max_parallel=most, budget=Budget(actions=actions))
    return asyncio.run(started(agent, "go", options=options))


def known(process: AgentProcess) -> list[str]:
    return [str(value) for value in process.blackboard.all(Made)]


@examples(150)
@given(st.data(), graphs(), st.integers(2, 5), st.sampled_from([50, 1, 3]))
def test_the_blackboard_and_the_result_are_those_of_one_after_the_other(
    data: st.DataObject, nodes: list[Node], most: int, budget: int
) -> None:
    order = data.draw(st.permutations(range(len(nodes))))
    one, several = (run_with(agent_for(nodes, order), parallel, actions=budget) for parallel in (1, most))

    assert several.status is one.status
    assert known(several) == known(one)
    assert str(several.result) == str(one.result)
    assert sorted(steps(several)) == sorted(steps(one))


def test_a_plan_that_changes_while_actions_run_is_followed_once_they_have_ended() -> None:
    """`make0` may give a `T4`, and does not: with `make2` still running, the new plan has another order."""
    hoped_for, slow = Node((), (), "Made", 0), Node((), (), "Made", 3)
    nodes = [hoped_for, Node(("T0",), (), "Made", 0), slow, Node((), (), "Made", 0), Node((), (), "T0", 0)]
    one, several = (run_with(agent_for(nodes, [1, 2, 0, 3, 4]), most) for most in (1, 2))
    assert known(several) == known(one)


@examples(150)
@given(st.data(), graphs(asks=True), st.integers(2, 5))
def test_also_when_people_are_asked(data: st.DataObject, nodes: list[Node], most: int) -> None:
    async def run(parallel: int) -> AgentProcess:
        process = await started(agent_for(nodes, order), "go", options=ProcessOptions(max_parallel=parallel))
        while process.status is ProcessStatus.WAITING:
            request = data.draw(st.sampled_from(range(len(process.pending))))
            await process.respond(process.pending[request].id, "yes")
        return process

    order = data.draw(st.permutations(range(len(nodes))))
    one, several = (asyncio.run(run(parallel)) for parallel in (1, most))

    assert several.status is one.status
    assert known(several) == known(one)
    assert sorted(steps(several)) == sorted(steps(one))


@dataclass
class Source:
    pass


@dataclass
class FromWeb(Source):
    pass


@dataclass
class FromBook(Source):
    pass


@dataclass
class Page:
    text: str


@dataclass
class Answer:
    text: str


@planned_agent(description="answers from what is newest")
class Library:
    def __init__(self) -> None:
        self.begun: list[str] = []

    @action
    async def fetch(self, user_input: UserInput) -> Page:
        self.begun.append("fetch")
        await asyncio.sleep(0)
        return Page(f"page with {' '.join(self.begun)}")

    @action
    def read_page(self, page: Page) -> FromWeb:
        return FromWeb()

    @action
    async def look_up(self, user_input: UserInput) -> FromBook:
        self.begun.append("look_up")
        return FromBook()

    @achieves_goal("answered")
    @action
    def answer(self, web: FromWeb, book: FromBook, newest: Source) -> Answer:
        return Answer(type(newest).__name__)


@pytest.mark.parametrize("most", [1, 4])
async def test_an_action_that_ran_early_gives_its_result_when_it_is_its_turn(most: int) -> None:
    process = await started(Library(), "go", options=ProcessOptions(max_parallel=most))

    assert process.result == Answer("FromBook")
    assert [type(value) for value in process.blackboard.objects] == [UserInput, Page, FromWeb, FromBook, Answer]
    page = process.last(Page)
    assert page is not None
    assert page.text == ("page with fetch look_up" if most > 1 else "page with fetch"), "it did run early"


@pytest.mark.parametrize(("actions", "ran"), [(1, ["fetch"]), (2, ["fetch", "read_page"])])
@pytest.mark.parametrize("most", [1, 4])
async def test_no_action_is_begun_that_the_budget_does_not_leave(most: int, actions: int, ran: list[str]) -> None:
    options = ProcessOptions(max_parallel=most, budget=Budget(actions=actions))
    process = await started(Library(), "go", options=options)

    assert process.status is ProcessStatus.TERMINATED
    assert steps(process) == ran


async def test_the_budget_of_a_run_around_it_counts_too() -> None:
    agent = PlannedAgent(Library())
    with pytest.raises(ProcessFailedError) as caught:
        await agent.run("go", context=RunContext.over(ScriptedModel()), budget=Budget(actions=1), options=FOUR)

    assert steps(caught.value.process) == ["fetch"]


FOUR = ProcessOptions(max_parallel=4)


@dataclass
class Asked(Source):
    pass


@planned_agent(description="asks while something else is done")
class Asker:
    def __init__(self) -> None:
        self.begun: list[str] = []

    @action
    async def ask(self, user_input: UserInput) -> Page:
        return Page(await ask_human(str, "Page?"))

    @action
    def read(self, page: Page) -> Asked:
        return Asked()

    @action
    def look_up(self, user_input: UserInput) -> FromBook:
        return FromBook()

    @achieves_goal("answered")
    @action
    def answer(self, asked: Asked, book: FromBook, newest: Source) -> Answer:
        return Answer(type(newest).__name__)


@pytest.mark.parametrize("most", [1, 4])
async def test_the_order_is_kept_while_an_action_waits_also_in_a_store(most: int) -> None:
    store = JsonStore()
    process = await _platform(store).start("Asker", "go", options=ProcessOptions(max_parallel=most))
    assert steps(process) == ([] if most == 1 else ["look_up"])

    done = await respond(_platform(store), process, "a page")

    assert done.result == Answer("FromBook")
    assert [type(value) for value in done.blackboard.objects] == [UserInput, Page, Asked, FromBook, Answer]


@pytest.mark.parametrize("store", [JsonStore(), MemoryStore()])
async def test_what_is_stored_of_past_steps_stays_as_it_was(store: MemoryStore) -> None:
    process = await _platform(store).start("Asker", "go", options=ProcessOptions(max_parallel=4))
    before = await _states(store, process.id)

    await respond(_platform(store), process, "a page")

    assert (await _states(store, process.id))[: len(before)] == before


async def _states(store: MemoryStore, run_id: str) -> list[str]:
    """What is stored of a run after each of its steps, as JSON."""
    record = await load_record(store, run_id)
    states = [await RunStore(store).load_state(record, at=step) for step in range(1, record.steps + 1)]
    return [Snapshot(start=one.start, spent=one.spent, tree=one.tree.to_saved()).to_json() for one in states]


def _platform(store: MemoryStore) -> Platform:
    return Platform(ScriptedModel(), store=store).register(Asker())


class Special(Page):
    pass


@planned_agent(description="hopes for a special page")
class Hopeful(Library):
    @action
    async def fetch(self, user_input: UserInput) -> Page:
        self.begun.append("fetch")
        await asyncio.sleep(0)
        return Page(" ".join(self.begun))

    @action
    def make_special(self, page: Page) -> Special:
        return Special(page.text)

    @achieves_goal("answered")
    @action
    def answer(self, web: FromWeb, book: FromBook, special: Special) -> Answer:  # type: ignore[override]
        return Answer(special.text)


async def test_nothing_overtakes_what_may_give_less_than_is_hoped_for() -> None:
    one, several = [await started(Hopeful(), "go", options=ProcessOptions(max_parallel=most)) for most in (1, 4)]

    assert several.result == one.result == Answer("fetch")
    assert list(map(type, several.blackboard.objects)) == list(map(type, one.blackboard.objects))


class Early:
    """The object that has to come first."""


class Late:
    """The object that must be the newest."""


async def test_actions_whose_effects_contradict_each_other_never_run_at_once() -> None:
    running, most = 0, 0

    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    @planned_agent(description="ends with the newest")
    class Orderly:
        @action
        async def make_late(self, asked: UserInput) -> Late:
            await work()
            return Late()

        @action
        async def make_early(self, asked: UserInput) -> Early:
            await work()
            return Early()

        @achieves_goal("done")
        @action(trigger=Late)
        def finish(self, early: Early, late: Late) -> int:
            return 1

    options = ProcessOptions(max_parallel=4)
    process = await Platform(models=ScriptedModel()).start(Orderly(), UserInput("go"), options=options)
    assert process.status is ProcessStatus.COMPLETED
    assert [run.action for run in process.history] == ["make_early", "make_late", "finish"]
    assert most == 1
