"""Answers to the requests of runs: given, kept, refused, and found again after an interruption."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tactician import (
    Agent,
    Platform,
    RunContext,
    RunResult,
    RunStatus,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    tool,
)
from tactician.agents import BaseRunnable, PlannedAgent
from tactician.agents.flows import simple_agent
from tactician.errors import ResponseError
from tactician.platform import Worker
from tactician.process import ask_human
from tactician.runs import PendingRequest
from tactician.runs.life.execution import keep_responses
from tactician.runs.outcomes.suspension import Response
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.stores import DocumentStore, MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.support.stored import JsonStore, load_record

STORES = pytest.mark.parametrize("new_store", [MemoryStore, JsonStore])


@dataclass
class Rating:
    stars: int


class Judge:
    """Asks for a rating, and then fails as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        self.runs = 0
        self.failures = failures

    async def rate(self, topic: str) -> Rating:
        self.runs += 1
        rating = await ask_human(Rating, f"How good are {topic}?")
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the printer is out of paper")
        return rating

    @property
    def flow(self) -> BaseRunnable[Rating]:
        return simple_agent(Rating, self.rate, name="Judge")


@planned_agent(description="rates what somebody has rated")
class Planned:
    @achieves_goal("rated")
    @action
    async def rate(self, topic: UserInput) -> Rating:
        return await ask_human(Rating, f"How good are {topic.content}?")


def platform_of(store: DocumentStore, *agents: object, model: ScriptedModel | None = None) -> Platform:
    return Platform(models=model or ScriptedModel(), store=store).register(*agents)


async def keep(platform: Platform, run_id: str, response: Response) -> None:
    """Keep an answer to the only request of a run."""
    (request,) = (await load_record(platform.store, run_id)).header.pending
    claimed = await RunStore(platform.store).claim("somebody", 60, run_id=run_id)
    assert claimed is not None
    await keep_responses(*claimed, platform.context(), {request.id: response})


def only(pending: tuple[PendingRequest, ...]) -> PendingRequest:
    (request,) = pending
    return request


class TestKept:
    @STORES
    @pytest.mark.parametrize("agent", [Judge().flow, Planned()], ids=["flow", "process"])
    async def test_a_worker_continues_the_run_with_it(
        self, new_store: Callable[[], DocumentStore], agent: object
    ) -> None:
        platform = platform_of(new_store(), agent)
        name = agent.name if isinstance(agent, BaseRunnable) else "Planned"
        run_id = await platform.enqueue(name, "frogs")
        worker = Worker(platform)
        assert await worker.run_once()
        assert not await worker.run_once(), "it waits"

        await keep(platform, run_id, Rating(4))

        assert await worker.run_once()
        assert (await load_record(platform.store, run_id)).status is RunStatus.COMPLETED
        assert not await worker.run_once()

    async def test_it_is_a_step_of_the_run(self) -> None:
        platform = platform_of(JsonStore(), Judge().flow)
        run_id = await platform.enqueue("Judge", "frogs")
        await Worker(platform).run_once()

        await keep(platform, run_id, Rating(4))

        last = (await RunStore(platform.store).load_steps(run_id))[-1]
        assert (last.kind, last.detail, last.path) == ("response", "Judge/rate/asked", ("Judge",))

    async def test_a_process_inside_another_run_takes_it(self) -> None:
        async def rate(topic: str, context: RunContext) -> Rating:
            result = await PlannedAgent(Planned()).run(UserInput(topic), context=context)
            assert isinstance(result.output, Rating)
            return result.output

        platform = platform_of(JsonStore(), simple_agent(Rating, rate, name="Outer"))
        run_id = await platform.enqueue("Outer", "frogs")
        await Worker(platform).run_once()
        await keep(platform, run_id, Rating(4))

        await Worker(platform).run_once()

        assert (await load_record(platform.store, run_id)).header.output == '{"stars":4}'

    async def test_one_that_is_refused_is_not_tried_again(self) -> None:
        judge = Judge()
        platform = platform_of(JsonStore(), judge.flow)
        run_id = await platform.enqueue("Judge", "frogs")
        await Worker(platform).run_once()
        await keep(platform, run_id, "splendid")
        await Worker(platform).run_once()
        request = only((await load_record(platform.store, run_id)).header.pending)
        assert request.problem is not None
        assert not request.is_answered
        runs = judge.runs

        waiting = await platform.resume(run_id)

        assert isinstance(waiting, RunResult)
        assert (waiting.status, waiting.pending, judge.runs) == (RunStatus.WAITING, (request,), runs)
        await keep(platform, run_id, Rating(4))
        await Worker(platform).run_once()
        assert (await load_record(platform.store, run_id)).status is RunStatus.COMPLETED

    async def test_a_run_that_fails_with_it_has_failed(self) -> None:
        platform = platform_of(JsonStore(), Judge(failures=1).flow)
        run_id = await platform.enqueue("Judge", "frogs")
        await Worker(platform).run_once()
        await keep(platform, run_id, Rating(4))

        await Worker(platform).run_once()

        record = await load_record(platform.store, run_id)
        assert (record.status, record.header.pending) == (RunStatus.FAILED, ())
        assert record.header.failure == "ConnectionError: the printer is out of paper"

    async def test_what_the_run_does_not_wait_for_is_refused_and_the_lease_released(self) -> None:
        platform = platform_of(JsonStore(), Judge().flow)
        run_id = await platform.enqueue("Judge", "frogs")
        claimed = await RunStore(platform.store).claim("somebody", 60, run_id=run_id)
        assert claimed is not None

        with pytest.raises(ResponseError, match=r"Judge does not wait for 'x'; it waits for \[\]"):
            await keep_responses(*claimed, platform.context(), {"x": 1})

        assert not (await load_record(platform.store, run_id)).is_leased

    async def test_without_a_durable_store_it_is_kept_too(self) -> None:
        judge, context = Judge(), RunContext.over(ScriptedModel())
        waiting = await judge.flow.run("frogs", context=context)
        claimed = await RunStore(context.store).claim("somebody", 60, run_id=waiting.run_id)
        assert claimed is not None

        await keep_responses(*claimed, context, {only(waiting.pending).id: Rating(4)})

        assert (await judge.flow.resume(waiting.run_id, {}, context=context)).output == Rating(4)


class TestGiven:
    """Answers with which somebody resumes a run, and waits for what comes of them."""

    @STORES
    async def test_the_run_waits_again_if_it_fails_and_keeps_them(self, new_store: Callable[[], DocumentStore]) -> None:
        judge = Judge(failures=2)
        platform = platform_of(new_store(), judge.flow)
        waiting = await judge.flow.run("frogs", context=platform.context())
        request = only(waiting.pending)

        with pytest.raises(ConnectionError):
            await platform.respond(waiting.run_id, request.id, Rating(4))
        record = await load_record(platform.store, waiting.run_id)
        assert (record.status, record.header.failure) == (
            RunStatus.WAITING,
            "ConnectionError: the printer is out of paper",
        )
        assert not await Worker(platform).run_once(), "it is for the caller to try again"
        with pytest.raises(ConnectionError):
            await platform.resume(waiting.run_id)

        done = await platform.resume(waiting.run_id)

        assert isinstance(done, RunResult)
        assert done.output == Rating(4)

    async def test_another_answer_may_be_given_then(self) -> None:
        judge = Judge(failures=1)
        platform = platform_of(JsonStore(), judge.flow)
        waiting = await judge.flow.run("frogs", context=platform.context())
        request = only(waiting.pending)
        with pytest.raises(ConnectionError):
            await platform.respond(waiting.run_id, request.id, Rating(4))

        done = await platform.respond(waiting.run_id, request.id, Rating(5))

        assert isinstance(done, RunResult)
        assert done.status is RunStatus.COMPLETED

    @STORES
    async def test_who_continues_an_interrupted_run_has_them(self, new_store: Callable[[], DocumentStore]) -> None:
        began, may_end, paid = asyncio.Event(), asyncio.Event(), list[int]()

        @tool(needs_approval=True)
        async def pay(amount: int) -> str:
            """Pay an amount."""
            began.set()
            await may_end.wait()
            paid.append(amount)
            return "paid"

        agent = Agent("Clerk", tools=[pay])
        model = ScriptedModel(ToolCall("pay", amount=5), "Done.")
        platform = platform_of(new_store(), agent, model=model)
        waiting = await agent.run("pay 5", context=platform.context())
        resumed = asyncio.create_task(platform.respond(waiting.run_id, only(waiting.pending).id, True))
        await began.wait()
        resumed.cancel()
        await asyncio.gather(resumed, return_exceptions=True)
        may_end.set()

        assert await Worker(platform).run_once()

        record: RunRecord = await load_record(platform.store, waiting.run_id)
        assert (record.status, record.header.output, paid) == (RunStatus.COMPLETED, "Done.", [5])
