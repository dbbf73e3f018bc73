"""A thousand runs of one ensemble at once: no state of one run is seen in another."""

from __future__ import annotations

import asyncio
import re

from tactician import Agent, Delegation, Ensemble, RunContext, Task
from tactician.ensemble import DelegationContext, DelegationDecision, DelegationRequest, EnsembleResult
from tactician.ensemble.delegation import allow
from tactician.llm import AssistantMessage, ModelRequest, ModelResponse, Text, ToolCall, Usage
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.support.stored import JsonStore

RUNS = 1_000


class EchoModel(ScriptedModel):
    """Model that answers with the number in its prompt. With a tool, it delegates first."""

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the call, or the answer."""
        await asyncio.sleep(0)
        number = re.findall(r"No\. (\d+)", request.prompt)[0]
        if request.tools and request.messages[-1].role == "user":
            arguments = f'{{"role": "Writer", "task": "Write No. {number}"}}'
            return ModelResponse(AssistantMessage((ToolCall("call", "delegate_task", arguments),)), usage=Usage(1, 1))
        told = [message.text for message in request.messages if message.role == "tool"]
        return ModelResponse(AssistantMessage((Text(" ".join([*told, f"answer {number}"])),)), usage=Usage(1, 1))


def office(asked: list[str]) -> Ensemble:
    """An analyst who delegates to a writer, a reviewer beside, and a function that reads both."""

    async def note(request: DelegationRequest, context: DelegationContext) -> DelegationDecision:
        asked.append(request.task)
        await asyncio.sleep(0)
        return allow()

    model = EchoModel()
    analyst = Agent(role="Analyst", allow_delegation=True, model=model)
    writer = Agent(role="Writer", model=model)
    analysis = Task("Analyse No. {number}", agent=analyst)
    review = Task("Review No. {number}", agent=writer)
    both = Task(
        "Join {number}", context=[analysis, review], handler=lambda task: [one.raw for one in task.context_outputs]
    )
    return Ensemble("Office", [analysis, review, both], delegation=Delegation(policies=[note]))


def check(result: EnsembleResult, number: int) -> None:
    """Check that all of a result belongs to its own run."""
    assert result.output == [f"answer {number} answer {number}", f"answer {number}"]
    assert [output.description for output in result.task_outputs if output.role == "Writer"] == [f"Review No. {number}"]
    assert [response.raw for response in result.delegations] == [f"answer {number}"]
    assert result.usage.requests == 0  # the model does not count them
    assert (result.usage.input_tokens, result.usage.output_tokens) == (4, 4)


async def test_a_thousand_runs_of_one_ensemble_at_once_do_not_mix() -> None:
    asked: list[str] = []
    ensemble, context = office(asked), RunContext.over(EchoModel(), store=MemoryStore())
    runs = (ensemble.run({"number": number}, context=context) for number in range(RUNS))
    for number, result in enumerate(await asyncio.gather(*runs)):
        check(result, number)
    assert sorted(asked) == sorted(f"Write No. {number}" for number in range(RUNS))


async def test_saved_runs_of_one_ensemble_at_once_do_not_mix() -> None:
    ensemble, context = office([]), RunContext.over(EchoModel(), store=JsonStore())
    runs = (ensemble.run({"number": number}, context=context) for number in range(100))
    for number, result in enumerate(await asyncio.gather(*runs)):
        check(result, number)
