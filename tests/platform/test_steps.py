"""The steps of runs, two runs side by side, and runs that are deleted once they are old."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from tactician import Agent, Ai, Platform, UserInput, achieves_goal, action, approve, ask_human, planned_agent, tool
from tactician.errors import ConfigurationError, RunNotFoundError, StoredStateError
from tactician.platform import RunReader, Worker
from tactician.runs import RunContext, RunResult, RunStatus
from tactician.runs.life.holding import kill_run
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.stores.document import StoredDocument
from tactician.testing import ScriptedModel, ToolCall
from tests.support.stored import JsonStore, expect_process


@dataclass(frozen=True)
class Draft:
    text: str


@planned_agent(description="Writes with help")
class Writer:
    @action
    async def draft(self, topic: UserInput, ai: Ai) -> Draft:
        return Draft(await ai.generate_text(topic.content))

    @achieves_goal("written")
    @action
    async def finish(self, draft: Draft) -> Draft:
        return Draft(f"{await ask_human(str, 'A title?')}: {draft.text}")


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"


class TestSteps:
    async def test_those_of_an_agent(self) -> None:
        agent = Agent("Payer", tools=[pay])
        platform = Platform(ScriptedModel(ToolCall("pay", amount=3), "Paid."), store=JsonStore()).register(agent)
        waiting = await agent.run("the bill", context=platform.context())
        request = waiting.pending[0]
        await platform.respond(waiting.run_id, request.id, approve())

        steps = await platform.steps(waiting.run_id)

        assert [(step.number, step.kind, step.name, step.detail) for step in steps] == [
            (1, "start", "", ""),
            (2, "answer", "scripted", 'pay({"amount":3})'),
            (3, "suspended", "", request.prompt),
            (4, "resume", "", request.id),
            (5, "tool", "pay", "paid 3"),
            (6, "answer", "scripted", "Paid."),
            (7, "output", "Payer", "Paid."),
            (8, "completed", "", "Paid."),
        ]
        assert [step.pending for step in steps if step.pending] == [(request,)]
        assert [step.usage.requests for step in steps] == [0, 1, 1, 1, 1, 2, 2, 2]
        assert {step.path for step in steps} == {("Payer",)}
        assert [step.at for step in steps] == sorted(step.at for step in steps)
        assert [step.seconds for step in steps] == sorted(step.seconds for step in steps)

    async def test_those_of_a_process(self) -> None:
        platform = Platform(ScriptedModel("Once."), store=JsonStore()).register(Writer())
        process = await platform.start("Writer", "frogs")
        await platform.respond(process.id, process.pending[0].id, "Title")

        steps = await platform.steps(process.id)

        assert [(step.kind, step.name, step.detail) for step in steps if len(step.path) == 1] == [
            ("start", "", ""),
            ("action", "draft", "Draft"),
            ("suspended", "finish", "A title?"),
            ("resume", "", ""),
            ("action", "finish", "Draft"),
            ("completed", "", '{"text":"Title: Once."}'),
        ]
        inside = [(step.kind, step.path) for step in steps if len(step.path) > 1]
        assert inside[0] == ("answer", ("Writer", "draft", "ai"))
        assert [step.pending[0].id for step in steps if step.pending] == ["Writer/finish/asked"]
        assert steps[-1].seconds > 0
        assert steps[-1].usage.requests == 1

    async def test_a_process_that_fails_and_one_that_is_stuck_say_why(self) -> None:
        platform = Platform(ScriptedModel(ValueError("no ink")), store=MemoryStore()).register(Writer())
        failed = await platform.start("Writer", "frogs")
        assert [(s.kind, s.name, s.detail) for s in await platform.steps(failed.id)][-1] == (
            "action",
            "draft",
            "ValueError: no ink",
        )
        stuck = await platform.start("Writer", 3)
        last = (await platform.steps(stuck.id))[-1]
        assert last.kind == "stuck"
        assert "UserInput" in last.detail

    async def test_a_run_that_is_not_there(self) -> None:
        with pytest.raises(RunNotFoundError, match="There is no run with the id 'x'"):
            await RunReader(MemoryStore()).steps("x")


class TestComparison:
    async def test_a_run_and_its_fork(self) -> None:
        platform = Platform(ScriptedModel("Once."), store=JsonStore()).register(Writer())
        process = await platform.start("Writer", "frogs")
        await platform.respond(process.id, process.pending[0].id, "Title")
        fork = expect_process(await platform.fork(process.id, responses={"Writer/finish/asked": "Another"}))

        seen = await platform.compare(process.id, fork.id)

        assert seen.common[-1].kind == "suspended"
        assert [step.kind for step in seen.first_steps] == ["resume", "action", "completed"]
        assert [step.kind for step in seen.second_steps] == ["fork", "resume", "action", "completed"]
        assert (seen.first.output, seen.second.output) == ('{"text":"Title: Once."}', '{"text":"Another: Once."}')
        assert (seen.first.forked_from, seen.second.forked_from) == (None, (process.id, len(seen.common)))

    async def test_a_run_and_itself(self) -> None:
        agent = Agent("Reader")
        platform = Platform(ScriptedModel("a"), store=MemoryStore()).register(agent)
        result = await agent.run("x", context=platform.context())
        seen = await platform.compare(result.run_id, result.run_id)
        assert (len(seen.common), seen.first_steps, seen.second_steps) == (4, (), ())

    async def test_runs_that_have_nothing_in_common(self) -> None:
        first, second = Agent("First"), Agent("Second")
        platform = Platform(ScriptedModel("a", "b"), store=MemoryStore()).register(first, second)
        ids = [(await agent.run("x", context=platform.context())).run_id for agent in (first, second)]
        seen = await platform.compare(*ids)
        assert (seen.common, len(seen.first_steps), len(seen.second_steps)) == ((), 4, 4)


class TestDamage:
    async def test_what_is_known_of_a_record_is_seen_with_the_reason(self) -> None:
        store = JsonStore()
        agent = Agent("Payer", tools=[pay])
        platform = Platform(ScriptedModel(ToolCall("pay", amount=3)), store=store).register(agent)
        run_id = (await agent.run("the bill", context=platform.context())).run_id
        record = await RunStore(store).load(run_id)
        assert record is not None
        await RunStore(store).save(replace(record, body="{}"))

        with pytest.raises(StoredStateError):
            await RunReader(store).get(run_id)
        seen = await RunReader(store).get_readable(run_id)
        assert (seen.name, seen.status) == ("Payer", "waiting")
        assert seen.problem is not None
        assert "cannot be read" in seen.problem

    @pytest.mark.parametrize("status", ["waiting", "running", "a status of a newer program"])
    async def test_a_record_that_cannot_be_read_can_be_killed(self, status: str) -> None:
        store = JsonStore()
        broken = StoredDocument(collection="runs", id="r", body="{}", header="[]", name="Payer", status=status)
        await store.save(broken)
        (record,) = await RunStore(store).find()
        assert record.problem is not None

        assert await kill_run(store, "r", "it is damaged")

        (record,) = await RunStore(store).find()
        assert (record.status, record.header.failure, record.problem) == (RunStatus.KILLED, "it is damaged", None)
        assert not await kill_run(store, "r", "once more")


async def completed(agent: Agent, context: RunContext) -> RunResult[str]:
    return await agent.run("x", context=context)


class TestRetention:
    @pytest.fixture
    def store(self) -> MemoryStore:
        self.now = 1_000_000.0
        return MemoryStore(lambda: self.now)

    async def test_what_ended_long_ago_is_deleted_with_its_steps(self, store: MemoryStore) -> None:
        agent = Agent("Payer", tools=[pay])
        model = ScriptedModel("old", ToolCall("pay", amount=1), "new")
        platform = Platform(model, store=store).register(agent)
        old = await agent.run("x", context=platform.context())
        waiting = await agent.run("x", context=platform.context())
        self.now += timedelta(days=30).total_seconds()
        new = await agent.run("x", context=platform.context())

        assert await platform.prune(timedelta(days=30)) == 1

        kept = [record.run_id for record in await RunStore(store).find()]
        assert kept == [waiting.run_id, new.run_id]
        assert await RunStore(store).load_steps(old.run_id) == []
        assert await platform.prune(timedelta(0)) == 1

    async def test_a_worker_deletes_what_is_older_than_the_retention(self, store: MemoryStore) -> None:
        agent = Agent("Reader")
        platform = Platform(ScriptedModel("a", "b"), store=store, retention=timedelta(days=1)).register(agent)
        await completed(agent, platform.context())
        self.now += timedelta(days=2).total_seconds()
        newer = await completed(agent, platform.context())

        assert not await Worker(platform).run_once()

        assert [record.run_id for record in await RunStore(store).find()] == [newer.run_id]

    async def test_without_a_retention_all_stay(self, store: MemoryStore) -> None:
        agent = Agent("Reader")
        platform = Platform(ScriptedModel("a"), store=store).register(agent)
        await completed(agent, platform.context())
        self.now += timedelta(days=9999).total_seconds()
        await Worker(platform).run_once()
        assert len(await RunStore(store).find()) == 1
        with pytest.raises(ConfigurationError, match="Say which runs"):
            await platform.prune()

    async def test_more_than_are_deleted_at_once(self, store: MemoryStore) -> None:
        runs = RunStore(store)
        for number in range(1003):
            await runs.save(RunRecord(run_id=str(number), name="x", status=RunStatus.COMPLETED, body="{}"))
        assert await runs.prune(0) == 1003

    def test_it_is_a_time_from_0_up(self) -> None:
        with pytest.raises(ConfigurationError, match="it must be a time from 0 up"):
            Platform(ScriptedModel(), retention=timedelta(seconds=-1))
