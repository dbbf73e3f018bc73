"""Idempotency keys of tool calls: no two calls of a run have the same, and a repeated call has the key that it had."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from tactician import (
    Agent,
    Ensemble,
    PlannedAgent,
    Platform,
    Task,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    tool,
)
from tactician.conversation import SlidingWindow
from tactician.ensemble import InProcessMemory, Scope
from tactician.errors import TransientError
from tactician.llm import AssistantMessage, Features, ModelResponse, ToolCall
from tactician.loop import Autonomous
from tactician.platform import Worker
from tactician.process import ActionRetryPolicy
from tactician.runs import RunContext, Runnable, TurnLimitError
from tactician.testing import ScriptedModel
from tactician.tools import RunnableTool
from tactician.tools.runnable import ToolRequest
from tests.support.effort import examples
from tests.support.stored import JsonStore, change_tree

Turns = Sequence[Sequence[str]]
"""The ids of the calls in each turn of a model."""


@dataclass
class Paid:
    text: str


class Bank:
    """Payments with their keys. Each amount is asked for once; a repeated call pays it again."""

    def __init__(self) -> None:
        self.payments: list[tuple[int, str]] = []
        self.has_paid = asyncio.Event()
        self._amounts = iter(range(10_000))

    def call(self, call_id: str) -> ToolCall:
        """Return a call that pays the next amount."""
        return ToolCall(call_id, "pay", to_json({"amount": next(self._amounts)}).decode())

    def create_payer(self, turns: Turns, *, is_emulated: bool = False, answers_each: bool = False) -> Agent:
        """Return an agent that pays in these turns; they pass also when the worker dies.

        Args:
            turns: the turns.
            is_emulated: true when the model has no tool calls of its own, and its oldest turns are hidden.
            answers_each: true when it answers after each turn.
        """

        @tool
        async def pay(amount: int, context: RunContext) -> str:
            """Pay."""
            self.payments.append((amount, context.idempotency_key))
            self.has_paid.set()
            await asyncio.sleep(0)
            return "paid " + "x" * 200

        steps: list[ModelResponse | str] = []
        for ids in turns:
            calls = [self.call(call_id) for call_id in ids]
            if is_emulated:
                steps += [f'{{"tool": "pay", "arguments": {call.arguments}}}' for call in calls]
            else:
                steps.append(respond_with(*calls))
            steps += ["done"] * answers_each
        steps += ['{"answer": "done"}' if is_emulated else "done"] * 3
        window = SlidingWindow(max_tokens=150) if is_emulated else None
        model = ScriptedModel(*steps, features=Features() if is_emulated else None)
        return Agent("Payer", model=model, tools=[pay], window=window)

    def assert_keys(self) -> None:
        """Assert that each amount has a key of its own, however often it was paid."""
        keys: dict[int, set[str]] = {}
        for amount, key in self.payments:
            keys.setdefault(amount, set()).add(key)
        assert all(len(of_amount) == 1 for of_amount in keys.values()), "a repeated call has another key"
        assert len({key for of_amount in keys.values() for key in of_amount}) == len(keys), "two calls share a key"


def respond_with(*calls: ToolCall) -> ModelResponse:
    return ModelResponse(AssistantMessage(calls), finish_reason="tool_calls")


def create_lead(worker: Runnable, count: int) -> Agent:
    """Return an agent that calls another so often, each time under the same id."""
    tool = RunnableTool(worker, arguments=ToolRequest)
    calls = [ToolCall("call_0", tool.name, f'{{"request": "pay {number}"}}') for number in range(count)]
    return Agent("Lead", model=ScriptedModel(*map(respond_with, calls), *["done"] * 3), tools=[tool])


def pay_alone(bank: Bank, turns: Turns) -> Runnable:
    return bank.create_payer(turns)


def pay_without_tool_calls(bank: Bank, turns: Turns) -> Runnable:
    return bank.create_payer(turns, is_emulated=True)


def pay_for_another(bank: Bank, turns: Turns) -> Runnable:
    return create_lead(bank.create_payer(turns, answers_each=True), len(turns))


def pay_in_an_ensemble(bank: Bank, turns: Turns) -> Runnable:
    payer = bank.create_payer(turns, answers_each=True)
    return create_lead(Ensemble("Payers", [Task("Pay", agent=payer)]), len(turns))


def pay_in_an_action(bank: Bank, turns: Turns) -> Runnable:
    """Return a planned agent whose action fails after each payment but the last."""
    payer, left = bank.create_payer(turns, answers_each=True), len(turns)

    @planned_agent(name="Planner", description="pays")
    class Planner:
        @achieves_goal("all is paid")
        @action(retry=ActionRetryPolicy(attempts=10, delay=0))
        async def work(self, asked: UserInput) -> Paid:
            nonlocal left
            text = (await payer.run("pay")).output
            left -= 1
            if left > 0:
                raise TransientError("once more")
            return Paid(text)

    return PlannedAgent(Planner())


KINDS = [pay_alone, pay_without_tool_calls, pay_for_another, pay_in_an_ensemble, pay_in_an_action]
call_ids = st.sampled_from(["call_0", "call_1", "call_0_2", ""])
all_turns = st.lists(st.lists(call_ids, min_size=1, max_size=3), min_size=1, max_size=5)


async def run_with_crash(build: Callable[[], Runnable], moment: int) -> None:
    """Run an agent whose worker dies after some steps of the event loop; another one continues the run."""
    store = JsonStore()
    agent = build()
    platform = Platform(store=store).register(agent)
    await platform.enqueue(agent.name, "pay")
    working = asyncio.create_task(Worker(platform).run_once())
    for _ in range(moment):
        await asyncio.sleep(0)
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working
    await Worker(Platform(store=store).register(agent)).run_once()


@pytest.mark.parametrize("kind", KINDS)
@examples(12)
@given(turns=all_turns, moment=st.integers(0, 150))
def test_keys_are_distinct_over_the_run_and_stable_over_a_crash(
    kind: Callable[[Bank, Turns], Runnable], turns: Turns, moment: int
) -> None:
    bank = Bank()
    asyncio.run(run_with_crash(lambda: kind(bank, turns), moment))
    bank.assert_keys()
    assert bank.payments or moment


async def test_an_agent_that_starts_again_forgets_no_ids() -> None:
    bank = Bank()
    payer = bank.create_payer([["call_0"], ["call_0"], ["call_0"]])
    payer = Agent("Payer", model=payer.model, tools=list(payer.tools), autonomy=Autonomous(max_iterations=1, retries=2))
    with suppress(TurnLimitError):
        await payer.run("pay")
    assert len(bank.payments) == 3
    bank.assert_keys()


async def test_an_ensemble_that_is_called_again_under_the_same_id_leaves_an_entry_each_time() -> None:
    memory = InProcessMemory({"project": Scope(keep_last=9)})
    writer = Agent("Writer", model=ScriptedModel("one", "two", "three"))
    ensemble = Ensemble("E", [Task("Write", agent=writer, memory=["project"])], memory=memory)
    await create_lead(ensemble, 3).run("go")
    assert sorted(entry.content for entry in await memory.recall("project", "go", limit=9)) == ["one", "three", "two"]


async def test_a_call_in_flight_that_an_earlier_version_has_saved_keeps_its_key() -> None:
    bank, store = Bank(), JsonStore()
    lead = create_lead(bank.create_payer([["call_0"]]), 1)
    platform = Platform(store=store).register(lead)
    run_id = await platform.enqueue("Lead", "pay")
    working = asyncio.create_task(Worker(platform).run_once())
    await bank.has_paid.wait()
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working
    await change_tree(store, run_id, forget_series)
    await Worker(Platform(store=store).register(lead)).run_once()
    assert [amount for amount, _ in bank.payments] == [0, 0]
    assert bank.payments[1][1] == f"{run_id}/call_0/Payer/call_0", "as the earlier version has made it"


def forget_series(tree: dict[str, Any]) -> None:
    """Remove what earlier versions have not saved."""
    for name in ("series", "forgotten"):
        tree["data"].get("counts", {}).pop(name, None)
    for child in tree["children"].values():
        forget_series(child)
