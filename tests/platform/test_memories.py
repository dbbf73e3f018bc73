"""Memories: findings of one process for the next one, whatever result that one has to produce."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tactician import Platform, ProcessOptions, ProcessStatus, UserInput, achieves_goal, action, planned_agent
from tactician.stores import MemoryStore, SqliteStore
from tactician.testing import ScriptedModel
from tests.agents.running import steps
from tests.support.stored import JsonStore


@dataclass
class Facts:
    number: int


@dataclass
class Article:
    number: int


@planned_agent(description="finds facts on its way to an article")
class Writer:
    @action
    def find(self, user_input: UserInput) -> Facts:
        return Facts(1)

    @achieves_goal("written")
    @action
    def write(self, facts: Facts) -> Article:
        return Article(facts.number)


@planned_agent(description="finds facts")
class Finder:
    @achieves_goal("found")
    @action
    def find(self, user_input: UserInput) -> Facts:
        return Facts(2)


@planned_agent(description="makes facts better")
class Improver:
    @achieves_goal("improved")
    @action
    def improve(self, facts: Facts) -> Facts:
        return Facts(facts.number + 10)


OPTIONS = ProcessOptions(memory_id="c")


async def test_what_another_agent_found_on_its_way_is_no_result_of_this_one() -> None:
    platform = Platform(ScriptedModel()).register(Writer(), Finder())
    assert (await platform.start("Writer", "x", options=OPTIONS)).status is ProcessStatus.COMPLETED
    process = await platform.start("Finder", "x", options=OPTIONS)
    assert process.result == Facts(2), process.failure
    assert steps(process) == ["find"]


async def test_a_goal_that_makes_something_better_has_it() -> None:
    platform = Platform(ScriptedModel()).register(Writer(), Improver())
    await platform.start("Writer", "x", options=OPTIONS)
    assert (await platform.start("Improver", options=OPTIONS)).result == Facts(11)


async def test_what_it_is_started_with_stays() -> None:
    platform = Platform(ScriptedModel()).register(Writer())
    await platform.start("Writer", "x", options=OPTIONS)
    process = await platform.start("Writer", "x", Facts(50), options=OPTIONS)
    assert process.result == Article(50)


class Sensor:
    """Something live, which has no JSON form."""


@planned_agent(description="opens a sensor on its way to facts")
class Measurer:
    def __init__(self) -> None:
        self.opened: list[Sensor] = []
        self.used: list[Sensor] = []

    @action
    def open(self, user_input: UserInput) -> Sensor:
        self.opened.append(Sensor())
        return self.opened[-1]

    @achieves_goal("measured")
    @action
    def measure(self, sensor: Sensor) -> Facts:
        self.used.append(sensor)
        return Facts(3)


async def test_without_a_store_findings_stay_the_same_objects() -> None:
    measurer = Measurer()
    platform = Platform(ScriptedModel()).register(measurer)
    for _ in range(2):
        assert (await platform.start("Measurer", "x", options=OPTIONS)).result == Facts(3)
    assert measurer.used == [measurer.opened[0]] * 2
    assert len(measurer.opened) == 1


async def test_findings_are_stored_as_they_read_back(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memories.db")
    for _ in range(2):
        platform = Platform(ScriptedModel(), store=store).register(Writer(), Improver())
        await platform.start("Writer", "x", options=OPTIONS)
        assert (await platform.start("Improver", options=OPTIONS)).result == Facts(11)
    stored = await store.load("memories", "c")
    assert stored is not None
    assert [one["value"] for one in json.loads(stored.text)] == [{"number": 1}]
    await store.aclose()


class TestByTheirIds:
    @pytest.fixture(params=["memory", "json"])
    def platform(self, request: pytest.FixtureRequest) -> Platform:
        store = MemoryStore() if request.param == "memory" else JsonStore()
        return Platform(ScriptedModel(), store=store).register(Writer(), Improver())

    async def test_what_is_seeded_is_known_from_the_beginning(self, platform: Platform) -> None:
        await platform.memories.seed("c", Facts(7), Article(1))
        await platform.memories.seed("c", Facts(7))
        process = await platform.start("Writer", "x", options=OPTIONS)
        assert process.result == Article(7)
        assert steps(process) == ["write"]
        assert await platform.memories.read("c", Facts) == [Facts(7)]
        assert await platform.memories.list_ids() == ("c",)

    async def test_what_is_forgotten_is_found_anew(self, platform: Platform) -> None:
        await platform.memories.seed("c", Facts(7), Article(1))
        assert await platform.memories.forget("c", Facts)
        assert not await platform.memories.forget("c", Facts)
        assert await platform.memories.read("c", Article) == [Article(1)]
        assert await platform.memories.forget("c")
        assert not await platform.memories.forget("c")
        assert (await platform.start("Writer", "x", options=OPTIONS)).result == Article(1)
        assert await platform.memories.read("c", Facts) == [Facts(1)]

    async def test_there_is_no_such_memory(self, platform: Platform) -> None:
        assert await platform.memories.read("nobody", Facts) == []
        assert await platform.memories.list_ids() == ()
