"""Agents of other programs as Runnables, over a loopback socket."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import tactician.a2a
from tactician import (
    Agent,
    Ensemble,
    Platform,
    RouterAgent,
    RunContext,
    RunStatus,
    Task,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    reject,
    runnable,
)
from tactician.a2a import RemoteAgent, RemoteTaskChanged, RemoteTaskError, RemoteUnavailableError
from tactician.errors import MissingExtraError
from tactician.events import Event
from tactician.process import AgentProcess
from tactician.process.state.errors import find_rejection
from tactician.runs import OutputError, RunResult
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore, open_store
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.a2a.examples import Greeter, Quote, Seller
from tests.serve.a2a.serving import serve_a2a
from tests.support.waiting import eventually


@pytest.fixture
async def server() -> AsyncIterator[Platform]:
    async with Platform(ScriptedModel("unused"), store=MemoryStore()) as platform:
        yield platform.register(Seller(), Greeter())


@pytest.fixture
async def url(server: Platform) -> AsyncIterator[str]:
    talker = Agent("Talker", description="Talks", model=ScriptedModel("one two three", "four"))
    async with serve_a2a(server, talker) as address:
        yield address


async def as_result(answered: AgentProcess | RunResult[object]) -> RunResult[object]:
    assert isinstance(answered, RunResult)
    return answered


async def test_a_remote_agent_has_the_name_and_the_purpose_on_its_card(url: str) -> None:
    whole = await RemoteAgent.discover(f"{url}/.well-known/agent-card.json")
    assert whole.name == "Tactician"
    assert "Sells things" in whole.description
    part = await RemoteAgent.discover(url, skill="quote")
    assert (part.name, part.description) == ("quote", "a quote. Sells things")


async def test_text_data_and_typed_objects_come_back(url: str) -> None:
    talker = await RemoteAgent.discover(url, skill="talker")
    assert (await talker.run("say it")).output == "one two three"
    quotes = await RemoteAgent.discover(url, skill="quote")
    order = {"item": "pens", "amount": 3}
    assert (await quotes.run(order)).output == {"text": "3 pens", "price": 3}
    assert (await quotes.with_output_type(Quote).run(order)).output == Quote("3 pens", 3.0)
    with pytest.raises(OutputError, match="quote"):
        await quotes.with_output_type(int).run(order)


async def test_the_cost_of_a_remote_task_is_unknown(url: str) -> None:
    talker = await RemoteAgent.discover(url, skill="talker")
    result = await talker.run("say it")
    assert result.cost is None
    assert list(result.tally.by_model) == ["a2a:Talker"]


async def test_an_answer_comes_in_pieces_with_events(url: str) -> None:
    talker = await RemoteAgent.discover(url, skill="talker")
    pieces = [piece async for piece in talker.stream_text("say it")]
    assert len(pieces) > 1
    assert "".join(pieces) == "one two three"
    events: list[Event] = [event async for event in talker.stream("again")]
    states = [event.state for event in events if isinstance(event, RemoteTaskChanged)]
    assert states[-1] == "completed"


async def test_what_does_not_fit_is_refused_with_the_reason(url: str) -> None:
    quotes = await RemoteAgent.discover(url, skill="quote")
    with pytest.raises(RemoteTaskError, match=r"quote \(http://127.*the task .* was rejected: .*amount"):
        await quotes.run({"item": "pens"})
    with pytest.raises(RemoteTaskError, match=r"There is no skill 'quite'\. Did you mean 'quote'"):
        await RemoteAgent(url, name="Quotes", skill="quite").run("x")


async def test_a_run_waits_while_the_other_side_asks_and_another_process_resumes_it(
    url: str, server: Platform, tmp_path: Path
) -> None:
    address = str(tmp_path / "runs.db")
    async with open_store(address) as store, Platform(ScriptedModel("unused"), store=store) as platform:
        remote = await RemoteAgent.discover(url, name="Quotes", skill="quote")
        platform.register(remote)
        waiting = await remote.run({"item": "pens", "amount": 20}, context=platform.context())
        assert waiting.status is RunStatus.WAITING
        (request,) = waiting.pending
        assert request.prompt == "Which discount for 20?"
    async with open_store(address) as store, Platform(ScriptedModel("unused"), store=store) as platform:
        platform.register(RemoteAgent(url, name="Quotes", skill="quote"))
        again = await as_result(await platform.respond(waiting.run_id, request.id, "many"))
        assert again.status is RunStatus.WAITING
        assert again.pending[0].problem is not None
        done = await as_result(await platform.respond(waiting.run_id, again.pending[0].id, 0.5))
        assert done.output == {"text": "20 pens", "price": 10}
    assert len(await server.runs(names=["a2a"])) == 1


async def test_confirmations_are_confirmations_here_too(url: str) -> None:
    greet = await RemoteAgent.discover(url, skill="greet")
    for answer, text in ((True, "Hello, Ada!"), (reject("no"), "No.")):
        waiting = await greet.run("Ada")
        (request,) = waiting.pending
        assert request.kind == "confirmation"
        assert (await greet.resume(waiting.run_id, {request.id: answer})).output == {"text": text}


async def test_a_rejected_question_rejects_the_task(url: str) -> None:
    quotes = await RemoteAgent.discover(url, skill="quote")
    waiting = await quotes.run({"item": "pens", "amount": 20})
    with pytest.raises(RemoteTaskError, match="was rejected: too many"):
        await quotes.resume(waiting.run_id, {waiting.pending[0].id: reject("too many")})


async def test_a_remote_agent_is_a_tool_and_a_route(url: str) -> None:
    talker = await RemoteAgent.discover(url, skill="talker")
    model = ScriptedModel(ToolCall("talker", request="say it"), "It said: one two three")
    agent = Agent("Asker", model=model, tools=[talker.as_tool()])
    assert (await agent.run("ask it")).output == "It said: one two three"
    router = RouterAgent("Front desk", model=ScriptedModel("1"), routes={"talk": talker})
    assert (await router.run("say it")).output == "four"


async def test_a_conversation_is_handed_to_a_remote_agent(url: str) -> None:
    talker = await RemoteAgent.discover(url, skill="talker")
    desk = Agent("Desk", model=ScriptedModel(ToolCall("transfer_to_talker")), handoffs=[talker])
    result = await desk.run("say it")
    assert result.output == "one two three"
    assert result.delegation_path == ("Desk", "Talker")


async def test_a_remote_agent_does_a_task_of_an_ensemble_that_waits_and_resumes(url: str) -> None:
    greet = await RemoteAgent.discover(url, skill="greet")
    async with Platform(ScriptedModel("unused"), store=MemoryStore()) as platform:
        ensemble = Ensemble(tasks=[Task("Greet Ada", agent=greet)], name="Greeting")
        platform.register(ensemble)
        waiting = await ensemble.run("", context=platform.context())
        assert waiting.status is RunStatus.WAITING
        done = await as_result(await platform.respond(waiting.run_id, waiting.pending[0].id, True))
        assert "Hello, " in str(done.output)


@dataclass
class Wish:
    item: str
    amount: int


@dataclass
class Bought:
    text: str


async def test_two_platforms_talk_and_a_question_reaches_the_person_at_the_other_end(url: str) -> None:
    remote = await RemoteAgent.discover(url, skill="quote")

    @planned_agent(description="Buys things")
    class Buyer:
        @action
        async def read(self, text: UserInput) -> Wish:
            return Wish(text.content, 20)

        @achieves_goal("it is bought")
        @action
        async def buy(self, wish: Wish, context: RunContext) -> Bought:
            quote = await remote.with_output_type(Quote).run(wish, context=context)
            return Bought(f"{quote.output.text} for {quote.output.price}")

    async with Platform(ScriptedModel("unused"), store=MemoryStore()) as platform:
        platform.register(Buyer())
        process = await platform.start("Buyer", "pens")
        assert process.status is RunStatus.WAITING, process.failure
        (request,) = process.pending
        assert request.prompt == "Which discount for 20?"
        done = await platform.respond(process.id, request.id, {"value": 0.25})
        assert isinstance(done, AgentProcess)
        assert done.result == Bought("20 pens for 15.0"), find_rejection(done)


async def test_a_cancelled_run_cancels_its_task(server: Platform) -> None:
    started = asyncio.Event()

    async def sleeper(text: str) -> str:
        """Sleep."""
        started.set()
        await asyncio.sleep(60)
        return text

    async with serve_a2a(server, runnable(sleeper)) as url:
        remote = await RemoteAgent.discover(url, skill="sleeper")
        heard: list[Event] = []
        task = asyncio.create_task(remote.run("now", context=RunContext.over(ScriptedModel("-"), heard.append)))
        await started.wait()
        await eventually(lambda: any(isinstance(event, RemoteTaskChanged) for event in heard))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (run,) = await server.runs(names=["a2a"])
        assert run.status == "killed"


async def knows_its_task(platform: Platform, run_id: str) -> bool:
    """Return whether a run has saved which remote task does its work."""
    return any(step.kind == "remote task" for step in await RunStore(platform.store).load_steps(run_id))


async def test_an_interrupted_run_that_is_saved_does_not_cancel_its_task_until_it_is_killed(server: Platform) -> None:
    gate = asyncio.Event()
    started = asyncio.Event()

    async def slow(text: str) -> str:
        """Wait."""
        started.set()
        await gate.wait()
        return text.upper()

    async with serve_a2a(server, runnable(slow)) as url, Platform(ScriptedModel("-"), store=MemoryStore()) as platform:
        remote = await RemoteAgent.discover(url, skill="slow")
        platform.register(remote)
        run_id = await platform.enqueue("slow", "now")
        task = asyncio.create_task(platform.resume(run_id))
        await started.wait()
        await eventually(lambda: knows_its_task(platform, run_id))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [run.status for run in await server.runs(names=["a2a"])] == ["running"]
        gate.set()
        assert (await as_result(await platform.resume(run_id))).output == "NOW"
        assert len(await server.runs(names=["a2a"])) == 1


async def test_a_killed_run_cancels_its_task(server: Platform) -> None:
    started = asyncio.Event()

    async def endless(text: str) -> str:
        """Wait."""
        started.set()
        await asyncio.sleep(60)
        return text

    async with (
        serve_a2a(server, runnable(endless)) as url,
        Platform(ScriptedModel("-"), store=MemoryStore()) as platform,
    ):
        platform.register(await RemoteAgent.discover(url, skill="endless"))
        run_id = await platform.enqueue("endless", "now")
        claimed = await RunStore(platform.store).claim("test", 0.3, run_id=run_id)
        assert claimed is not None
        task = asyncio.create_task(platform.continue_claimed(*claimed, seconds=0.3))
        await started.wait()
        await eventually(lambda: knows_its_task(platform, run_id))
        await platform.kill(run_id)
        with pytest.raises(Exception, match="killed"):
            await task
        assert [run.status for run in await server.runs(names=["a2a"])] == ["killed"]


async def test_a_task_that_takes_too_long_is_cancelled(server: Platform) -> None:
    async def endless(text: str) -> str:
        """Wait."""
        await asyncio.sleep(60)
        return text

    async with serve_a2a(server, runnable(endless)) as url:
        remote = await RemoteAgent.discover(url, skill="endless", timeout=1)
        with pytest.raises(RemoteTaskError, match=r"has not ended after 1 second"):
            await remote.run("now")
        assert [run.status for run in await server.runs(names=["a2a"])] == ["killed"]


async def test_a_connection_that_breaks_is_made_again(server: Platform) -> None:
    async def slow(text: str) -> str:
        """Wait."""
        await asyncio.sleep(1.2)
        return text.upper()

    async with serve_a2a(server, runnable(slow)) as url:
        remote = await RemoteAgent.discover(url, skill="slow", idle=0.5)
        assert (await remote.run("now")).output == "NOW"
        assert len(await server.runs(names=["a2a"])) == 1


async def test_an_agent_that_cannot_be_reached_is_named() -> None:
    with pytest.raises(RemoteUnavailableError, match=r"127.0.0.1:9/.well-known/.*no agent card"):
        await RemoteAgent.discover("http://127.0.0.1:9")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tactician.a2a.connection", raising=False)
    monkeypatch.delattr(tactician.a2a, "connection", raising=False)
    monkeypatch.setitem(sys.modules, "a2a.client", None)
    with pytest.raises(MissingExtraError, match=r"\.\[a2a\]"):
        RemoteAgent("https://example.com", name="Remote")
