"""What the domain model says of defaults, of order and of what nobody can change. `SENTENCES.md` names all tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest
from pydantic import BaseModel

from tactician import Agent, Ensemble, HierarchicalConstraints, RunContext, Task, Workflow, tool
from tactician.ensemble import TaskFailedError, TaskInput
from tactician.errors import DeclarationError
from tactician.llm.model_sources import as_model_source
from tactician.runs import Services
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.ensemble.support import over, says


class Report(BaseModel):
    title: str


class Shop:
    """An object with a method that is a tool."""

    @tool
    def find_price(self, article: str) -> int:
        """Find a price."""
        return len(article)


async def test_an_agent_uses_functions_tools_and_the_declared_methods_of_objects() -> None:
    def look(place: str) -> str:
        """Look."""
        return f"{place} is empty"

    model = ScriptedModel(ToolCall("find_price", article="tea"), ToolCall("look", place="here"), "done")
    agent = Agent("Clerk", model=model, tools=[Shop().find_price, look])
    result = await Ensemble("E", [Task("Buy tea", agent=agent)]).run(context=over())
    assert result.total_tool_calls == 2


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (7, "7 is not declared correctly"),
        (object(), "a tool is a function, or an object made with @tool, or a Runnable such as an agent$"),
        (Shop(), "pass the methods of the object: find_price$"),
    ],
)
def test_what_is_no_tool_is_named_when_the_agent_is_made(entry: object, why: str) -> None:
    with pytest.raises(DeclarationError, match=why):
        Agent("Clerk", tools=[entry])  # type: ignore[list-item]


async def test_an_agent_without_a_model_uses_that_of_the_context() -> None:
    model = ScriptedModel("done")
    assert (await Ensemble("E", [Task("Go", agent=Agent(role="A"))]).run(context=over(model))).raw == "done"


async def test_an_agent_calls_tools_25_times_by_default_and_then_has_to_answer() -> None:
    def look(place: int) -> str:
        """Look."""
        return "seen"

    model = ScriptedModel(*(ToolCall("look", place=number) for number in range(25)), "done")
    task = Task("Go", agent=Agent("A", model=model, tools=[look], max_turns=100))
    result = await Ensemble("E", [task]).run(context=over())
    assert (result.raw, result.total_tool_calls) == ("done", 25)
    assert "Answer now" in model.calls[25].prompt
    assert "Answer now" not in model.calls[24].prompt


async def test_there_are_3_further_attempts_at_a_valid_output_by_default() -> None:
    model = ScriptedModel(*["no"] * 4)
    with pytest.raises(TaskFailedError):
        await Ensemble("E", [Task("Go", output_type=Report)], model=model).run(context=over())
    assert len(model.calls) == 4


def test_tasks_and_constraints_are_immutable() -> None:
    task, limits = Task("Go", agent=says("A", "a")), HierarchicalConstraints(max_calls_per_worker={"A": 1})
    for one, field in ((task, "description"), (limits, "max_delegations")):
        with pytest.raises(FrozenInstanceError):
            setattr(one, field, "x")
    with pytest.raises(TypeError):
        limits.max_calls_per_worker["A"] = 2  # type: ignore[index]
    roles, stages = {"A"}, [["A"], ["B"]]
    limits = HierarchicalConstraints(required_workers=roles, allowed_workers=["A", "B"], stages=stages)
    roles.add("B")
    stages[0].append("C")
    assert limits == HierarchicalConstraints({"A"}, ("B", "A"), stages=(("A",), ("B",)))


def waiting_for(*others: asyncio.Event, then: asyncio.Event) -> Callable[[TaskInput], object]:
    """Return a handler that ends after others."""

    async def handle(task: TaskInput) -> str:
        for other in others:
            await other.wait()
        then.set()
        return task.task_id

    return handle


async def test_the_outputs_are_those_of_all_tasks_and_the_last_one_of_the_list_is_that_of_the_ensemble() -> None:
    first, second = asyncio.Event(), asyncio.Event()
    tasks = [
        Task("slow", handler=waiting_for(second, then=first)),
        Task("quick", handler=waiting_for(then=second)),
    ]
    result = await Ensemble("E", tasks, workflow=Workflow.PARALLEL).run(context=over())
    assert [output.task_id for output in result.task_outputs] == ["quick", "slow"]
    assert result.raw == "quick"


async def test_the_duration_of_a_run_is_its_whole_time() -> None:
    clock = FakeClock()

    async def work(task: TaskInput) -> str:
        await clock.sleep(2)
        return "done"

    context = RunContext.outermost(Services(as_model_source(ScriptedModel()), clock=clock))
    result = await Ensemble("E", [Task("a", handler=work), Task("b", handler=work)]).run(context=context)
    assert (result.duration, [output.duration for output in result.task_outputs]) == (4.0, [2.0, 2.0])


async def test_a_delegation_that_a_constraint_blocks_has_a_response_that_failed() -> None:
    call = ToolCall("delegate_task", role="Writer", task="Write")
    manager = Agent("Boss", model=ScriptedModel(call, "done"))
    ensemble = Ensemble(
        "Firm",
        [Task("Report")],
        workflow=Workflow.HIERARCHICAL,
        manager=manager,
        agents=[says("Writer"), says("Editor")],
        constraints=HierarchicalConstraints(allowed_workers={"Editor"}),
    )
    (blocked,) = (await ensemble.run(context=over())).delegations
    assert (blocked.status, blocked.role, blocked.raw, blocked.parsed) == ("failure", "Writer", None, None)
    assert blocked.errors == ("'Writer' is not one of the allowed workers: 'Editor'",)


async def test_a_response_has_the_time_that_the_worker_took() -> None:
    clock = FakeClock()

    async def work(task: TaskInput) -> str:
        await clock.sleep(3)
        return "text"

    manager = Agent("Boss", model=ScriptedModel(ToolCall("delegate_task", role="w", task="Write"), "done"))
    task = Task("Write", id="w", handler=work)
    context = RunContext.outermost(Services(as_model_source(ScriptedModel()), clock=clock))
    firm = Ensemble("Firm", [task], workflow=Workflow.HIERARCHICAL, manager=manager)
    (response,) = (await firm.run(context=context)).delegations
    assert (response.raw, response.duration) == ("text", 3.0)
