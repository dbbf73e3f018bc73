"""A thousand runs of one ensemble at once: no state of one run is seen in another."""

from __future__ import annotations

import asyncio
import re

from tactician import (
    END,
    Agent,
    Delegation,
    Edge,
    Ensemble,
    Graph,
    InProcessMemory,
    InProcessReflections,
    Loop,
    MapReduce,
    Phase,
    PhaseReview,
    Reflection,
    RunContext,
    Scope,
    Task,
    Workflow,
)
from tactician.ensemble import DelegationContext, DelegationDecision, DelegationRequest, EnsembleResult, TaskInput
from tactician.ensemble.values.delegation import allow
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


def report() -> Ensemble:
    """Groups beside each other, a phase that runs twice, a memory and reflections, with a number in every text."""

    async def handle(task: TaskInput) -> str:
        texts = [task.text, task.description, *(output.raw for output in task.context_outputs)]
        assert all(re.findall(r"No\. (\d+)", text) in ([], [task.values["number"]]) for text in texts)
        await asyncio.sleep(0)
        attempt = 1 if task.revision is None else task.revision.attempt
        return f"{attempt} of No. {task.values['number']}"

    async def review(task: TaskInput) -> str:
        await asyncio.sleep(0)
        return "APPROVE" if task.context_outputs[0].raw.startswith("2") else f"RETRY: {task.context_outputs[0].raw}"

    def list_items(task: TaskInput) -> list[str]:
        return [f"No. {task.values['number']}"] * 6

    a, b, c = (Task(f"{name} No. {{number}}", id=name, handler=handle) for name in "abc")
    loop = Loop([a], id="loop", until=lambda outputs: len(outputs.outputs) == 2)
    edges = [Edge("b", "c"), Edge("c", END, when=lambda outputs: len(outputs.outputs) == 4), Edge("c", "b")]
    graph = Graph({"b": b, "c": c}, id="graph", start="b", edges=edges)
    each, combined = Task("Read {item}", handler=handle), Task("Combine {number}", handler=handle)
    letters = MapReduce(list_items, id="letters", map=each, reduce=combined, chunk_size=3)
    first = Phase("first", [loop, graph, letters], workflow=Workflow.PARALLEL)
    reflect = Reflection(strategy=lambda review: review.output)
    last = Task("d No. {number}", id="d", handler=handle, memory=["all"], reflect=reflect)
    second = Phase("second", [last], after=[first], review=PhaseReview(review))
    memory, reflections = InProcessMemory({"all": Scope()}), InProcessReflections(keep_last=RUNS)
    return Ensemble("Report", phases=[first, second], memory=memory, reflections=reflections)


async def test_runs_with_phases_groups_and_a_memory_at_once_do_not_mix() -> None:
    count = RUNS // 10
    ensemble, context = report(), RunContext.over(EchoModel(), store=MemoryStore())
    runs = (ensemble.run({"number": number}, context=context) for number in range(count))
    for number, result in enumerate(await asyncio.gather(*runs)):
        assert result.raw == f"2 of No. {number}"
        texts = [part.raw for output in result.task_outputs for part in output.walk()]
        assert len(texts) == 3 + 1 + 4 + 9 + 1
        assert all(text.endswith(f" of No. {number}") for text in texts)
    kept = sorted(f"2 of No. {number}" for number in range(count))
    assert ensemble.memory is not None
    assert ensemble.reflections is not None
    assert sorted(entry.content for entry in await ensemble.memory.entries("all")) == kept
    assert sorted(note for one in await ensemble.reflections.load("d") for note in one.suggestions) == kept


async def test_saved_runs_of_one_ensemble_at_once_do_not_mix() -> None:
    ensemble, context = office([]), RunContext.over(EchoModel(), store=JsonStore())
    runs = (ensemble.run({"number": number}, context=context) for number in range(100))
    for number, result in enumerate(await asyncio.gather(*runs)):
        check(result, number)
