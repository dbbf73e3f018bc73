"""Runnables that are no planned agents, but say what they give: they are found, and have processes."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import (
    Agent,
    Platform,
    ProcessOptions,
    ProcessStatus,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
    repeat_until,
    repeat_until_acceptable,
    scatter_gather,
    simple_agent,
)
from tactician.agents.flows import Feedback, Scored
from tactician.errors import AgentNotFoundError, RunNotFoundError
from tactician.platform import Worker
from tactician.runs import Budget, RunResult
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.support.stored import JsonStore, respond


@dataclass(frozen=True)
class Joke:
    text: str


@dataclass(frozen=True)
class Poem:
    text: str


def tell(topic: str) -> Joke:
    return Joke(f"{topic}!")


async def test_a_flow_is_found_by_what_it_gives() -> None:
    platform = Platform(ScriptedModel()).register(simple_agent(Joke, tell, name="joker"))
    assert await platform.invoke(Joke, "frogs") == Joke("frogs!")
    process = await platform.start("joker", "hares")
    assert (process.status, process.result) == (ProcessStatus.COMPLETED, Joke("hares!"))
    assert [run.action for run in process.history] == ["joker"]


async def test_every_flow_is() -> None:
    def judge(joke: Joke) -> Feedback:
        return Feedback(score=1)

    platform = Platform(ScriptedModel()).register(
        scatter_gather(Joke, [tell, tell], lambda jokes: jokes[1], name="two"),
        repeat_until(Poem, lambda topic: Poem(topic), lambda poem: True, name="poet"),
        repeat_until_acceptable(Joke, tell, judge, name="judged"),
    )
    assert await platform.invoke(Joke, "frogs") == Joke("frogs!")
    assert await platform.invoke(Poem, "frogs") == Poem("frogs")
    assert (await platform.invoke(Scored, "frogs")).value == Joke("frogs!")


async def test_an_agent_with_tools_is_when_it_says_what_it_gives() -> None:
    model = ScriptedModel(Joke("a joke"), "a text")
    platform = Platform(model).register(Agent("Talker"), Agent("Joker", output_type=Joke))
    assert await platform.invoke(Joke, "frogs") == Joke("a joke")
    with pytest.raises(AgentNotFoundError, match=r"No registered agent yields a Poem.*: Joke"):
        await platform.invoke(Poem, "frogs")
    assert (await platform.start("Talker", "frogs")).result == "a text"


async def test_several_objects_are_passed_together() -> None:
    async def join(given: object) -> Joke:
        return Joke(repr(given))

    platform = Platform(ScriptedModel()).register(simple_agent(Joke, join))
    assert await platform.invoke(Joke, "frogs", Poem("p")) == Joke("('frogs', Poem(text='p'))")


async def test_a_planned_agent_comes_first() -> None:
    @planned_agent(description="plans jokes")
    class Planner:
        @achieves_goal("joked")
        @action
        def joke(self, poem: Poem) -> Joke:
            return Joke(poem.text)

    platform = Platform(ScriptedModel()).register(simple_agent(Joke, lambda given: Joke("simple")), Planner())
    assert await platform.invoke(Joke, Poem("planned")) == Joke("planned")
    assert await platform.invoke(Joke, "no poem") == Joke("simple")


async def test_what_runs_in_it_is_counted_and_limited() -> None:
    model = ScriptedModel("no joke", "none either", "nor this")
    platform = Platform(model).register(Agent("Joker", output_type=Joke))
    process = await platform.start("Joker", "frogs", options=ProcessOptions(budget=Budget(turns=1)))
    assert process.status is ProcessStatus.TERMINATED
    assert process.usage.requests == 1


async def test_one_that_waits_goes_on_elsewhere_and_with_a_worker() -> None:
    async def ask(topic: str) -> Joke:
        return Joke(await ask_human(str, f"A joke on {topic}?"))

    store = JsonStore()
    first = Platform(ScriptedModel(), store=store).register(simple_agent(Joke, ask, name="asker"))
    second = Platform(ScriptedModel(), store=store).register(simple_agent(Joke, ask, name="asker"))
    process = await first.start("asker", "frogs")
    assert [request.prompt for request in process.pending] == ["A joke on frogs?"]
    assert (await respond(second, process, "hop")).result == Joke("hop")

    run_id = await first.enqueue("asker", "hares")
    assert await Worker(second).run_once()
    (record,) = await first.list_waiting_runs()
    (request,) = record.pending
    assert (record.id, request.prompt) == (run_id, "A joke on hares?")
    result = await first.respond(run_id, request.id, "run")
    assert isinstance(result, RunResult)
    assert result.output == Joke("run")


async def test_one_that_was_enqueued_is_no_process() -> None:
    platform = Platform(ScriptedModel(), store=MemoryStore()).register(simple_agent(Joke, tell, name="joker"))
    run_id = await platform.enqueue("joker", "frogs")
    with pytest.raises(RunNotFoundError, match=f"{run_id} is a run of 'joker', and no process: see"):
        await platform.process(run_id)
