"""Spans of ensembles: tasks, phases and delegations."""

from __future__ import annotations

import pytest

from tactician import Agent, Ensemble, Phase, RunContext, Task, Workflow
from tactician.ensemble import TaskFailedError, TaskInput
from tactician.testing import ScriptedModel, ToolCall
from tests.ensemble.support import says
from tests.integrations.otel.traces import Traces, attributes


async def test_what_runs_for_a_task_is_inside_its_span() -> None:
    traces = Traces()
    gather = Phase("gather", [Task("Research", id="research", agent=says("Researcher", "facts"))])
    ensemble = Ensemble("Newsroom", phases=[gather])
    await ensemble.run({}, context=RunContext.over(ScriptedModel(), traces.listener()))
    inside = ["invoke_agent Researcher", ["chat scripted"]]
    assert traces.tree() == ["invoke_agent Newsroom", ["phase gather", ["task research", inside]]]
    assert attributes(traces.only("task research"))["tactician.task.id"] == "research"
    assert traces.still_open == 0


async def test_a_worker_is_inside_the_delegation_and_the_tool_call() -> None:
    traces = Traces()
    boss = Agent("Boss", model=ScriptedModel(ToolCall("delegate_task", role="Writer", task="Go"), "Done."))
    firm = Ensemble(
        "Firm", [Task("Report")], workflow=Workflow.HIERARCHICAL, agents=[says("Writer", "text")], manager=boss
    )
    await firm.run({}, context=RunContext.over(ScriptedModel(), traces.listener()))
    worker = ["delegation Writer", ["invoke_agent Writer", ["chat scripted"]]]
    tool = ["execute_tool delegate_task", worker]
    assert traces.tree() == ["invoke_agent Firm", ["invoke_agent Boss", ["chat scripted", *tool, "chat scripted"]]]


async def test_the_error_of_a_task_is_no_content() -> None:
    def fail(task: TaskInput) -> str:
        raise ConnectionError("the press is down")

    traces = Traces()
    context = RunContext.over(ScriptedModel(), traces.listener())
    with pytest.raises(TaskFailedError):
        await Ensemble("E", [Task("a", handler=fail)]).run({}, context=context)
    assert attributes(traces.only("task a"))["error.type"] == "ConnectionError"
    assert "the press is down" not in traces.texts()
