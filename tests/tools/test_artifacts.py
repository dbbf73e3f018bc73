"""Artifacts: text for the model, and an object for the program and the blackboard."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import BaseModel

from tactician import (
    Agent,
    Ensemble,
    OperationContext,
    PlannedAgent,
    Platform,
    RunContext,
    Task,
    UserInput,
    achieves_goal,
    action,
    approve,
    confirm,
    guardrails,
    planned_agent,
    tool,
)
from tactician.events import Event, event_from_json, event_to_json
from tactician.guardrails import GuardrailError, GuardrailResult
from tactician.llm import ToolCall as Called
from tactician.llm import ToolResult
from tactician.runs import RunStatus
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import Artifact, ArtifactProduced, DeclaredTool, Tool, collect_artifacts
from tests.support.stored import JsonStore


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


async def test_the_result_has_the_object() -> None:
    result = await build(scripted()).run("go")
    assert result.artifacts == (Report("Q1"),)
    boss = Agent("Boss", model=ScriptedModel(ToolCall("clerk", request="x"), "ok"), tools=[build(scripted()).as_tool()])
    assert (await boss.run("go")).artifacts == (Report("Q1"),)
    assert (await Ensemble("Office", [Task("Report", agent=build(scripted()))]).run("")).artifacts == (Report("Q1"),)
    assert (await build(ScriptedModel("nothing")).run("go")).artifacts == ()


def accept(call: Called, content: str) -> GuardrailResult:
    return guardrails.passed()


def refuse(call: Called, content: str) -> GuardrailResult:
    return guardrails.failed("secret")


def ask_again(call: Called, content: str) -> GuardrailResult:
    return guardrails.retry("secret")


async def test_no_object_is_delivered_whose_text_a_guardrail_refuses() -> None:
    events: list[Event] = []
    with collect_artifacts() as artifacts, pytest.raises(GuardrailError):
        await Agent("Clerk", model=scripted(), tools=[write_report], tool_output_guardrails=[refuse]).run("go")
    careful = Agent("Clerk", model=scripted(), tools=[write_report], tool_output_guardrails=[ask_again])
    with collect_artifacts() as more:
        result = await careful.run("go", context=RunContext.around().with_listeners(events.append))
    assert (artifacts, more, result.artifacts) == ([], [], ())
    assert not any(isinstance(event, ArtifactProduced) for event in events)


async def test_objects_are_delivered_once_where_guardrails_accept() -> None:
    clerk = Agent("Clerk", model=scripted(), tools=[write_report], tool_output_guardrails=[accept])
    model, events = ScriptedModel(ToolCall("clerk", request="x"), "ok"), list[Event]()
    boss = Agent("Boss", model=model, tools=[clerk.as_tool()], tool_output_guardrails=[accept])
    result = await boss.run("go", context=RunContext.around().with_listeners(events.append))
    assert result.artifacts == (Report("Q1"),)
    assert sum(isinstance(event, ArtifactProduced) for event in events) == 1


async def test_an_object_is_not_lost_when_the_run_around_it_waits() -> None:
    @tool(needs_approval=True)
    def send() -> str:
        """Send it."""
        return "sent"

    model = ScriptedModel(ToolCall("write_report", title="Q1"), ToolCall("send"), "done")
    clerk = Agent("Clerk", model=model, tools=[write_report, send])
    boss = Agent(
        "Boss",
        model=ScriptedModel(ToolCall("clerk", request="x"), "ok"),
        tools=[clerk.as_tool()],
        tool_output_guardrails=[accept],
    )
    waiting = await boss.run("go")
    assert waiting.artifacts == (Report("Q1"),)
    assert (await boss.resume(waiting.run_id, {waiting.pending[0].id: approve()})).status is RunStatus.COMPLETED


async def test_what_a_blackboard_cannot_keep_is_an_error_of_the_tool() -> None:
    async with Platform(scripted(), store=MemoryStore()) as platform:
        platform.register(Keeper())
        process = await platform.start("Keeper", "go")
        assert "StoredStateError: `Report` cannot be stored" in str(process.result)


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
class Keeper:
    """Lets an agent write a report of a type that no action declares."""

    @achieves_goal("The report is written")
    @action
    async def write(self, asked: UserInput, context: OperationContext) -> str:
        """Return what the tool says."""
        clerk = Agent("Clerk", tools=[write_report], tool_output_guardrails=[accept])
        result = await clerk.run(asked.content)
        return next(message.content for message in result.messages if isinstance(message, ToolResult))


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


@tool(needs_approval=True)
def send() -> str:
    """Send it."""
    return "sent"


@tool
def write_secret() -> Artifact[object]:
    """Write what no store can keep."""
    return Artifact("written", object())


class Title(BaseModel):
    text: str


@tool
def write_title() -> Artifact[Title]:
    """Write a title."""
    return Artifact("titled", Title(text="Q2"))


WRITES = (ToolCall("write_report", title="Q1"), ToolCall("write_title"), ToolCall("write_secret"), ToolCall("send"))


@pytest.mark.parametrize("store", ["memory", "json", "sqlite"])
async def test_the_result_of_a_run_that_continues_has_all_objects(store: str, tmp_path: Path) -> None:
    kept: DocumentStore = MemoryStore() if store == "memory" else JsonStore()

    def open_platform(*steps: object, boss: tuple[object, ...]) -> tuple[Platform, Agent]:
        clerk = Agent("Clerk", model=ScriptedModel(*steps), tools=[write_report, write_title, write_secret, send])
        agent = Agent("Boss", model=ScriptedModel(*boss), tools=[clerk.as_tool(), write_report])
        used = SqliteStore(tmp_path / "runs.db") if store == "sqlite" else kept
        return Platform(ScriptedModel(), store=used).register(agent), agent

    platform, agent = open_platform(*WRITES, boss=(ToolCall("clerk", request="x"),))
    async with platform:
        waiting = await agent.run("go", context=platform.context())
    platform, agent = open_platform("done", boss=(ToolCall("write_report", title="Q3"), "ok"))
    async with platform:
        answers = {waiting.pending[0].id: approve()}
        done = await agent.resume(waiting.run_id, answers, context=platform.context())

    assert waiting.artifacts[:2] == (Report("Q1"), Title(text="Q2"))
    assert len(waiting.artifacts) == 3
    assert (done.status, done.artifacts) == (RunStatus.COMPLETED, (Report("Q1"), Title(text="Q2"), Report("Q3")))


async def test_an_action_that_runs_again_elsewhere_has_the_objects_of_agents_that_have_ended() -> None:
    seen: list[tuple[object, ...]] = []

    @planned_agent(description="Publishes reports")
    class Publisher:
        @achieves_goal("published")
        @action
        async def publish(self, wish: UserInput, known: Title | None) -> str:
            writer = Agent("Writer", model=ScriptedModel(ToolCall("write_title"), "done"), tools=[write_title])
            first = await writer.run(wish.content)
            second = await Agent("Second", model=ScriptedModel("nothing")).run(wish.content)
            seen.extend([first.artifacts, second.artifacts])
            return "yes" if await confirm(wish, "Publish?") else "no"

    store = JsonStore()
    async with Platform(ScriptedModel(), store=store).register(Publisher()) as platform:
        process = await platform.start("Publisher", "go")
    async with Platform(ScriptedModel(), store=store).register(Publisher()) as platform:
        await platform.respond(process.id, process.pending[0].id, True)

    assert seen == [(Title(text="Q2"),), ()] * 2
