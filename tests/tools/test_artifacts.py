"""Artifacts: text for the model, and an object for the program and the blackboard."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import Agent, OperationContext, PlannedAgent, UserInput, achieves_goal, action, planned_agent, tool
from tactician.events import event_from_json, event_to_json
from tactician.llm import ToolResult
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import Artifact, ArtifactProduced, DeclaredTool, Tool, collect_artifacts


@dataclass
class Report:
    title: str


@tool
def write_report(title: str) -> Artifact[Report]:
    """Write a report."""
    return Artifact(f"Generated report {title}", Report(title))


def build(model: ScriptedModel, *tools: Tool) -> Agent:
    return Agent("Clerk", model=model, tools=tools or (write_report,))


def scripted() -> ScriptedModel:
    return ScriptedModel(ToolCall("write_report", title="Q1"), "done")


async def test_the_model_gets_the_text_only() -> None:
    result = await build(scripted()).run("go")
    assert [each.content for each in result.messages if isinstance(each, ToolResult)] == ["Generated report Q1"]


async def test_the_program_gets_the_object() -> None:
    with collect_artifacts() as artifacts:
        await build(scripted()).run("go")
    assert artifacts == [Report("Q1")]


def test_the_program_gets_the_object_without_an_event_loop() -> None:
    with collect_artifacts() as artifacts:
        build(scripted()).run_sync("go")
    assert artifacts == [Report("Q1")]


async def test_listeners_get_the_object() -> None:
    events = [event async for event in build(scripted()).stream("go") if isinstance(event, ArtifactProduced)]
    assert [(event.tool, event.value) for event in events] == [("write_report", Report("Q1"))]
    read = event_from_json(event_to_json(events[0]))
    assert isinstance(read, ArtifactProduced)
    assert (read.tool, read.value) == ("write_report", {"title": "Q1"})


async def test_the_object_of_a_subagent_comes_too() -> None:
    outer = Agent(
        "Boss", model=ScriptedModel(ToolCall("clerk", request="x"), "ok"), tools=[build(scripted()).as_tool()]
    )
    with collect_artifacts() as artifacts:
        await outer.run("go")
    assert artifacts == [Report("Q1")]


async def test_a_declared_tool_may_produce_one() -> None:
    declared = DeclaredTool("write_report", "Writes", execute=lambda call: Artifact("written", b"pdf"))
    with collect_artifacts() as artifacts:
        await build(scripted(), declared).run("go")
    assert artifacts == [b"pdf"]


@planned_agent
class Desk:
    """Lets an agent write a report, and reads it."""

    @achieves_goal("The report is published")
    @action
    async def publish(self, asked: UserInput, context: OperationContext) -> str:
        """Publish the report that a tool has written."""
        await build(scripted()).run(asked.content)
        report = context.process.blackboard.last(Report)
        return f"published {report and report.title}"


async def test_the_object_is_on_the_blackboard() -> None:
    with collect_artifacts() as artifacts:
        result = await PlannedAgent(Desk()).run(UserInput("go"))
    assert result.output == "published Q1"
    assert artifacts == [Report("Q1")]


@pytest.mark.parametrize("value", [None, [1, 2]])
async def test_any_object(value: object) -> None:
    with collect_artifacts() as artifacts:
        declared = DeclaredTool("write_report", "Writes", execute=lambda call: Artifact("written", value))
        await build(scripted(), declared).run("go")
    assert artifacts == [value]
