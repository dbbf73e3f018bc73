"""An approval counts for the call that a person has seen, and for no call of a later attempt at the action."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import Agent, Planned, Platform, ProcessStatus, UserInput, achieves_goal, action, planned_agent, tool
from tactician.errors import TransientError
from tactician.llm import AssistantMessage, ModelResponse, Usage
from tactician.llm import ToolCall as CalledTool
from tactician.runs import approve
from tactician.testing import ScriptedModel
from tests.support.stored import JsonStore


@dataclass
class Paid:
    text: str


class Till:
    """What was paid, and how often the action still fails."""

    def __init__(self, failures: int) -> None:
        self.paid: list[int] = []
        self.failures = failures


def call(amount: int) -> ModelResponse:
    """The same id for each call, as models that number their calls give it."""
    pay = CalledTool("call_1", "pay", f'{{"amount": {amount}}}')
    return ModelResponse(AssistantMessage((pay,)), Usage(requests=1, model="m"), "tool_calls", "m")


def create_platform(till: Till, store: JsonStore, *steps: object) -> Platform:
    @tool(needs_approval=True)
    def pay(amount: int) -> str:
        till.paid.append(amount)
        return "paid"

    @planned_agent(description="pays")
    class Payer(Planned[Paid]):
        @achieves_goal("paid")
        @action
        async def pay(self, order: UserInput) -> Paid:
            result = await Agent("Clerk", tools=[pay]).run("pay")
            if till.failures:
                till.failures -= 1
                raise TransientError("busy")
            return Paid(result.output)

    return Platform(ScriptedModel(*steps), store=store).register(Payer())


@pytest.mark.parametrize("restarts", [False, True])
async def test_an_approval_of_one_attempt_does_not_count_in_the_next(restarts: bool) -> None:
    till, store = Till(failures=1), JsonStore()
    platform = create_platform(till, store, call(10), "done", call(1000), "done")
    process = await platform.start("Payer", "x")
    [first] = process.pending
    again = await platform.respond(process.id, first.id, approve())
    assert till.paid == [10]
    assert again.status == ProcessStatus.WAITING
    [second] = again.pending
    assert second.id != first.id
    assert "1000" in second.prompt

    if restarts:
        platform = create_platform(till, store, "done")
    ended = await platform.respond(process.id, second.id, approve())
    assert (ended.status, till.paid) == (ProcessStatus.COMPLETED, [10, 1000])
