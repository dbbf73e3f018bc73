"""How much a run and everything inside it may use."""

from __future__ import annotations

import pytest

from tactician import Agent, Budget, RunContext
from tactician.guardrails import GuardrailResult, passed
from tactician.llm import ModelRequest, ModelResponse
from tactician.runs import BudgetError, RunStatus
from tactician.testing import FakeClock, ScriptedModel, ToolCall


def step(n: int) -> str:
    return "done"


def endless(calls: int = 20) -> list[object]:
    return [ToolCall("step", n=n) for n in range(calls)]


async def test_turns() -> None:
    model = ScriptedModel(*endless())
    with pytest.raises(BudgetError, match="A: the budget of 3 turns is used up") as raised:
        await Agent("A", model=model, tools=[step]).run("hi", budget=Budget(turns=3))

    assert len(model.calls) == 3
    assert raised.value.result.usage.requests == 3
    assert raised.value.result.status is raised.value.status is RunStatus.TERMINATED


async def test_tokens_are_checked_before_each_call() -> None:
    model = ScriptedModel(*endless())
    with pytest.raises(BudgetError, match=r"the budget of 40 tokens is used up \(45 used\)"):
        await Agent("A", model=model, tools=[step]).run("hi", budget=Budget(tokens=40))

    assert len(model.calls) == 3


async def test_cost() -> None:
    model = ScriptedModel(*endless(), name="openai:gpt-5.4")
    with pytest.raises(BudgetError, match=r"the budget of \$0.00 is used up"):
        await Agent("A", model=model, tools=[step]).run("hi", budget=Budget(cost=0.00015))

    assert 1 < len(model.calls) < 10


async def test_seconds() -> None:
    clock = FakeClock()

    class Slow(ScriptedModel):
        async def generate(self, request: ModelRequest) -> ModelResponse:
            clock.advance(2)
            return await super().generate(request)

    model = Slow(*endless())
    with pytest.raises(BudgetError, match="the budget of 5 seconds is used up"):
        await Agent("A", tools=[step]).run("hi", context=RunContext.over(model, clock=clock), budget=Budget(seconds=5))
    assert len(model.calls) == 3


async def test_children_share_it() -> None:
    model = ScriptedModel(ToolCall("worker", request="a"), ToolCall("step", n=1), "worked", ToolCall("step", n=2), "x")
    worker = Agent("Worker", tools=[step])
    boss = Agent("Boss", tools=[worker.as_tool(), step])

    with pytest.raises(BudgetError, match="Boss: the budget of 4 turns"):
        await boss.run("hi", context=RunContext.over(model), budget=Budget(turns=4))

    assert len(model.calls) == 4


async def test_a_child_may_have_a_tighter_one() -> None:
    worker = Agent("Worker", tools=[step])
    outer = Agent("Outer", tools=[step])
    model = ScriptedModel(*endless())
    context = RunContext.over(model).child("all", Budget(turns=5))

    with pytest.raises(BudgetError, match="Worker: the budget of 2 turns"):
        await worker.run("hi", context=context, budget=Budget(turns=2))
    with pytest.raises(BudgetError, match="Outer: the budget of 5 turns"):
        await outer.run("hi", context=context, budget=Budget(turns=10))
    assert len(model.calls) == 5


async def test_without_one_there_is_no_limit_but_that_of_the_turns() -> None:
    model = ScriptedModel(*endless(9), "done")

    assert (await Agent("A", model=model, tools=[step]).run("hi")).output == "done"


async def test_a_deadline_ends_a_run_before_its_next_turn() -> None:
    clock = FakeClock()

    def wait() -> str:
        """Waits."""
        clock.advance(30)
        return "done"

    model = ScriptedModel(*(ToolCall("wait") for _ in range(9)))
    context = RunContext.over(model, clock=clock).with_deadline(clock.time() + 50).with_deadline(clock.time() + 500)
    inner = Agent("Inner", tools=[wait])

    with pytest.raises(BudgetError, match="Inner: the deadline of the run has passed"):
        await inner.run("hi", context=context)
    assert len(model.calls) == 2, "the earlier deadline counts"


async def test_a_deadline_holds_for_runs_inside_too() -> None:
    clock = FakeClock()
    model = ScriptedModel(ToolCall("inner", request="x"))
    context = RunContext.over(model, clock=clock).with_deadline(clock.time() + 1)

    def late(text: str) -> GuardrailResult:
        clock.advance(2)
        return passed()

    inner = Agent("Inner", model=ScriptedModel("unheard"), input_guardrails=[late])
    with pytest.raises(BudgetError, match="the deadline of the run has passed"):
        await Agent("Outer", tools=[inner.as_tool()]).run("hi", context=context)
