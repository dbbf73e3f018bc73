"""Loops, graphs and map-reduces outside of ensembles: wherever a Runnable fits, with a person inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tactician import (
    END,
    Agent,
    Edge,
    Ensemble,
    Graph,
    Loop,
    MapReduce,
    ParallelAgents,
    Platform,
    RouterAgent,
    Runnable,
    RunStatus,
    SupervisorAgent,
    Task,
    UserInput,
    achieves_goal,
    action,
    approve,
    handoff,
    planned_agent,
    tool,
)
from tactician.agents.planned.specs import as_runnable
from tactician.ensemble import EnsembleDefinitionError, TaskInput
from tactician.platform import Worker
from tactician.testing import ScriptedModel, ToolCall
from tests.ensemble.support import CallsOnce, note, over, prompt_of
from tests.support.stored import JsonStore, load_record

Log = list[str]
Group = Loop | Graph | MapReduce[str]


@dataclass
class Receipt:
    text: str


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def cashier() -> Agent:
    """An agent that pays, which needs an approval."""
    return Agent(role="Payer", model=CallsOnce("pay", "paid", amount=7), tools=[pay])


def loop(log: Log) -> Loop:
    """A loop that notes a task, and then pays."""
    return Loop([Task("first", handler=note(log, "first")), Task("Pay", agent=cashier())], id="Till", max_iterations=1)


def graph(log: Log) -> Graph:
    """A graph that does the same."""
    states = {"first": Task("first", handler=note(log, "first")), "pay": Task("Pay", agent=cashier())}
    return Graph(states, start="first", edges=[Edge("first", "pay"), Edge("pay", END)], id="Till")


def map_reduce(log: Log) -> MapReduce[str]:
    """A map-reduce that does the same."""
    first = Task("first", handler=note(log, "first"))
    return MapReduce(["x"], map=lambda _: first, reduce=lambda _: Task("Pay", agent=cashier()), id="Till")


def alone(group: Group) -> Runnable:
    return group


def tool_of_an_agent(group: Group) -> Runnable:
    return Agent("Whole", model=CallsOnce("till", request="pay"), tools=[group.as_tool()])


def route(group: Group) -> Runnable:
    return RouterAgent("Whole", model=ScriptedModel("1"), routes={"pays": group})


def worker(group: Group) -> Runnable:
    return SupervisorAgent("Whole", model=CallsOnce("invoke_till", request="pay"), workers={"pays": group})


def member(group: Group) -> Runnable:
    return ParallelAgents("Whole", [group])


def handoff_target(group: Group) -> Runnable:
    return Agent("Whole", model=ScriptedModel(ToolCall("transfer_to_till")), handoffs=[handoff(group)])


def step_of_a_plan(group: Group) -> Runnable:
    @planned_agent(description="Pays")
    class Whole:
        @achieves_goal("It is paid")
        @action
        async def pay(self, request: UserInput) -> Receipt:
            return Receipt((await group.run(request)).raw)

    planned = as_runnable(Whole())
    assert planned is not None
    return planned


def agent_of_a_task(group: Group) -> Runnable:
    return Ensemble("Whole", [Task("Do it", agent=group)])


def task(group: Group) -> Runnable:
    return Ensemble("Whole", [group])


@pytest.mark.parametrize("make", [loop, graph, map_reduce])
@pytest.mark.parametrize(
    "build",
    [alone, tool_of_an_agent, route, worker, member, handoff_target, step_of_a_plan, agent_of_a_task, task],
)
async def test_it_works_there_and_goes_on_in_another_process(
    build: Callable[[Group], Runnable], make: Callable[[Log], Group]
) -> None:
    store, log = JsonStore(), Log()
    whole = build(make(log))
    first = Platform(models=ScriptedModel(), store=store).register(whole)
    run_id = await first.enqueue(whole.name, "pay")
    await Worker(first).run_once()
    record = await load_record(store, run_id)
    assert (record.status, log) == (RunStatus.WAITING, ["first"])
    second = Platform(models=ScriptedModel(), store=store).register(build(make(log)))
    await second.respond(run_id, record.header.pending[0].id, approve())
    await Worker(second).run_once()
    record = await load_record(store, run_id)
    assert (record.status, log) == (RunStatus.COMPLETED, ["first"])
    assert "paid" in str(record.header.output) or record.header.output == "done"


async def test_its_input_is_that_of_an_ensemble_with_the_group_alone() -> None:
    model = ScriptedModel("a rhyme", "better")
    improve = Loop([Task("Rhyme on {topic}", id="r", model=model)], max_iterations=2)
    result = await improve.run({"topic": "frogs"}, context=over())
    assert (result.raw, result["r"].raw) == ("better", "better")
    assert prompt_of(model).endswith("## Task\n\nRhyme on frogs")
    with pytest.raises(EnsembleDefinitionError, match="no value for 'topic'"):
        await improve.run("frogs", context=over())


async def test_the_text_of_the_caller_reaches_its_first_task() -> None:
    def show(task: TaskInput) -> str:
        return task.text

    assert (await Loop([Task("Show", handler=show)], max_iterations=1).run("frogs", context=over())).raw == "frogs"


def test_it_has_a_drawing_and_can_be_used_without_an_event_loop() -> None:
    group = Loop([Task("Show", handler=lambda _: "x")], id="Show it", max_iterations=1)
    assert group.run_sync().raw == "x"
    assert "Show" in group.to_mermaid()
    assert group.name == "Show it"
