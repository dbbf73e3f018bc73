"""Types of tasks, ensembles and groups of tasks: what type checkers infer, and that runs give these types."""

from __future__ import annotations

from dataclasses import fields
from typing import Literal, assert_type

import pytest
from pydantic import BaseModel

from tactician.ensemble import (
    END,
    Edge,
    Ensemble,
    EnsembleResult,
    Graph,
    Loop,
    MapReduce,
    Phase,
    Task,
    TaskInput,
    TaskOutputs,
)
from tactician.ensemble.tasks.task import TaskSettings


class City(BaseModel):
    name: str


class Poem(BaseModel):
    text: str


def name_city(task: TaskInput) -> City:
    return City(name="Paris")


def write_poem(task: TaskInput) -> Poem:
    return Poem(text="Roses are red")


find = Task("Find a city", output_type=City, handler=name_city)
check = Task("Check the city", output_type=City, handler=name_city)
praise = Task("Praise the city", output_type=Poem, handler=write_poem)
greet = Task("Greet", handler=lambda task: "Hello")


def test_checkers_know_all_arguments_of_a_task() -> None:
    names = {field.name for field in fields(Task)} - {"description", "output_type"}
    assert names == set(TaskSettings.__annotations__)


def test_a_task_has_its_output_type() -> None:
    assert_type(find, Task[City])
    assert_type(greet, Task[object])
    assert_type(Task("Find a city, if there is one", output_type=City | None), Task[City | None])
    assert_type(Task("List cities", output_type=list[City]), Task[list[City]])
    assert_type(Task("Judge", output_type=Literal["good", "bad"]), Task[Literal["good", "bad"]])
    plain: Task = find
    assert plain.output_type is City


async def test_the_output_of_tasks_of_the_same_type_has_that_type() -> None:
    result = await Ensemble("Cities", [find, check]).run()
    assert_type(result, EnsembleResult[City])
    assert_type(result.output, City)
    assert result.output.name == "Paris"


def test_run_sync_gives_the_type_too() -> None:
    output = Ensemble("Cities", [find]).run_sync().output
    assert_type(output, City)
    assert output == City(name="Paris")


async def test_the_output_of_any_task_is_an_object() -> None:
    result = await Ensemble("Greetings", [find, greet]).run()
    assert_type(result.output, object)
    assert result.output == "Hello"


async def test_a_task_is_the_key_of_its_output() -> None:
    result = await Ensemble("Cities", [find, praise]).run()
    assert_type(result[find].parsed, City)
    assert_type(result[praise].parsed, Poem)
    assert_type(result["Find a city"].parsed, object)
    assert result[find].parsed.name == "Paris"
    assert result[praise] is result["Praise the city"]


async def test_a_task_without_an_output_is_no_key() -> None:
    result = await Ensemble("Cities", [find]).run()
    with pytest.raises(KeyError, match="no completed task has the id 'Praise the city'"):
        _ = result[praise]


async def test_a_group_or_an_ensemble_is_the_key_of_its_output() -> None:
    loop, inner = Loop([find], max_iterations=2, id="again"), Ensemble("Inner", [praise])
    result = await Ensemble("Cities", [loop, inner]).run()
    assert_type(result[loop].parsed, City)
    assert_type(result[inner].parsed, Poem)
    assert_type(result[find].parsed, City)
    assert result[loop].parsed == City(name="Paris")
    assert result[inner].parsed == Poem(text="Roses are red")
    assert result[find].parsed.name == "Paris"


async def test_a_task_is_the_key_of_its_output_in_predicates_and_phases() -> None:
    def is_paris(outputs: TaskOutputs) -> bool:
        assert_type(outputs[find].parsed, City)
        return find in outputs and outputs[find].parsed.name == "Paris"

    result = await Ensemble("Cities", [find, Task("Go on", output_type=City, handler=name_city, when=is_paris)]).run()
    assert result.skipped == {}
    phases = await Ensemble("Phases", phases=[Phase("search", [find])]).run()
    assert_type(phases.output, City)
    assert phases.phase_outputs["search"][find].parsed.name == "Paris"


async def test_loops_and_graphs_have_the_type_of_their_tasks() -> None:
    loop = Loop([find, check], max_iterations=2)
    assert_type(loop, Loop[City])
    assert_type((await loop.run()).output, City)
    graph = Graph({"find": find, "check": check}, start="find", edges=[Edge("find", "check"), Edge("check", END)])
    assert_type(graph, Graph[City])
    assert (await graph.run()).output.name == "Paris"


async def test_a_map_reduce_has_the_type_of_the_task_that_combines() -> None:
    def visit(name: str) -> Task[City]:
        return Task(f"Visit {name}", output_type=City, handler=name_city)

    work = MapReduce(["Paris", "Rome"], map=visit, reduce=praise)
    assert_type(work, MapReduce[str, Poem])
    assert (await work.run()).output.text == "Roses are red"


async def test_the_output_after_a_skipped_task_is_of_the_type_of_another_task() -> None:
    skipped = Task("Never", output_type=City, handler=name_city, when=lambda outputs: False)
    result = await Ensemble("Cities", [find, skipped]).run()
    assert_type(result.output, City)
    assert result.output.name == "Paris"
