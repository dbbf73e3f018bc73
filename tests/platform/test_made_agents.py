"""Processes of agents that nobody registered: made of registered ones, they go on wherever those are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from tactician import (
    Ai,
    Autonomy,
    Export,
    LlmOptions,
    Platform,
    ProcessStatus,
    SupervisorInvocation,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    component,
    planned_agent,
)
from tactician.errors import AgentNotFoundError, ConfigurationError, StoredStateError
from tactician.llm import LanguageModel
from tactician.platform import Worker
from tactician.process import AgentProcess
from tactician.runs.progress.store import RunStore
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.support.stored import JsonStore, change_data, load_record, respond


@dataclass(frozen=True)
class Cook:
    name: str


@dataclass(frozen=True)
class Dish:
    name: str


@dataclass(frozen=True)
class Pie(Dish):
    pieces: int = 8


@dataclass(frozen=True)
class Bill:
    total: int


@component
class Kitchen:
    """Cooks."""

    @action
    async def choose_cook(self, wish: UserInput) -> Cook:
        return Cook(await ask_human(str, f"Who cooks {wish.content}?"))

    @action
    async def bake(self, cook: Cook, ai: Ai) -> Pie:
        return Pie(await ai.generate_text(f"{cook.name} bakes"))


@planned_agent(description="takes the money", name="Till")
class CashDesk:
    @achieves_goal("paid")
    @action
    def charge(self, dish: Dish) -> Bill:
        return Bill(len(dish.name))


@planned_agent(description="does something else")
class Gardener:
    @achieves_goal("planted")
    @action
    def plant(self, wish: UserInput) -> str:
        return "planted"


@planned_agent(description="offers it as a twin")
class OneTwin:
    @achieves_goal("done", export=Export(remote=True, name="twin"))
    @action
    def work(self, bill: Bill) -> Cook:
        return Cook("one")


@planned_agent(description="offers something else by the same name")
class OtherTwin:
    @achieves_goal("done", export=Export(remote=True, name="twin"))
    @action
    def work(self, cook: Cook) -> Bill:
        return Bill(2)


CHOSEN = ToolCall("choose_cook")


def platform_of(store: MemoryStore, *agents: object, model: LanguageModel | None = None) -> Platform:
    return Platform(models=model or ScriptedModel(), store=store).register(*agents)


async def waiting(store: MemoryStore, wanted: type[object] = Dish, *scope: object) -> AgentProcess:
    invocation = SupervisorInvocation(platform_of(store, Kitchen(), model=ScriptedModel(CHOSEN)))
    process = await invocation.returning(wanted).within(*(scope or (Kitchen(),))).start("a pie")
    assert process.status is ProcessStatus.WAITING
    return process


class TestLed:
    async def test_it_goes_on_in_another_program_with_the_same_components(self) -> None:
        store = JsonStore()
        process = await waiting(store)
        model = ScriptedModel(ToolCall("bake"), "apple pie")
        other = platform_of(store, Gardener(), Kitchen(), model=model)

        done = await respond(other, process, "Ada")

        assert (done.status, done.result) == (ProcessStatus.COMPLETED, Pie("apple pie"))
        assert [run.action for run in done.history][:1] == ["Kitchen.choose_cook"]
        model.assert_exhausted()

    async def test_in_the_same_program_too(self) -> None:
        store, model = JsonStore(), ScriptedModel(CHOSEN, ToolCall("bake"), "apple pie")
        platform = platform_of(store, Kitchen(), model=model)
        process = await SupervisorInvocation(platform).returning(Pie).within(Kitchen()).start("a pie")
        done = await respond(platform, process, "Ada")
        assert done.result == Pie("apple pie")

    async def test_several_components_and_agents_are_found_by_the_names_they_are_registered_with(self) -> None:
        store = JsonStore()
        process = await waiting(store, Bill, Kitchen(), CashDesk())
        model = ScriptedModel(ToolCall("bake"), "apple pie", ToolCall("charge"))
        other = platform_of(store, CashDesk(), Kitchen(), model=model)
        done = await respond(other, process, "Ada")
        assert done.result == Bill(9)

    async def test_who_leads_and_for_how_long_go_with_it(self) -> None:
        store = JsonStore()
        first = platform_of(store, Kitchen(), model=ScriptedModel(CHOSEN))
        leader = LlmOptions(temperature=0.25, fallbacks=("gpt-x",))
        invocation = SupervisorInvocation(first, model=leader, max_rounds=1).returning(Pie).within(Kitchen())
        process = await invocation.start("a pie")
        model = ScriptedModel("I am done.")
        other = platform_of(store, Kitchen(), model=model)

        done = await respond(other, process, "Ada")

        assert done.status is ProcessStatus.FAILED
        assert (model.calls[0].options.temperature, model.calls[0].tool_choice) == (0.25, "none")

    @pytest.mark.parametrize("missing", [[], [CashDesk()], [Gardener(), CashDesk()]])
    async def test_it_does_not_where_they_are_not_registered(self, missing: list[object]) -> None:
        store = JsonStore()
        process = await waiting(store, Bill, Kitchen(), CashDesk())
        other = platform_of(store, *missing)
        registered = ", ".join(other.agents) or "none"
        with pytest.raises(AgentNotFoundError, match=rf"not registered here: Kitchen.*\. Registered: {registered}\."):
            await other.process(process.id)

    async def test_what_is_wanted_is_looked_for_only_among_what_they_give(self) -> None:
        store = JsonStore()
        process = await waiting(store)
        for name in ("os.system", "tests.platform.test_made_agents.Bill", "builtins.str"):
            await change_data(store, process.id, partial(want, name))
            with pytest.raises(AgentNotFoundError, match=f"No action of Kitchen produces {name}"):
                await platform_of(store, Kitchen(), CashDesk(), Gardener()).process(process.id)

    @pytest.mark.parametrize("recipe", [None, {"within": "Kitchen"}, []])
    async def test_a_recipe_that_cannot_be_read(self, recipe: object) -> None:
        store = JsonStore()
        process = await waiting(store)
        await change_data(store, process.id, lambda data: data["origin"].update(recipe=recipe))
        with pytest.raises(StoredStateError, match="cannot be read"):
            await platform_of(store, Kitchen()).process(process.id)

    async def test_a_model_that_is_an_object_would_not_be_there_elsewhere(self) -> None:
        invocation = SupervisorInvocation(platform_of(MemoryStore(), Kitchen()), model=ScriptedModel())
        with pytest.raises(ConfigurationError, match="cannot have this model object: pass the name of the model"):
            await invocation.returning(Pie).within(Kitchen()).start("a pie")

    async def test_it_is_not_taken_for_a_process_of_the_component_itself(self) -> None:
        """A component does whatever is worth most: that is another agent."""
        store = JsonStore()
        process = await waiting(store)
        record = await load_record(store, process.id)
        assert record.name == "led towards Dish"
        assert record.name in platform_of(store, Kitchen()).run_names


class TestWorkers:
    async def test_a_worker_takes_what_a_model_leads(self) -> None:
        store, model = JsonStore(), ScriptedModel(ToolCall("bake"), "apple pie")
        process = await waiting(store)
        await answered(store, process)

        assert await Worker(platform_of(store, Kitchen(), model=model)).run_once()

        assert (await load_record(store, process.id)).status is ProcessStatus.COMPLETED

    async def test_a_worker_takes_what_was_assembled_for_a_goal(self) -> None:
        store = JsonStore()
        ranking = {"value": [{"name": "CashDesk.charge", "confidence": 0.9, "reason": "yes"}]}
        first = platform_of(store, CashDesk(), Kitchen(), model=ScriptedModel(ranking))
        result = await Autonomy(first).run("a pie, please", mode="open")
        assert result.process_id is not None
        await answered(store, await first.process(result.process_id))

        assert await Worker(platform_of(store, Kitchen(), CashDesk(), model=ScriptedModel("apple pie"))).run_once()

        done = await first.process(result.process_id)
        assert (done.status, done.result) == (ProcessStatus.COMPLETED, Bill(9))

    async def test_it_leaves_what_it_could_not_go_on_with(self) -> None:
        store = JsonStore()
        await answered(store, await waiting(store))
        assert not await Worker(platform_of(store, Gardener())).run_once()
        assert not await Worker(platform_of(store)).run_once()
        assert await Worker(
            platform_of(store, Kitchen(), model=ScriptedModel(ToolCall("bake"), "apple pie"))
        ).run_once()

    async def test_agents_that_do_not_go_together_still_go_on_by_themselves(self) -> None:
        store = JsonStore()
        platform = platform_of(store, Gardener(), OneTwin(), OtherTwin())
        process_id = await platform.enqueue("Gardener", "roses")
        assert await Worker(platform).run_once()
        assert (await platform.process(process_id)).result == "planted"


def want(name: str, data: dict[str, Any]) -> None:
    data["origin"]["recipe"]["output_type"] = name


async def answered(store: MemoryStore, process: AgentProcess) -> None:
    """What a process waits for is there, and its worker has died before it went on."""

    def answer(data: dict[str, Any]) -> None:
        data["state"].update(status="running", responses={process.pending[0].id: {"value": "Ada"}})

    await change_data(store, process.id, answer)
    record = replace(await load_record(store, process.id), status=ProcessStatus.RUNNING, body=None)
    await RunStore(store).save(record)
