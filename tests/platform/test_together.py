"""Components and agents that are registered together take part in planning together."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from tactician import (
    Agent,
    Planner,
    Platform,
    ProcessStatus,
    RunContext,
    UserInput,
    achieves_goal,
    action,
    component,
    planned_agent,
)
from tactician.errors import AgentNotFoundError, DeclarationError, UnknownModelError
from tactician.events import Event
from tactician.llm import LanguageModel, LlmOptions
from tactician.platform import Worker
from tactician.process import AgentProcess, ProcessStuckError
from tactician.runs import RunStarted
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.agents.running import steps
from tests.support.stored import JsonStore


@dataclass(frozen=True)
class Place:
    name: str


@dataclass(frozen=True)
class Weather:
    text: str


@dataclass(frozen=True)
class Ticket:
    text: str


@component
class Maps:
    @action
    def locate(self, user_input: UserInput) -> Place:
        return Place(user_input.content)


@component
class Forecasts:
    @achieves_goal("The weather is known")
    @action
    def look(self, place: Place) -> Weather:
        return Weather(f"sunny in {place.name}")


@planned_agent(description="knows the weather of villages")
class Villages:
    @achieves_goal("The weather is known")
    @action
    def look(self, place: Place) -> Weather:
        return Weather(f"rain in {place.name}")


@component
class Desk:
    @action(value=0.9)
    def label(self, ticket: Ticket) -> Place:
        return Place(ticket.text)


async def test_a_chain_of_actions_of_several_components_is_found() -> None:
    platform = Platform(ScriptedModel()).register(Maps(), Forecasts())
    assert await platform.invoke(Weather, "Rome") == Weather("sunny in Rome")
    (process,) = await platform.processes()
    assert steps(process) == ["Maps.locate", "Forecasts.look"]


async def test_in_a_tool_of_an_agent_it_is_a_run_inside() -> None:
    platform = Platform(ScriptedModel()).register(Maps(), Forecasts())
    stuck: list[ProcessStuckError] = []

    async def find_weather(city: str) -> str:
        """Find the weather."""
        try:
            return (await platform.invoke(Weather, city)).text
        except ProcessStuckError as error:
            stuck.append(error)
            return "nowhere"

    model = ScriptedModel(ToolCall("find_weather", city="Rome"), "It is sunny.")
    events: list[Event] = []
    agent = Agent("Guide", model=model, tools=[find_weather])
    await agent.run("Rome?", context=RunContext.over(model, events.append))
    assert "sunny in Rome" in model.calls[1].prompt
    assert [event.path for event in events if isinstance(event, RunStarted)][1][0] == "Guide"
    platform.unregister("Maps")
    model.script(ToolCall("find_weather", city="Rome"), "I do not know.")
    await agent.run("Rome?", context=RunContext.over(model))
    assert "which needs 'Place'" in str(stuck[0])


async def test_an_agent_with_a_plan_of_its_own_comes_first() -> None:
    platform = Platform(ScriptedModel()).register(Maps(), Forecasts(), Villages())
    assert await platform.invoke(Weather, Place("Rome")) == Weather("sunny in Rome")
    (process,) = await platform.processes()
    assert process.agent.name == "Forecasts"


async def test_actions_of_a_planned_agent_and_of_a_component_go_together() -> None:
    platform = Platform(ScriptedModel()).register(Maps(), Villages(), Agent("Helper"))
    assert await platform.invoke(Weather, "Ulm") == Weather("rain in Ulm")


async def test_what_is_registered_later_takes_part() -> None:
    platform = Platform(ScriptedModel()).register(Forecasts())
    with pytest.raises(ProcessStuckError, match="which needs 'Place'"):
        await platform.invoke(Weather, "Rome")
    platform.register(Maps())
    assert await platform.invoke(Weather, "Rome") == Weather("sunny in Rome")
    platform.unregister("Maps")
    with pytest.raises(ProcessStuckError):
        await platform.invoke(Weather, "Rome")


async def test_what_no_goal_gives_is_not_found() -> None:
    with pytest.raises(AgentNotFoundError, match="No registered agent yields a Place"):
        await Platform(ScriptedModel()).register(Maps(), Forecasts()).invoke(Place, "Rome")


async def test_whatever_is_worth_most_is_done_over_the_whole_platform() -> None:
    platform = Platform(ScriptedModel()).register(Desk(), Forecasts())
    process = await platform.start(platform.as_agent(), Ticket("Rome"))
    assert steps(process) == ["Desk.label", "Forecasts.look"]
    assert process.last(Weather) == Weather("sunny in Rome")


@pytest.mark.parametrize("planner", [Planner.UTILITY, Planner.GOAP, Planner.HYBRID])
async def test_a_worker_elsewhere_continues_what_all_do_together(planner: Planner) -> None:
    store = JsonStore()
    platform = Platform(ScriptedModel(), store=store).register(Desk(), Forecasts())
    run_id = await platform.enqueue(platform.as_agent(planner), Ticket("Rome"))
    elsewhere = Platform(ScriptedModel(), store=store).register(Desk(), Forecasts())
    assert await Worker(elsewhere).run_once()
    process = await elsewhere.process(run_id)
    assert type(process.agent.planner) is type(planner.build())
    assert process.status in (ProcessStatus.COMPLETED, ProcessStatus.STUCK)
    assert process.last(Weather) == Weather("sunny in Rome")


def test_nothing_is_registered() -> None:
    with pytest.raises(DeclarationError, match="no planned agent or component is registered"):
        Platform(ScriptedModel()).register(Agent("Helper")).as_agent()


class NoModels:
    def resolve(self, options: LlmOptions) -> LanguageModel:
        raise UnknownModelError(f"no {options.model}")


class TestRegistration:
    def test_an_agent_takes_the_place_of_the_one_with_its_id(self) -> None:
        old, new = Agent("A", id="a"), Agent("B", id="a")
        platform = Platform(ScriptedModel()).register(old)
        with pytest.raises(DeclarationError, match="another agent has the id 'a'; rename either"):
            platform.register(new)
        platform.register(new, replace=True)
        assert (dict(platform.agents), dict(platform.agents_by_id)) == ({"B": new}, {"a": new})

    def test_agents_of_one_name_are_known_by_their_ids(self) -> None:
        one, two = Agent("A", id="one"), Agent("A", id="two")
        platform = Platform(ScriptedModel()).register(one, two)
        assert dict(platform.agents) == {"one": one, "two": two}
        assert platform.find_agent("two") is two
        with pytest.raises(AgentNotFoundError, match=r"No agent is registered as 'A'.* Registered: one, two"):
            Platform(NoModels()).register(one, two).find_agent("A")

    def test_what_is_forgotten_is_gone(self) -> None:
        platform = Platform(NoModels()).register(Agent("A", id="one"))
        platform.unregister("one")
        assert not platform.agents
        with pytest.raises(AgentNotFoundError, match="No agent is registered as 'one'"):
            platform.unregister("one")


class TestClosing:
    async def test_the_store_is_closed_at_the_end(self) -> None:
        class Store(MemoryStore):
            closed: int = 0

            async def aclose(self) -> None:
                self.closed += 1

        async with Platform(ScriptedModel("Hi"), store=(store := Store())) as platform:
            await Agent("a").run("Hello", context=platform.context())
            before = store.closed
        assert (before, store.closed) == (0, 1)

    async def test_what_was_spawned_is_interrupted_and_can_be_resumed(self) -> None:
        begun, held = asyncio.Event(), [True]

        @planned_agent(description="waits")
        class Waiting:
            @achieves_goal("done")
            @action
            async def wait(self, user_input: UserInput) -> Ticket:
                begun.set()
                if held:
                    await asyncio.Event().wait()
                return Ticket("done")

        store = MemoryStore()
        async with Platform(ScriptedModel(), store=store) as platform:
            process = await platform.spawn(Waiting(), "go")
            await begun.wait()
        held.clear()
        resumed = await Platform(ScriptedModel(), store=store).register(Waiting()).resume(process.id)
        assert isinstance(resumed, AgentProcess)
        assert resumed.result == Ticket("done")
