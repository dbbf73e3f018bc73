"""The platform: what is registered, and how processes are started."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tactician import (
    Agent,
    Ai,
    PlannedAgent,
    Platform,
    ProcessStatus,
    RunContext,
    RunResult,
    RunStatus,
    UserInput,
    achieves_goal,
    action,
    component,
    planned_agent,
    runnable,
    tool,
)
from tactician.errors import AgentNotFoundError, DeclarationError, RunNotFoundError
from tactician.events import Event
from tactician.loop import TurnStarted
from tactician.runs.progress.record import RunRecord
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall


@dataclass(frozen=True)
class Joke:
    text: str


@planned_agent(description="tells jokes")
class Comedian:
    @achieves_goal("a joke")
    @action
    async def tell(self, topic: UserInput, ai: Ai) -> Joke:
        return Joke(await ai.generate_text(topic.content))


async def echo(text: object) -> str:
    return str(text)


def test_all_kinds_of_runnables_are_registered_by_name() -> None:
    platform = Platform(models=ScriptedModel())
    assert platform.register(Comedian(), Agent("Support"), runnable(echo)) is platform
    assert list(platform.agents) == ["Comedian", "Support", "echo"]
    assert isinstance(platform.agents["Comedian"], PlannedAgent)


def test_a_planned_agent_that_is_wrapped_already_is_registered_as_it_is() -> None:
    agent = PlannedAgent(Comedian())
    assert Platform(models=ScriptedModel()).register(agent).agents["Comedian"] is agent


def test_a_name_is_taken_once() -> None:
    platform = Platform(models=ScriptedModel()).register(Comedian())
    with pytest.raises(DeclarationError, match=r"Comedian .*\n.*another agent has this name; rename either"):
        platform.register(Agent("Comedian"))
    assert isinstance(platform.agents["Comedian"], PlannedAgent)


@pytest.mark.parametrize(("thing", "name"), [(42, "int"), ("Comedian", "str"), (echo, "function"), (None, "NoneType")])
def test_what_is_no_runnable_is_refused(thing: object, name: str) -> None:
    with pytest.raises(DeclarationError, match=f"{name} is not declared correctly:\n  - it is not a Runnable"):
        Platform(models=ScriptedModel()).register(thing)


def test_a_class_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"this is the class; make an instance: Comedian\(\.\.\.\)"):
        Platform(models=ScriptedModel()).register(Comedian)


async def test_start_takes_an_instance_that_is_not_registered() -> None:
    platform = Platform(models=ScriptedModel("knock"))
    process = await platform.start(Comedian(), "frogs")
    assert process.result == Joke("knock")
    assert not platform.agents


async def test_start_takes_a_planned_agent() -> None:
    process = await Platform(models=ScriptedModel("knock")).start(PlannedAgent(Comedian()), "frogs")
    assert process.status is ProcessStatus.COMPLETED


async def test_start_takes_a_name() -> None:
    platform = Platform(models=ScriptedModel("knock")).register(Comedian())
    assert (await platform.start("Comedian", UserInput("frogs"))).result == Joke("knock")


async def test_start_of_an_unknown_name_suggests_a_known_one() -> None:
    platform = Platform(models=ScriptedModel()).register(Comedian(), Agent("Support"))
    with pytest.raises(AgentNotFoundError) as caught:
        await platform.start("Comedien")
    assert str(caught.value) == (
        "No agent is registered as 'Comedien'. Did you mean 'Comedian'? Registered: Comedian, Support."
    )


async def test_start_without_any_agent_says_that_there_is_none() -> None:
    with pytest.raises(AgentNotFoundError, match=r"No agent is registered as 'x'\. Registered: none\."):
        await Platform(models=ScriptedModel()).start("x")


async def test_start_of_another_kind_of_agent_is_a_process_that_runs_it() -> None:
    platform = Platform(models=ScriptedModel("How can I help?")).register(Agent("Support"))
    process = await platform.start("Support", "help")
    assert (process.status, process.result) == (ProcessStatus.COMPLETED, "How can I help?")
    assert await platform.processes() == [process]


async def test_processes_are_listed_oldest_first() -> None:
    platform = Platform(models=ScriptedModel("a", "b")).register(Comedian())
    first = await platform.start("Comedian", "1")
    await platform.invoke(Joke, "2")
    third = await platform.start("Comedian")
    listed = await platform.processes()
    assert [process.id for process in listed] == [first.id, listed[1].id, third.id]
    assert [process.status for process in listed] == [
        ProcessStatus.COMPLETED,
        ProcessStatus.COMPLETED,
        ProcessStatus.STUCK,
    ]


async def test_a_listener_hears_every_run() -> None:
    events: list[Event] = []
    platform = Platform(models=ScriptedModel("a", "b"), on_event=events.append)
    await platform.start(Comedian(), "frogs")
    heard = len(events)
    assert heard > 0
    await Agent("Support").run("help", context=platform.context())
    assert any(isinstance(event, TurnStarted) and event.path == ("Support",) for event in events[heard:])


async def test_a_context_brings_the_models_of_the_platform() -> None:
    model = ScriptedModel("knock")
    context = Platform(models=model).context()
    assert await Ai(context).generate_text("frogs") == "knock"
    assert not context.is_observed
    assert context.parent_id is None


def test_there_is_one_default_platform() -> None:
    assert Platform.default() is Platform.default()


class TestRunsThatWait:
    async def test_they_are_listed_and_go_on_by_the_name_of_their_agent(self) -> None:
        paid: list[int] = []

        @tool(needs_approval=True)
        def pay(amount: int) -> str:
            paid.append(amount)
            return "paid"

        store = MemoryStore()
        model = ScriptedModel(ToolCall("pay", amount=5), "done")
        platform = Platform(models=model, store=store).register(Agent("Clerk", tools=[pay]))
        waiting = await Agent("Clerk", tools=[pay]).run("pay", context=platform.context())
        assert [(record.id, record.name) for record in await platform.list_waiting_runs()] == [
            (waiting.run_id, "Clerk")
        ]

        other = Platform(models=model, store=store).register(Agent("Clerk", tools=[pay]))
        result = await other.respond(waiting.run_id, waiting.pending[0].id, True)

        assert isinstance(result, RunResult)
        assert (result.output, paid) == ("done", [5])
        assert await platform.list_waiting_runs() == []

    async def test_a_run_that_is_not_there(self) -> None:
        with pytest.raises(RunNotFoundError, match="There is no run with the id 'x'"):
            await Platform(models=ScriptedModel()).resume("x")

    async def test_an_agent_that_is_not_there(self) -> None:
        store = MemoryStore()
        await RunStore(store).save(RunRecord(run_id="r", name="Clerk", status=RunStatus.WAITING, body="{}"))

        with pytest.raises(AgentNotFoundError, match="No agent is registered as 'Clerk'"):
            await Platform(models=ScriptedModel(), store=store).resume("r")

    async def test_something_that_cannot_wait(self) -> None:
        class Own:
            name = "Own"
            description = "own"

            async def run(self, input: object, *, context: RunContext | None = None) -> RunResult[object]:
                return RunResult("x")

        store = MemoryStore()
        await RunStore(store).save(RunRecord(run_id="r", name="Own", status=RunStatus.WAITING, body="{}"))

        with pytest.raises(AgentNotFoundError, match=r"'Own' \(Own\) cannot continue a run"):
            await Platform(models=ScriptedModel(), store=store).register(Own()).resume("r")


class TestComponents:
    async def test_a_component_is_registered_and_runs_what_is_worth_most(self) -> None:
        @component
        class Labels:
            """Labels things."""

            @action(value=0.2)
            def plainly(self, topic: UserInput) -> Joke:
                return Joke("plain")

            @action(value=0.9)
            def finely(self, topic: UserInput) -> Sign:
                return Sign("fine")

        platform = Platform(models=ScriptedModel()).register(Labels())

        process = await platform.start("Labels", "x")

        assert platform.agents["Labels"].description == "Labels things."
        assert [run.action for run in process.history] == ["Labels.finely", "Labels.plainly"]


@dataclass(frozen=True)
class Sign:
    text: str
