"""Ensembles inside other Runnables, and others inside of ensembles, that wait for a person and go on elsewhere."""

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
    Phase,
    Platform,
    RouterAgent,
    Runnable,
    RunStatus,
    SupervisorAgent,
    Task,
    UserInput,
    Workflow,
    achieves_goal,
    action,
    approve,
    handoff,
    planned_agent,
    runnable,
    tool,
)
from tactician.agents.planned.specs import as_runnable
from tactician.platform import Worker
from tactician.testing import ScriptedModel, ToolCall
from tests.ensemble.support import CallsOnce, note
from tests.support.stored import JsonStore, load_record

Log = list[str]
Build = Callable[[Log], Runnable]


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


def till(log: Log) -> Ensemble:
    """An ensemble that notes a task, and then pays, which needs an approval."""
    return Ensemble("Till", [Task("first", handler=note(log, "first")), Task("Pay", agent=cashier())])


def tool_of_an_agent(log: Log) -> Runnable:
    model = CallsOnce("till", request="pay")
    return Agent("Whole", model=model, tools=[till(log).as_tool()])


def route(log: Log) -> Runnable:
    return RouterAgent("Whole", model=ScriptedModel("1"), routes={"pays": till(log)})


def worker(log: Log) -> Runnable:
    lead = CallsOnce("invoke_till", request="pay")
    return SupervisorAgent("Whole", model=lead, workers={"pays": till(log)})


def member(log: Log) -> Runnable:
    return ParallelAgents("Whole", [till(log)])


def handoff_target(log: Log) -> Runnable:
    return Agent("Whole", model=ScriptedModel(ToolCall("transfer_to_till")), handoffs=[handoff(till(log))])


def step_of_a_plan(log: Log) -> Runnable:
    ensemble = till(log)

    @planned_agent(description="Pays")
    class Whole:
        @achieves_goal("It is paid")
        @action
        async def pay(self, request: UserInput) -> Receipt:
            return Receipt((await ensemble.run(request)).raw)

    planned = as_runnable(Whole())
    assert planned is not None
    return planned


def step_of_a_function(log: Log) -> Runnable:
    ensemble = till(log)

    @runnable
    async def whole(text: str) -> str:
        return (await ensemble.run(text)).raw

    return whole


def agent_of_a_task(log: Log) -> Runnable:
    return Ensemble("Whole", [Task("Do it", agent=till(log))])


def constellation_of_a_task(log: Log) -> Runnable:
    panel = ParallelAgents("Panel", [cashier()])
    return Ensemble("Whole", [Task("first", handler=note(log, "first")), Task("Do it", agent=panel)])


def planned_agent_of_a_task(log: Log) -> Runnable:
    return Ensemble("Whole", [Task("Do it", agent=step_of_a_plan(log))])


def task(log: Log) -> Runnable:
    return Ensemble("Whole", [till(log)])


def part_of_a_phase(log: Log) -> Runnable:
    return Ensemble("Whole", phases=[Phase("pay", [till(log)])])


def worker_of_a_hierarchy(log: Log) -> Runnable:
    boss = Agent("Boss", model=CallsOnce("delegate_task", role="Till", task="Pay"))
    return Ensemble("Whole", [till(log)], workflow=Workflow.HIERARCHICAL, manager=boss)


def task_of_a_loop(log: Log) -> Runnable:
    return Ensemble("Whole", [Loop([till(log)], max_iterations=1)])


def state_of_a_graph(log: Log) -> Runnable:
    return Ensemble("Whole", [Graph({"pay": till(log)}, start="pay", edges=[Edge("pay", END)])])


def item_of_a_map_reduce(log: Log) -> Runnable:
    combine = Task("Combine", handler=lambda task: task.context_outputs[0].raw)
    return Ensemble("Whole", [MapReduce(["x"], map=lambda item: till(log), reduce=lambda outputs: combine)])


@pytest.mark.parametrize(
    "build",
    [
        tool_of_an_agent,
        route,
        worker,
        member,
        handoff_target,
        step_of_a_plan,
        step_of_a_function,
        agent_of_a_task,
        constellation_of_a_task,
        planned_agent_of_a_task,
        task,
        part_of_a_phase,
        worker_of_a_hierarchy,
        task_of_a_loop,
        state_of_a_graph,
        item_of_a_map_reduce,
    ],
)
async def test_a_person_is_waited_for_inside_and_the_run_goes_on_in_another_process(build: Build) -> None:
    store, log = JsonStore(), Log()
    whole = build(log)
    first = Platform(models=ScriptedModel(), store=store).register(whole)
    run_id = await first.enqueue(whole.name, "pay")
    await Worker(first).run_once()
    record = await load_record(store, run_id)
    assert (record.status, log) == (RunStatus.WAITING, ["first"])
    second = Platform(models=ScriptedModel(), store=store).register(build(log))
    await second.respond(run_id, record.header.pending[0].id, approve())
    await Worker(second).run_once()
    record = await load_record(store, run_id)
    assert (record.status, log) == (RunStatus.COMPLETED, ["first"])
    assert "paid" in str(record.header.output) or record.header.output == "done"
