"""Objects that a process begins with under names of their own: in one spelling, everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest

from tactician import (
    Agent,
    OperationContext,
    PlannedAgent,
    Platform,
    SupervisorInvocation,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    by_name,
    component,
    planned_agent,
)
from tactician.errors import ConfigurationError
from tactician.process import AgentProcess, ProcessStatus
from tactician.runs import RunStatus
from tactician.testing import ScriptedModel, ToolCall
from tests.support.failures import without_lines
from tests.support.stored import JsonStore, respond, resume


@dataclass
class Thing:
    name: str


@dataclass
class Pair:
    text: str


@planned_agent(description="combines two things")
class Combiner:
    @achieves_goal("combined")
    @action
    def combine(self, one: Annotated[Thing, by_name], two: Annotated[Thing, by_name], between: str | None) -> Pair:
        return Pair(f"{one.name}{between or '-'}{two.name}")


@planned_agent(description="asks what is between")
class Asking:
    @achieves_goal("combined")
    @action
    async def combine(self, one: Annotated[Thing, by_name], two: Annotated[Thing, by_name]) -> Pair:
        between = await ask_human(Thing, "what is between?")
        return Pair(f"{one.name}{between.name}{two.name}")


NAMED = {"one": Thing("a"), "two": Thing("b")}


async def test_a_process_is_started_with_them() -> None:
    platform = Platform(ScriptedModel()).register(Combiner())
    assert (await platform.start("Combiner", named=NAMED)).result == Pair("a-b")
    assert await platform.invoke(Pair, named=NAMED) == Pair("a-b")
    assert await platform.invoke(Pair, 5, named={**NAMED, "between": "+"}) == Pair("a+b")  # text stays text
    spawned = await platform.spawn("Combiner", named={"one": Thing("x"), "two": Thing("y")})
    assert (await resume(platform, spawned.id)).result == Pair("x-y")


def test_without_an_event_loop() -> None:
    platform = Platform(ScriptedModel()).register(Combiner())
    assert platform.start_sync("Combiner", named=NAMED).result == Pair("a-b")
    assert platform.invoke_sync(Pair, named=NAMED) == Pair("a-b")


async def test_of_several_agents_the_one_is_found_that_can_begin_with_them() -> None:
    @planned_agent(description="needs another name")
    class Other:
        @achieves_goal("combined")
        @action
        def combine(self, three: Annotated[Thing, by_name]) -> Pair:
            return Pair(three.name)

    platform = Platform(ScriptedModel()).register(Combiner(), Other())
    assert await platform.invoke(Pair, named={"three": Thing("c")}) == Pair("c")


async def test_an_agent_is_run_with_them() -> None:
    assert (await PlannedAgent(Combiner()).run(named=NAMED)).output == Pair("a-b")
    agent = PlannedAgent(Combiner())
    assert (await agent.run((UserInput("x"), "+"), named=NAMED)).output == Pair("a-b")
    assert (await agent.create_process(named=NAMED).outlook()) is not None
    assert (await Combiner().run(named=NAMED)).output == Pair("a-b")  # type: ignore[attr-defined]


async def test_a_model_that_leads_has_them() -> None:
    @component
    class Kitchen:
        @action
        def combine(self, one: Annotated[Thing, by_name]) -> Pair:
            return Pair(one.name)

    invocation = SupervisorInvocation(Platform(ScriptedModel(ToolCall("combine")))).returning(Pair).within(Kitchen())
    assert await invocation.run("x", named={"one": Thing("a")}) == Pair("a")


async def test_they_are_kept() -> None:
    store = JsonStore()
    platform = Platform(ScriptedModel(), store=store).register(Asking())
    process_id = await platform.enqueue("Asking", named=NAMED)
    process = await resume(platform, process_id)
    assert process.status is ProcessStatus.WAITING

    other = Platform(ScriptedModel(), store=store).register(Asking())
    process = await respond(other, process, Thing(" and "))
    assert process.result == Pair("a and b")


async def test_a_run_with_them_may_wait() -> None:
    agent = PlannedAgent(Asking())
    context = Platform(ScriptedModel()).context()
    waiting = await agent.run(named=NAMED, context=context)
    assert waiting.status is RunStatus.WAITING
    done = await agent.resume(waiting.run_id, {waiting.pending[0].id: Thing("+")}, context=context)
    assert done.output == Pair("a+b")


async def test_what_is_missing_is_told_by_its_name() -> None:
    process: AgentProcess = await Platform(ScriptedModel()).start(Combiner(), named={"one": Thing("a")})
    assert process.status is ProcessStatus.STUCK
    assert process.failure is not None
    assert "'two: Thing' is missing and no action provides it" in process.failure


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("tow", "Nothing takes an object by the name 'tow'. Did you mean 'two'?"),
        ("nosuch", "Nothing takes an object by the name 'nosuch'. What is missing is taken by 'two'."),
    ],
)
async def test_a_name_that_nothing_takes_is_told_too(name: str, told: str) -> None:
    process = await Platform(ScriptedModel()).start(Combiner(), named={"one": Thing("a"), name: Thing("b")})
    assert process.failure is not None
    assert told in process.failure


async def test_a_name_that_nothing_needs_is_not_told_when_no_name_is_missing() -> None:
    @planned_agent(description="needs more than a thing with a name")
    class Needing:
        @achieves_goal("combined")
        @action
        def combine(self, one: Annotated[Thing, by_name], other: Pair) -> str:
            return one.name

    process = await Platform(ScriptedModel()).start(Needing(), named={"one": Thing("a"), "spare": Thing("b")})
    assert process.failure is not None
    assert "spare" not in process.failure


@pytest.mark.parametrize("name", ["", "it", "not a name", 3])
async def test_what_is_no_name(name: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a valid name for an object: use the name of a parameter"):
        await Platform(ScriptedModel()).start(Combiner(), named={name: Thing("a")})


async def test_an_action_runs_another_agent_with_them() -> None:
    @planned_agent(description="has others combine")
    class Outer:
        @achieves_goal("combined")
        @action
        async def run(self, thing: Thing, context: OperationContext) -> str:
            pair = await context.run_agent(Combiner(), Pair, named={"one": thing, "two": Thing("b")})
            return pair.text

    assert (await Platform(ScriptedModel()).start(Outer(), Thing("a"))).result == "a-b"


async def test_what_is_no_planned_agent_does_not_take_them() -> None:
    @planned_agent(description="asks the wrong one")
    class Outer:
        @achieves_goal("combined")
        @action
        async def run(self, thing: Thing, context: OperationContext) -> str:
            return await context.run_agent(Agent("Plain"), str, named={"one": thing})

    process = await Platform(ScriptedModel()).start(Outer(), Thing("a"))
    assert without_lines(process.failure) == (
        "run raised ConfigurationError: Plain is not a planned agent: named objects need one."
    )
