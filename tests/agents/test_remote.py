"""A task on another machine is sent once, continued by whoever resumes the run, and ends with the run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import JsonValue
from typing_extensions import override

from tactician import Budget, Platform, RunContext, RunStatus
from tactician.agents import BaseRunnable
from tactician.agents.remote import RemoteMessage, RemoteOutput, RemoteTask, RemoteWait
from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.errors import TransientError
from tactician.llm import Usage
from tactician.platform import Worker
from tactician.runs import BudgetError, Input, PendingRequest, RunError, RunResult
from tactician.runs.outcomes.suspension import Response
from tactician.stores import DocumentStore, MemoryStore, SqliteStore
from tactician.testing import FakeClock, ScriptedModel

USED = Usage(input_tokens=3, output_tokens=4, requests=1, model="kitchen:m")


class Kitchen:
    """The other machine: it keeps what was sent to it, and says what comes of it."""

    def __init__(self, *outcomes: RemoteOutput | RemoteWait | Exception | str, seconds: float | None = None) -> None:
        self.outcomes = list(outcomes)
        self.sent: list[RemoteMessage | None] = []
        self.cancelled: list[str] = []
        self.entered = asyncio.Event()
        self.seconds = seconds


class KitchenChannel:
    """Way to the kitchen."""

    address = "kitchen.example"

    def __init__(self, kitchen: Kitchen) -> None:
        self.kitchen = kitchen
        self.timeout = kitchen.seconds

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        yield

    async def follow(self, message: RemoteMessage | None, task: RemoteTask) -> RemoteOutput | RemoteWait:
        self.kitchen.sent.append(message)
        outcome = self.kitchen.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        await task.save_id("task-1")
        if isinstance(outcome, str):
            self.kitchen.entered.set()
            await asyncio.Event().wait()
        assert not isinstance(outcome, str)
        return outcome

    async def cancel(self, task: RemoteTask) -> None:
        self.kitchen.cancelled.append(task.id)

    def create_request(self, question: JsonValue, request_id: str, path: tuple[str, ...]) -> PendingRequest:
        return PendingRequest(request_id, "reply" if question == "cooking" else "form", str(question), path=path)

    def encode_answer(self, response: Response) -> JsonValue:
        return str(response)

    async def read_reply(self, question: JsonValue, answer: JsonValue, task: RemoteTask) -> RemoteOutput | None:
        if question != "cooking":
            return None
        if answer == "burnt":
            raise task.fail("is burnt")
        return RemoteOutput(answer, answer, (USED,))

    async def restore_output(self, saved: JsonValue) -> object:
        return saved

    def create_error(self, message: str, result: RunResult[None]) -> RunError:
        return RunError(message, result)


class Cook(BaseRunnable[object]):
    """Runnable whose work is done in the kitchen."""

    def __init__(self, kitchen: Kitchen) -> None:
        self.name, self.description = "Cook", "Cooks elsewhere"
        self._kitchen = kitchen

    @override
    async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
        return await RemoteTask("kitchen", KitchenChannel(self._kitchen), context).run(input)


MEAL = RemoteOutput("wagyu", "wagyu", (USED,))


def create_platform(kitchen: Kitchen, store: DocumentStore | None = None, clock: Clock = SYSTEM_CLOCK) -> Platform:
    store = MemoryStore(clock=clock) if store is None else store
    return Platform(ScriptedModel(), store=store, clock=clock).register(Cook(kitchen))


async def begin(platform: Platform) -> str:
    run_id = await platform.enqueue("Cook", "room 403")
    await Worker(platform).run_once()
    return run_id


async def status(platform: Platform, run_id: str) -> str:
    return (await platform.tree(run_id)).run.status


async def test_what_the_task_used_counts_in_the_run() -> None:
    kitchen = Kitchen(MEAL)
    result = await Cook(kitchen).run("room 403", context=create_platform(kitchen).context())

    assert result.output == "wagyu"
    assert result.usage.total_tokens == 7
    assert [message and message.input for message in kitchen.sent] == ["room 403"]


@pytest.mark.parametrize("open_store", [lambda path: MemoryStore(), SqliteStore], ids=["memory", "sqlite"])
async def test_a_reply_that_was_kept_is_the_output(open_store: Callable[[str], DocumentStore], tmp_path: Path) -> None:
    store, kitchen = open_store(str(tmp_path / "runs.db")), Kitchen(RemoteWait("cooking"))
    async with create_platform(kitchen, store) as platform:
        run_id = await begin(platform)
        (request,) = (await platform.tree(run_id)).run.pending
        assert request.kind == "reply"

        await platform.keep_answers(run_id, {request.id: "wagyu"}, key="reply-1")
        restarted = create_platform(kitchen, store)
        await Worker(restarted).run_once()

        view = (await restarted.tree(run_id)).run
        assert (view.status, view.output, view.usage.total_tokens) == ("completed", "wagyu", 7)
        assert len(kitchen.sent) == 1


async def test_a_reply_may_say_that_the_task_has_failed() -> None:
    kitchen = Kitchen(RemoteWait("cooking"))
    platform = create_platform(kitchen)
    run_id = await begin(platform)
    (request,) = (await platform.tree(run_id)).run.pending

    await platform.keep_answers(run_id, {request.id: "burnt"})
    await Worker(platform).run_once()

    view = (await platform.tree(run_id)).run
    assert view.status == "failed"
    assert view.failure is not None
    assert "kitchen (kitchen.example): the task task-1 is burnt" in view.failure


async def test_an_answer_is_sent_on_and_again_with_the_same_id() -> None:
    kitchen = Kitchen(RemoteWait("With salt?"), TransientError("no line"), MEAL)
    platform = create_platform(kitchen)
    run_id = await begin(platform)
    (request,) = (await platform.tree(run_id)).run.pending

    with pytest.raises(TransientError):
        await platform.respond(run_id, request.id, "no")
    await platform.resume(run_id)

    assert await platform.output(run_id) == "wagyu"
    _, answer, repeated = kitchen.sent
    assert answer is not None
    assert (answer.question, answer.answer) == ("With salt?", "no")
    assert repeated == answer


async def test_a_task_with_an_id_is_followed_and_not_sent_again() -> None:
    kitchen = Kitchen("cooks", MEAL)
    platform = create_platform(kitchen)
    run_id = await platform.enqueue("Cook", "room 403")
    working = asyncio.create_task(Worker(platform).run())
    await kitchen.entered.wait()
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)

    await Worker(platform).run_once()

    assert await platform.output(run_id) == "wagyu"
    assert [message is None for message in kitchen.sent] == [False, True]
    assert kitchen.cancelled == []  # it was interrupted, and went on


async def test_a_task_is_cancelled_with_its_run() -> None:
    kitchen = Kitchen("cooks")
    platform = create_platform(kitchen)
    running = asyncio.create_task(Cook(kitchen).run("room 403", context=Platform(ScriptedModel()).context()))
    await kitchen.entered.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert kitchen.cancelled == ["task-1"]

    kitchen.outcomes.append("cooks")
    kitchen.entered.clear()
    run_id = await platform.enqueue("Cook", "room 404")
    working = asyncio.create_task(Worker(platform, lease=0.3).run_once())
    await kitchen.entered.wait()
    await platform.kill(run_id)
    await working
    assert kitchen.cancelled == ["task-1", "task-1"]


async def test_a_task_ends_with_the_deadline_of_its_run() -> None:
    clock = FakeClock()
    kitchen = Kitchen("cooks", seconds=3600)
    platform = create_platform(kitchen, clock=clock)
    context = platform.context().with_deadline(clock.time() + 60)
    running = asyncio.create_task(Cook(kitchen).run("room 403", context=context))
    await clock.run_for(59)
    assert not running.done()
    await clock.run_for(2)

    with pytest.raises(BudgetError) as caught:
        await running
    assert caught.value.result.status is RunStatus.TERMINATED
    assert kitchen.cancelled == ["task-1"]
    assert kitchen.sent[0] is not None
    assert kitchen.sent[0].deadline == context.deadline


async def test_a_task_that_takes_too_long_is_cancelled() -> None:
    clock, kitchen = FakeClock(), Kitchen("cooks", seconds=10)
    context = create_platform(kitchen, clock=clock).context()
    running = asyncio.create_task(Cook(kitchen).run("room 403", context=context))
    await clock.run_for(11)

    with pytest.raises(RunError, match="has not ended after 10 seconds, and was cancelled"):
        await running
    assert kitchen.cancelled == ["task-1"]


async def test_what_is_left_of_the_budgets_goes_with_the_task() -> None:
    kitchen = Kitchen(MEAL, MEAL)
    platform = create_platform(kitchen)

    class Party(BaseRunnable[object]):
        name, description = "Party", "Orders two meals"

        @override
        async def _work(self, input: Input, context: RunContext) -> RunResult[object]:
            await Cook(kitchen).run("first", context=context)
            return await Cook(kitchen).run("second", context=context, budget=Budget(tokens=50, turns=2))

    await Party().run("two", context=platform.context(), budget=Budget(tokens=20, cost=1.0))

    budgets = [message.budget for message in kitchen.sent if message is not None]
    assert [(budget.tokens, budget.cost, budget.turns) for budget in budgets] == [(20, 1.0, None), (13, 1.0, 2)]
