"""What can be seen of runs without the agents that ran them: in a store, in this program, in a log of events."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from tactician import Agent, Platform, UserInput, achieves_goal, action, planned_agent
from tactician.errors import RunNotFoundError, StoredStateError
from tactician.events import Event, EventLog, read_event_log
from tactician.platform import RunReader, RunView, replay_events
from tactician.platform.views.runs import ObjectView
from tactician.process import OperationContext, ask_human
from tactician.runs import RunStatus
from tactician.runs.outcomes.budget import Spent
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.steps import RunStart, Snapshot
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore, SqliteStore
from tactician.stores.document import StoredDocument
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import tool


class Draft(BaseModel):
    text: str


class Book(BaseModel):
    text: str


@planned_agent(description="writes a draft")
class Drafter:
    @achieves_goal("drafted")
    @action
    async def draft(self, topic: UserInput, context: OperationContext) -> Draft:
        return Draft(text=await context.ai.generate_text(topic.content))


@planned_agent(description="has a draft written, and asks what it is called")
class Publisher:
    @action
    async def order(self, topic: UserInput, context: OperationContext) -> Draft:
        return await context.run_agent(Drafter(), Draft, topic)

    @achieves_goal("published")
    @action
    async def publish(self, draft: Draft) -> Book:
        return Book(text=f"{await ask_human(str, 'Which title?')}: {draft.text}")


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"


async def waiting_in(store: MemoryStore | SqliteStore, *listeners: EventLog) -> tuple[Platform, str]:
    model = ScriptedModel("Once upon a time")
    platform = Platform(model, store=store, on_event=listeners[0] if listeners else None)
    platform.register(Publisher(), Drafter())
    process = await platform.start("Publisher", "frogs")
    return platform, process.id


class TestStore:
    async def test_a_program_without_the_agents_sees_it_all(self, tmp_path: Path) -> None:
        async with SqliteStore(tmp_path / "runs.db") as store:
            _, run_id = await waiting_in(store)
        async with SqliteStore(tmp_path / "runs.db") as store:
            run = await RunReader(store).get(run_id)

        assert (run.name, run.kind, run.status, run.goal, run.failure) == (
            "Publisher",
            "process",
            "waiting",
            None,
            None,
        )
        assert [request.prompt for request in run.pending] == ["Which title?"]
        assert [entry.action for entry in run.history] == ["order"]
        assert run.usage.requests == 1
        assert run.started_at is not None
        assert run.changed_at is not None
        assert run.changed_at >= run.started_at
        assert ObjectView(f"{__name__}.Draft", {"text": "Once upon a time"}, "it") in run.objects

    async def test_what_ran_inside_is_in_the_tree(self) -> None:
        platform, run_id = await waiting_in(MemoryStore())
        tree = await platform.tree(run_id)

        assert [run.name for run in tree.walk()] == ["Publisher", "Drafter"]
        assert tree.children[0].run.parent_id == run_id
        assert tree.children[0].run.status == "completed"
        assert tree.children[0].run.usage.requests == 1

    async def test_runs_are_listed_by_status_and_name(self) -> None:
        platform, run_id = await waiting_in(MemoryStore())
        approval = ScriptedModel(ToolCall("pay", amount=3))
        paying = await Agent("Payer", model=approval, tools=[pay]).run("go", context=platform.context())

        assert [run.id for run in await platform.runs(status="waiting")] == [run_id, paying.run_id]
        payer = (await platform.runs(names=["Payer"]))[0]
        assert (payer.kind, payer.pending) == ("run", paying.pending)
        assert await platform.runs(status=["failed", "killed"]) == []

    async def test_what_is_not_there_and_what_cannot_be_read(self) -> None:
        store = MemoryStore()
        record = RunRecord(run_id="r1", name="Odd", status=RunStatus.WAITING, kind="process", body="{")
        await RunStore(store).save(record)
        await store.save(StoredDocument(collection="runs", id="r3", name="Odd", status="waiting", body="", header="{"))
        reader = RunReader(store)

        readable, damaged = await reader.list()
        assert (readable.id, readable.problem) == ("r1", None), "the list needs no body"
        assert (damaged.id, damaged.status) == ("r3", "waiting")
        assert "The record of the run r3 cannot be read" in str(damaged.problem)
        with pytest.raises(StoredStateError):
            await reader.get("r1")
        with pytest.raises(RunNotFoundError, match="There is no run with the id 'r2'"):
            await reader.tree("r2")

    async def test_runs_that_name_each_other_as_parents_end(self) -> None:
        store = MemoryStore()
        spent, start = Spent(usage=[], turns=0, seconds=0.0, actions=0), RunStart(input={"value": "x"}, limits={})
        body = Snapshot(start=start, spent=spent, tree={"data": {}, "children": {}})
        for run_id, parent_id in (("a", "b"), ("b", "a"), ("c", "c")):
            record = RunRecord(run_id=run_id, name="Odd", status=RunStatus.COMPLETED, parent_id=parent_id, body=body)
            await RunStore(store).save(record)
        reader = RunReader(store)

        assert [run.id for run in (await reader.tree("a")).walk()] == ["a", "b"]
        assert [run.id for run in (await reader.tree("c")).walk()] == ["c"]


async def test_processes_of_a_platform_without_a_store_are_seen_too() -> None:
    platform = Platform(ScriptedModel("Once")).register(Drafter())
    process = await platform.start("Drafter", "frogs")
    failing = await platform.start("Drafter", "toads")

    assert [(run.id, run.status) for run in await platform.runs()] == [
        (process.id, "completed"),
        (failing.id, "failed"),
    ]
    seen = (await platform.tree(process.id)).run
    assert (seen.goal, seen.usage, seen.history) == ("draft", process.usage, process.history)
    assert (await platform.runs(status="failed"))[0].failure == failing.failure


class TestEvents:
    async def test_a_log_says_the_same_as_the_store(self, tmp_path: Path) -> None:
        with EventLog(tmp_path / "events.jsonl") as log:
            platform, run_id = await waiting_in(MemoryStore(), log)
            await platform.respond(run_id, (await platform.process(run_id)).pending[0].id, "Frogs")
        stored = [run for tree in [await platform.tree(run_id)] for run in tree.walk()]
        heard = [run for tree in replay_events(read_event_log(tmp_path / "events.jsonl")) for run in tree.walk()]

        def facts(run: RunView) -> object:
            actions = [(entry.action, entry.outputs, entry.error) for entry in run.history]
            return run.id, run.name, run.kind, run.status, run.parent_id, run.failure, actions, run.usage

        assert [facts(run) for run in heard if run.kind == "process"] == [facts(run) for run in stored]
        assert {run.status for run in heard} == {"completed"}

    async def test_a_run_that_waits(self) -> None:
        heard: list[Event] = []
        platform = Platform(ScriptedModel("Once"), on_event=heard.append).register(Publisher())
        process = await platform.start("Publisher", "frogs")

        tree = replay_events(heard)[0]
        assert (tree.run.status, tree.run.pending) == ("waiting", process.pending)
        assert [child.run.status for child in tree.children] == ["completed"]

    async def test_the_run_of_an_agent_and_those_inside_it(self) -> None:
        heard: list[Event] = []
        inner = Agent("Inner", model=ScriptedModel("x"))
        outer = Agent("Outer", tools=[inner.as_tool()])
        model = ScriptedModel(ToolCall("inner", request="r"), "done")
        await outer.run("hi", context=Platform(model, on_event=heard.append).context())
        tree = replay_events(heard)[0]

        assert [(run.name, run.kind, run.usage.requests) for run in tree.walk()] == [
            ("Outer", "run", 3),
            ("Inner", "run", 1),
        ]
