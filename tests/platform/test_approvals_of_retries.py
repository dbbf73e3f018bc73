"""Approvals in a retried action, over HTTP and MCP: each attempt asks, and an answer counts for its attempt alone."""

from __future__ import annotations

from tactician import (
    Ai,
    Export,
    Platform,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    tool,
)
from tactician.process import ActionRetryPolicy
from tactician.serve import McpPublisher
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.api.serving import find, served, start
from tests.serve.mcp.kitchen import Person, connect

PAID: list[int] = []


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    PAID.append(amount)
    return "paid"


@planned_agent(name="Payer", description="pays")
class Payer:
    def __init__(self) -> None:
        self.attempts = 0

    @achieves_goal("paid", export=Export(remote=True, name="pay_bill"))
    @action(retry=ActionRetryPolicy(attempts=3, delay=0, on=(OSError,)))
    async def settle(self, bill: UserInput, ai: Ai) -> str:
        said = await ai.with_tools(pay).generate_text(bill.content)
        self.attempts += 1
        if self.attempts == 1:
            raise OSError("the line broke")
        return said


def create_platform() -> Platform:
    PAID.clear()
    model = ScriptedModel(ToolCall("pay", amount=3), "done", ToolCall("pay", amount=3), "done")
    return Platform(model, store=MemoryStore()).register(Payer())


async def test_over_http_each_attempt_asks_and_no_answer_counts_for_another() -> None:
    async with served(create_platform()) as client:
        run_id = await start(client, "payer", {"content": "pay 3"})
        for paid in ([], [3]):
            (request,) = (await find(client, run_id, "waiting"))["pending"]
            assert paid == PAID
            answer = {"request": request["id"], "response": True}
            assert (await client.post(f"/api/runs/{run_id}/answers", json=answer)).status_code == 200
            repeated = await client.post(f"/api/runs/{run_id}/answers", json=answer)
            assert repeated.status_code == 409
        assert (await find(client, run_id, "completed"))["result"] == "done"
    assert PAID == [3, 3]


async def test_over_mcp_each_attempt_asks_and_a_rejection_counts_for_its_own_call() -> None:
    person = Person({"approved": True}, {"approved": False})
    async with create_platform() as platform, connect(McpPublisher(platform), person=person) as client:
        result = await client.call_tool("pay_bill", {"content": "pay 3"})
    assert len(person.asked) == 2
    assert not result.is_error, result
    assert PAID == [3]
