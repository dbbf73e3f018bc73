"""A budget that is used up inside a guardrail ends the run around it as any limit does."""

from __future__ import annotations

import pytest

from tactician import Agent, Budget, Platform, guardrails
from tactician.guardrails import GuardrailError, GuardrailResult
from tactician.runs import RunStatus
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall

checker = Agent("Checker", model=ScriptedModel(*["fine"] * 9))


async def ask(text: str) -> GuardrailResult:
    await checker.run(text)
    return guardrails.passed()


async def ask_about_a_call(call: object) -> GuardrailResult:
    await checker.run("May it?")
    return guardrails.passed()


def step() -> str:
    return "done"


@pytest.mark.parametrize(
    "agent",
    [
        Agent("A", model=ScriptedModel("text"), output_guardrails=[ask]),
        Agent("A", model=ScriptedModel(ToolCall("step")), tools=[step], tool_input_guardrails=[ask_about_a_call]),
    ],
    ids=["output", "tool input"],
)
async def test_the_run_is_terminated(agent: Agent) -> None:
    platform = Platform(ScriptedModel(), store=MemoryStore())
    with pytest.raises(GuardrailError, match="the budget of 1 turn is used up") as raised:
        await agent.run("x", context=platform.context(), budget=Budget(turns=1))
    assert raised.value.result.status is RunStatus.TERMINATED
    (run,) = await platform.runs()
    assert run.status == "terminated"


async def test_a_guardrail_that_breaks_fails_the_run() -> None:
    def broken(text: str) -> GuardrailResult:
        raise KeyError(text)

    platform = Platform(ScriptedModel(), store=MemoryStore())
    with pytest.raises(GuardrailError):
        await Agent("A", model=ScriptedModel("x"), output_guardrails=[broken]).run("x", context=platform.context())
    (run,) = await platform.runs()
    assert run.status == "failed"
