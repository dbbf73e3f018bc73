"""Runs that are made step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tactician import (
    Agent,
    AgentService,
    Budget,
    Platform,
    ProcessOptions,
    RunContext,
    RunResult,
    action,
    planned_agent,
)
from tactician.agents import BaseRunnable
from tactician.agents.flows import simple_agent
from tactician.errors import AgentNotFoundError, AlreadyAnsweredError, ResponseError, RunConflictError, RunNotFoundError
from tactician.integrations.step_report import StepReport
from tactician.integrations.stepper import Stepper
from tactician.llm import AssistantMessage, Text
from tactician.process import ProcessFailedError, ask_human
from tactician.runs import Input, RunError, RunStatus
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tests.integrations.agents import Printed, Printer, Rated
from tests.integrations.kinds import KINDS, Desk, Kind
from tests.support.stored import JsonStore, load_record

NOW = 1_000_000.0
KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def stepper_of(store: DocumentStore, *agents: object, model: ScriptedModel | None = None) -> Stepper:
    return Stepper(Platform(models=model or ScriptedModel(), store=store).register(*agents), lease=1.0)


class Program:
    """Programs that share a store and a model, one for each step."""

    def __init__(self, kind: Kind, store: DocumentStore) -> None:
        self.desk = Desk()
        self._kind = kind
        self._store = store
        self._model = ScriptedModel(*kind.script)

    def stepper(self) -> Stepper:
        return stepper_of(self._store, self._kind.agent(self.desk), model=self._model)

    async def start(self) -> str:
        return await self.stepper().add(self._kind.agent(self.desk), self._kind.input, options=self._kind.options)

    async def run(self, run_id: str) -> list[StepReport]:
        """Make all steps, with the answers; return how the run stood after each."""
        steps = [await self.stepper().step(run_id, NOW)]
        while not steps[-1].has_ended:
            if pending := steps[-1].pending:
                await self.stepper().answer(run_id, dict.fromkeys(pending, self._kind.response))
            steps.append(await self.stepper().step(run_id, NOW))
        return steps


@KIND
async def test_a_run_of_any_kind_is_made_step_by_step_each_by_another_program(kind: Kind, tmp_path: Path) -> None:
    async with SqliteStore(f"{tmp_path}/runs.db") as store:
        program = Program(kind, store)
        run_id = await program.start()

        steps = await program.run(run_id)

        assert await program.stepper().load_output(run_id) == kind.output
        assert steps[-1] == StepReport("completed", has_ended=True)
        assert [len(step.pending) for step in steps].count(1) == 1, "it has waited once"
        assert sorted(program.desk.done) == sorted(kind.done), "each once"
        assert (await program.stepper().step(run_id, NOW)).status == "completed"
        assert sorted(program.desk.done) == sorted(kind.done)


@KIND
async def test_a_run_that_waits_and_has_no_answer_stays_as_it_is(kind: Kind) -> None:
    program = Program(kind, JsonStore())
    run_id = await program.start()
    stepper = program.stepper()
    while not (standing := await stepper.step(run_id, NOW)).pending:
        pass
    before, done = await stepper.load(run_id), list(program.desk.done)

    assert await stepper.step(run_id, NOW) == standing

    after = await stepper.load(run_id)
    assert (after.version, after.steps, program.desk.done) == (before.version, before.steps, done)
    assert not after.is_leased


async def test_a_process_is_paused_between_its_actions_and_the_delay_is_told() -> None:
    agent = Printer()
    stepper = stepper_of(MemoryStore(), agent)
    run_id = await stepper.add(agent, "frogs", options=ProcessOptions(delay=60))

    assert await stepper.step(run_id, NOW) == StepReport("running", delay=60)

    assert agent.done == ["draft"]
    assert (await stepper.load(run_id)).status is RunStatus.PAUSED


async def test_a_platform_continues_what_was_begun_step_by_step() -> None:
    platform = Platform(models=ScriptedModel(), store=MemoryStore()).register(Rated())
    stepper = Stepper(platform)
    run_id = await stepper.add("Rated", "frogs")
    await stepper.step(run_id, NOW)
    (request_id,) = (await stepper.step(run_id, NOW)).pending
    await stepper.step(run_id, NOW)  # nobody has answered

    process = await platform.respond(run_id, request_id, {"stars": 3})

    assert process.status is RunStatus.COMPLETED, "it does not pause after one action"


class TestAnswers:
    async def test_an_answer_that_is_kept_is_not_asked_for(self) -> None:
        stepper = stepper_of(JsonStore(), asking())
        run_id = await stepper.add("Asker", "frogs")
        (first,) = (await stepper.step(run_id, NOW)).pending

        await stepper.answer(run_id, {first: 3})

        (request,) = (await stepper.load(run_id)).header.pending
        assert (request.id, request.is_answered) == (first, True)

    async def test_the_first_answer_counts_before_a_step_takes_it(self) -> None:
        stepper = stepper_of(JsonStore(), asking())
        run_id = await stepper.add("Asker", "frogs")
        (request_id,) = (await stepper.step(run_id, NOW)).pending
        await stepper.answer(run_id, {request_id: 3})

        with pytest.raises(AlreadyAnsweredError, match="the first answer counts"):
            await stepper.answer(run_id, {request_id: 4})

        assert (await stepper.step(run_id, NOW)).has_ended
        assert await stepper.load_output(run_id) == "frogs: 3"

    async def test_what_nobody_asks_is_refused(self) -> None:
        store = JsonStore()
        stepper = stepper_of(store, asking())
        run_id = await stepper.add("Asker", "frogs")
        with pytest.raises(ResponseError, match=r"does not wait for 'x'; it waits for \[\]"):
            await stepper.answer(run_id, {"x": 1})
        (request_id,) = (await stepper.step(run_id, NOW)).pending

        with pytest.raises(ResponseError, match=f"does not wait for 'x'; it waits for .*{request_id}"):
            await stepper.answer(run_id, {"x": 1, request_id: 3})
        with pytest.raises(RunNotFoundError):
            await stepper.answer("x", {"x": 1})

        record = await stepper.load(run_id)
        assert (record.is_leased, record.header.pending[0].is_answered) == (False, False)

    async def test_one_that_has_ended_waits_for_nothing(self) -> None:
        stepper = stepper_of(JsonStore(), asking())
        run_id = await stepper.add("Asker", "frogs")
        await stepper.kill(run_id)

        with pytest.raises(ResponseError, match="was killed: it waits for nothing"):
            await stepper.answer(run_id, {"x": 1})

    async def test_somebody_else_who_continues_it_is_not_disturbed(self) -> None:
        store = JsonStore()
        stepper = stepper_of(store, asking())
        run_id = await stepper.add("Asker", "frogs")
        assert await RunStore(store).claim("others", 60, run_id=run_id) is not None

        with pytest.raises(RunConflictError, match="Another worker is continuing the run"):
            await stepper.step(run_id, NOW)
        with pytest.raises(RunConflictError, match="Another worker is continuing the run"):
            await stepper.answer(run_id, {"x": 1})


class TestDeadlines:
    """The time is that of the engine."""

    @pytest.mark.parametrize("of_process", [True, False])
    async def test_the_default_is_the_answer_after_the_deadline(self, of_process: bool) -> None:
        day = timedelta(days=1)
        agent: object = Rated(day) if of_process else asking(day, 0)
        stepper = stepper_of(JsonStore(), agent)
        run_id = await stepper.add(agent, "frogs")
        now = datetime.now(UTC).timestamp()
        while not (standing := await stepper.step(run_id, now)).pending:
            pass
        assert standing.wakes_at is not None
        assert now < standing.wakes_at < now + 2 * day.total_seconds()
        assert (await stepper.step(run_id, standing.wakes_at - 1)).pending == standing.pending

        while not (standing := await stepper.step(run_id, now + 2 * day.total_seconds())).has_ended:
            assert not standing.pending

        assert await stepper.load_output(run_id) == (Printed("about frogs: 0") if of_process else "frogs: 0")

    @pytest.mark.parametrize("of_process", [True, False])
    async def test_a_wrong_answer_does_not_keep_the_default_from_being_it(self, of_process: bool) -> None:
        day = timedelta(days=1)
        agent: object = Rated(day) if of_process else asking(day, 0)
        stepper = stepper_of(JsonStore(), agent)
        run_id = await stepper.add(agent, "frogs")
        now = datetime.now(UTC).timestamp()
        while not (standing := await stepper.step(run_id, now)).pending:
            pass
        await stepper.answer(run_id, dict.fromkeys(standing.pending, "many"))

        refused = await stepper.step(run_id, now)
        while not (standing := await stepper.step(run_id, now + 2 * day.total_seconds())).has_ended:
            pass

        assert (refused.refused, refused.pending) == (refused.pending, refused.refused)
        assert await stepper.load_output(run_id) == (Printed("about frogs: 0") if of_process else "frogs: 0")

    async def test_an_answer_in_time_counts_although_its_step_comes_late(self) -> None:
        stepper = stepper_of(JsonStore(), asking(timedelta(days=1), 0))
        run_id = await stepper.add("Asker", "frogs")
        now = datetime.now(UTC).timestamp()
        (request_id,) = (await stepper.step(run_id, now)).pending
        await stepper.answer(run_id, {request_id: 3})

        await stepper.step(run_id, now + timedelta(days=2).total_seconds())

        assert await stepper.load_output(run_id) == "frogs: 3"


class TestEndings:
    async def test_a_run_that_fails_has_ended_and_its_record_says_why(self) -> None:
        def fail(topic: str) -> str:
            raise ValueError(f"no {topic}")

        stepper = stepper_of(JsonStore(), simple_agent(str, fail, name="Failing"))
        run_id = await stepper.add("Failing", "frogs")

        assert await stepper.step(run_id, NOW) == StepReport("failed", has_ended=True)

        with pytest.raises(RunError, match=r"Failing: the run \w+ has failed: ValueError: no frogs"):
            await stepper.load_output(run_id)

    async def test_one_that_fails_with_an_answer_has_failed_too(self) -> None:
        model = ScriptedModel(ToolCall("pay", amount=5), LookupError("the model is down"))
        desk = Desk()
        stepper = stepper_of(JsonStore(), Agent("Clerk", tools=[desk.pay]), model=model)
        run_id = await stepper.add("Clerk", "pay 5")
        (request_id,) = (await stepper.step(run_id, NOW)).pending
        with pytest.raises(RunError, match=r"is waiting: May pay"):
            await stepper.load_output(run_id)
        await stepper.answer(run_id, {request_id: True})

        assert (await stepper.step(run_id, NOW)).status == "failed"

        assert desk.done == ["pay 5"]

    async def test_one_whose_limit_is_reached_is_terminated(self) -> None:
        stepper = stepper_of(JsonStore(), Agent("Clerk"))
        run_id = await stepper.add("Clerk", "frogs", deadline=datetime(2020, 1, 1, tzinfo=UTC))

        assert await stepper.step(run_id, NOW) == StepReport("terminated", has_ended=True)

    async def test_a_process_that_is_killed(self) -> None:
        stepper = stepper_of(JsonStore(), Printer())
        run_id = await stepper.add("Printer", "frogs")
        await stepper.step(run_id, NOW)

        assert await stepper.kill(run_id) == StepReport("killed", has_ended=True)

        assert await stepper.step(run_id, NOW) == StepReport("killed", has_ended=True)
        with pytest.raises(ProcessFailedError, match="Printer was killed"):
            await stepper.load_output(run_id)

    async def test_what_is_not_registered_here_is_left_to_others(self) -> None:
        store = JsonStore()
        run_id = await stepper_of(store, Agent("Clerk")).add("Clerk", "frogs")

        with pytest.raises(AgentNotFoundError):
            await stepper_of(store, Printer()).step(run_id, NOW)

        able = stepper_of(store, Agent("Clerk"), model=ScriptedModel("Green."))
        assert (await able.step(run_id, NOW)).status == "completed"


class TestServices:
    async def test_a_request_is_continued_in_its_conversation(self) -> None:
        desk, store = Desk(), JsonStore()
        model = ScriptedModel(ToolCall("pay", amount=5), "It is paid.")

        def service() -> AgentService:
            return AgentService(Platform(model, store=store)).register(Agent("Clerk", tools=[desk.pay]))

        first = service()
        conversation_id = first.create_conversation()
        waiting = await first.request_agent("clerk", "Pay 5.", conversation_id=conversation_id)
        stepper = Stepper(service().platform)
        assert (await stepper.step(waiting.run_id, NOW)).pending == [waiting.pending[0].id]

        await stepper.answer(waiting.run_id, {waiting.pending[0].id: True})
        assert (await stepper.step(waiting.run_id, NOW)).status == "completed"

        assert (desk.done, await stepper.load_output(waiting.run_id)) == (["pay 5"], "It is paid.")
        conversation = await service().conversation(conversation_id)
        assert conversation.messages[-1] == AssistantMessage((Text("It is paid."),))


class TestOutputs:
    @pytest.mark.parametrize("store", [MemoryStore, JsonStore])
    async def test_it_is_whole_and_of_its_type(self, store: Callable[[], DocumentStore]) -> None:
        model = ScriptedModel({"text": "long " * 1000})
        stepper = stepper_of(store(), Agent("Writer", output_type=Printed), model=model)
        run_id = await stepper.add("Writer", "frogs")
        await stepper.step(run_id, NOW)

        assert await stepper.load_output(run_id) == Printed("long " * 1000)

    async def test_one_without_a_json_form_is_not_kept_but_the_run_has_completed(self) -> None:
        class Maker(BaseRunnable[object]):
            name = description = "Maker"

            async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
                return RunResult(object(), tally=context.tally, run_id=context.run_id)

        stepper = stepper_of(JsonStore(), Maker())
        run_id = await stepper.add("Maker", "frogs")

        assert (await stepper.step(run_id, NOW)).status == "completed"

        assert await stepper.load_output(run_id) is None


def asking(deadline: timedelta | None = None, default: object = None) -> object:
    async def ask(topic: str) -> str:
        if deadline is None:
            return f"{topic}: {await ask_human(int, 'How many?')}"
        return f"{topic}: {await ask_human(int, 'How many?', deadline=deadline, default=default)}"

    return simple_agent(str, ask, name="Asker")


@dataclass(frozen=True)
class Count:
    """What a process counts, and how much of that is stored with each action."""

    number: int
    text: str = "x" * 20_000


@planned_agent(description="counts", planner="utility")
class Counter:
    @action(can_rerun=True)
    def step(self, count: Count) -> Count:
        return Count(count.number + 1)


async def test_the_log_of_a_run_is_folded_though_another_program_makes_each_step() -> None:
    store, options = JsonStore(), ProcessOptions(budget=Budget(actions=1000))
    run_id = await stepper_of(store, Counter()).add("Counter", Count(0), options=options)
    steps, unread = 40, 0

    for _ in range(steps):
        await stepper_of(store, Counter()).step(run_id, NOW)
        record = await load_record(store, run_id)
        assert record.snapshot is not None
        unread = max(unread, record.steps - record.snapshot.step)

    assert unread < 2 * steps * 2 / 3, "what is read before a step is a snapshot and the steps since then"
    process = await stepper_of(store, Counter()).load_process(run_id)
    assert [count.number for count in process.blackboard.all(Count)] == list(range(steps + 1))
    assert [one.action for one in process.history] == ["step"] * steps
