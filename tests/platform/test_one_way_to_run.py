"""`run`, `start` and `spawn` take every kind of Runnable, by itself or by its name, with one kind of handle."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import assert_type

import pytest

from tactician import (
    Agent,
    Budget,
    Ensemble,
    Planned,
    Platform,
    RouterAgent,
    RunContext,
    RunResult,
    Task,
    UserInput,
    achieves_goal,
    action,
    planned_agent,
    tool,
)
from tactician.agents import runnable
from tactician.conversation import Conversation
from tactician.errors import AgentNotFoundError, ConfigurationError
from tactician.llm import Image, Text, UserMessage
from tactician.platform import Worker
from tactician.process import AgentProcess, ProcessOptions, ProcessStatus
from tactician.runs import Input, RunStatus, approve
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tests.support.stored import JsonStore


@dataclass(frozen=True)
class Joke:
    text: str


@planned_agent(description="Tells jokes")
class Joker(Planned[Joke]):
    @achieves_goal("A joke is told")
    @action
    def tell(self, text: UserInput) -> Joke:
        return Joke(text.content)


@planned_agent(description="Tells jokes about two things")
class Pairing:
    @achieves_goal("A joke is told")
    @action
    def tell(self, first: Joke, number: int) -> Joke:
        return Joke(f"{first.text} {number}")


@runnable
async def shout(text: str) -> str:
    """Shout."""
    return f"{text}!"


@runnable
async def say_nothing(text: str) -> None:
    """Say nothing."""


@runnable
async def tell_jokes(topic: str) -> list[Joke]:
    """Tell two jokes."""
    return [Joke(topic), Joke(f"{topic}s")]


class Loud:
    """Runnable that only keeps the contract."""

    name = "Loud"
    description = "Shouts"

    async def run(self, input: Input, *, context: RunContext | None = None) -> RunResult[str]:
        return RunResult(f"{input}!!")


async def test_run_takes_every_kind() -> None:
    model = ScriptedModel("Hi.", "A letter.", "1", "Hi again.")
    platform = Platform(model)
    assert (await platform.run(Agent("Host"), "Hi")).output == "Hi."
    letter = Ensemble("Letters", [Task("Write to {name}")])
    assert (await platform.run(letter, {"name": "Ada"})).output == "A letter."
    router = RouterAgent("Desk", routes={"all": Agent("Host")})
    assert (await platform.run(router, "Hi")).output == "Hi again."
    assert (await platform.run(shout, "hey")).output == "hey!"
    assert (await platform.run(Loud(), "hey")).output == "hey!!"
    assert (await platform.run(Pairing(), Joke("Frogs"), 2)).output == Joke("Frogs 2")
    model.assert_exhausted()


async def test_the_output_has_a_type() -> None:
    platform = Platform(ScriptedModel("Hi.", Joke("a"), Joke("b"), Joke("c")))
    assert_type(await platform.run(Agent("Host"), "Hi"), RunResult[str])
    comic = Agent("Comic", output_type=Joke)
    assert_type(await platform.run(comic, "Hi"), RunResult[Joke])
    process = await platform.start(comic, "Hi")
    assert_type(process, AgentProcess[Joke])
    assert_type(process.result, Joke | None)
    assert_type(await platform.spawn(comic, "Hi"), AgentProcess[Joke])
    assert_type(await platform.start(Joker(), "Hi"), AgentProcess[Joke])
    assert_type(await platform.run(Joker(), "Hi"), RunResult[Joke])
    await platform.aclose()


@pytest.mark.parametrize("agent", [Agent("Host"), shout, Loud(), Joker(), Ensemble("Letters", [Task("Write")])])
async def test_start_and_spawn_take_every_kind(agent: object) -> None:
    platform = Platform(ScriptedModel("Hi.", "Hi.", "Hi.", "Hi."))
    started = await platform.start(agent, "hey")
    assert (started.status, bool(started.result)) == (ProcessStatus.COMPLETED, True)
    spawned = await (await platform.spawn(agent, "hey")).wait()
    assert (spawned.status, spawned.result) == (ProcessStatus.COMPLETED, started.result)
    registered = platform.register(agent).find_agent(started.name)
    assert (await platform.start(registered.name, "hey")).result == started.result
    assert (await platform.run(registered.name, "hey")).output == started.result
    assert {process.name for process in await platform.processes()} == {started.name}


def test_without_an_event_loop() -> None:
    platform = Platform(ScriptedModel("Hi.", "Hi."))
    assert platform.run_sync(Agent("Host"), "Hi").output == "Hi."
    assert platform.start_sync(Agent("Host"), "Hi").result == "Hi."


async def test_a_result_may_be_missing() -> None:
    process = await Platform(ScriptedModel()).start(say_nothing, "hey")
    assert (process.status, process.result) == (ProcessStatus.COMPLETED, None)


async def test_pictures_stay_pictures() -> None:
    model = ScriptedModel("A cat.")
    picture = Image(url="https://example.com/cat.png")
    await Platform(model, store=JsonStore()).start(Agent("Host"), UserMessage((Text("What is this?"), picture)))
    assert isinstance(message := model.calls[0].messages[-1], UserMessage)
    assert picture in message.content


async def test_a_run_in_code_of_the_platform_is_inside_the_run_around_it() -> None:
    platform = Platform(ScriptedModel("Hi."))

    @runnable
    async def ask(text: str) -> str:
        return (await platform.run(Agent("Host"), text)).output

    result = await platform.run(ask, "Hi")
    assert (result.output, result.usage.requests) == ("Hi.", 1)


async def test_a_run_in_code_of_another_platform_has_the_models_of_its_own() -> None:
    platform = Platform(ScriptedModel("Hi."))

    @runnable
    async def ask(text: str) -> str:
        return (await platform.run(Agent("Host"), text)).output

    result = await Platform(ScriptedModel()).run(ask, "Hi")
    assert (result.output, result.usage.requests) == ("Hi.", 0)


async def test_options() -> None:
    platform = Platform(ScriptedModel("Hi."))
    conversation = Conversation()
    await platform.run(Agent("Host"), "Hello", conversation=conversation, budget=Budget(turns=1))
    assert len(conversation.messages) == 2
    told = await platform.run(Joker(), options=ProcessOptions(), named={"text": UserInput("Hares")})
    assert told.output == Joke("Hares")
    with pytest.raises(ConfigurationError, match="'Host', which is no planned agent, takes no named: leave named= out"):
        await platform.run(Agent("Host"), "Hi", named={"text": "Hi"})
    with pytest.raises(ConfigurationError, match=r"'Loud' \(Loud\) takes no budget"):
        await platform.run(Loud(), "Hi", budget=Budget(turns=1))
    with pytest.raises(TypeError, match=r"run\(\) has no option 'model'\. It is a setting of the agent"):
        await platform.run(Agent("Host"), "Hi", model="gpt-5.4")  # type: ignore[call-overload]
    with pytest.raises(AgentNotFoundError, match="No agent is registered as 'Hots'"):
        await platform.run("Hots", "Hi")


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"Paid {amount}."


@pytest.mark.parametrize("is_registered", [True, False])
async def test_a_run_that_waits_is_continued_by_its_id(is_registered: bool) -> None:
    clerk = Agent("Clerk", tools=[pay])
    platform = Platform(ScriptedModel(ToolCall("pay", amount=5), "Done."), store=JsonStore())
    if is_registered:
        platform.register(clerk)
    result = await platform.run(clerk, "Pay 5")
    assert result.status is RunStatus.WAITING
    continued = await platform.respond(result.run_id, result.pending[0].id, approve())
    assert isinstance(continued, RunResult)
    assert continued.output == "Done."


async def test_the_handle_survives_a_restart(tmp_path: Path) -> None:
    url = tmp_path / "runs.db"
    script = (ToolCall("pay", amount=5), "Done.")
    async with Platform(ScriptedModel(*script), store=SqliteStore(url)) as first:
        process = await first.start(Agent("Clerk", tools=[pay]), "Pay 5")
        assert process.status is ProcessStatus.WAITING
    async with Platform(ScriptedModel("Done."), store=SqliteStore(url)) as second:
        second.register(Agent("Clerk", tools=[pay]))
        again = await second.process(process.id)
        assert [request.kind for request in again.pending] == ["approval"]
        ended = await second.respond(process.id, again.pending[0].id, approve())
        assert isinstance(ended, AgentProcess)
        assert (ended.status, ended.result) == (ProcessStatus.COMPLETED, "Done.")
    async with Platform(ScriptedModel(), store=SqliteStore(url)) as third:
        third.register(Agent("Clerk", tools=[pay]))
        assert (await third.process(process.id)).result == "Done."


async def test_outputs_of_declared_types_are_read_back() -> None:
    store = JsonStore()
    comic = Agent("Comic", output_type=Joke)
    desk = RouterAgent("Desk", routes={"all": comic, "none": Agent("Host")})
    platform = Platform(ScriptedModel("1", Joke("frogs")), store=store)
    routed, told = await platform.start(desk, "Hi"), await platform.start(tell_jokes, "frog")
    other = Platform(ScriptedModel(), store=store).register(desk, tell_jokes)
    assert (await other.process(routed.id)).result == routed.result == Joke("frogs")
    assert (await other.process(told.id)).result == told.result == [Joke("frog"), Joke("frogs")]


async def test_a_worker_continues_what_was_enqueued_unregistered() -> None:
    platform = Platform(ScriptedModel("Hi."), store=JsonStore())
    run_id = await platform.enqueue(Agent("Host"), "Hi")
    assert await Worker(platform).run_once()
    assert await platform.output(run_id) == "Hi."
