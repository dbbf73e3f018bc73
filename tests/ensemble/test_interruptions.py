"""Runs that are interrupted after any number of steps of the event loop, and continued by another worker."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from tactician import (
    END,
    Agent,
    Edge,
    Ensemble,
    Graph,
    HierarchicalConstraints,
    Loop,
    MapReduce,
    Platform,
    RunContext,
    Runnable,
    RunStatus,
    Task,
    Workflow,
    runnable,
)
from tactician.ensemble import DelegationCompleted, TaskCompleted, TaskInput
from tactician.events import Event
from tactician.llm import ModelRequest, ModelResponse
from tactician.platform import Worker
from tactician.stores import DocumentStore
from tactician.testing import ScriptedModel, ToolCall
from tests.support.stored import JsonStore, load_record

POINTS = range(0, 240, 6)


class Diary:
    """Runs of tasks, by id, and what was completed before and after the interruption."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.runs: list[str] = []

    def task(self, name: str, *context: Task) -> Task:
        """A task that takes some steps of the event loop."""

        async def handle(task: TaskInput) -> str:
            self.runs.append(name)
            for _ in range(3):
                await asyncio.sleep(0)
            return name + "".join(output.raw for output in task.context_outputs)

        return Task(f"Do {name}", id=name, context=context, handler=handle)

    @property
    def completed(self) -> list[str]:
        """The ids of tasks and the roles of workers that were completed."""
        tasks = [event.task_id for event in self.events if isinstance(event, TaskCompleted)]
        return [*tasks, *(event.role for event in self.events if isinstance(event, DelegationCompleted))]


class ManagerModel(ScriptedModel):
    """Model of an agent that delegates to three workers, and answers once it has their results."""

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the calls, or the answer."""
        has_results = any(message.role == "tool" for message in request.messages)
        calls = [ToolCall("delegate_task", role=letter, task="Go") for letter in "abc"]
        self.script("done" if has_results else calls)
        return await super().generate(request)


def graph(diary: Diary) -> Ensemble:
    """Twelve tasks in four layers."""
    layers: list[list[Task]] = []
    for depth in range(4):
        context = layers[-1] if layers else []
        layers.append([diary.task(f"{depth}{letter}", *context) for letter in "abc"])
    return Ensemble("E", [task for layer in layers for task in layer], max_parallel=2)


def sequence(diary: Diary) -> Ensemble:
    """Six tasks one after another."""
    return Ensemble("E", [diary.task(letter) for letter in "abcdef"], workflow=Workflow.SEQUENTIAL)


def hierarchy(diary: Diary) -> Ensemble:
    """A manager that delegates to each of three handlers once."""
    constraints = HierarchicalConstraints(max_calls_per_worker=dict.fromkeys("abc", 1), required_workers=set("abc"))
    return Ensemble(
        "E",
        [diary.task(letter) for letter in "abc"],
        workflow=Workflow.HIERARCHICAL,
        manager=Agent("Boss", model=ManagerModel()),
        constraints=constraints,
    )


def peers(diary: Diary) -> Ensemble:
    """An agent that delegates to each of three others once."""

    def create_worker(name: str) -> Runnable:
        @partial(runnable, name=name)
        async def work(text: str) -> str:
            diary.runs.append(name)
            for _ in range(3):
                await asyncio.sleep(0)
            return name

        return work

    lead = Agent(role="Lead", allow_delegation=True, model=ManagerModel())
    return Ensemble("E", [Task("Lead", agent=lead)], agents=[lead, *map(create_worker, "abc")])


async def interrupt(store: DocumentStore, ensemble: Ensemble, diary: Diary, steps: int) -> str:
    """Begin a run, interrupt its worker after some steps, and return the id of the run."""
    platform = Platform(models=ScriptedModel(), store=store, on_event=diary.events.append).register(ensemble)
    run_id = await platform.enqueue("E", {})
    working = asyncio.create_task(Worker(platform).run_once())
    for _ in range(steps):
        await asyncio.sleep(0)
    working.cancel()
    with suppress(asyncio.CancelledError):
        await working
    return run_id


@pytest.mark.parametrize("steps", POINTS)
@pytest.mark.parametrize("build", [graph, sequence, hierarchy, peers])
async def test_no_completed_task_runs_again(build: Callable[[Diary], Ensemble], steps: int) -> None:
    store, before, after = JsonStore(), Diary(), Diary()
    run_id = await interrupt(store, build(before), before, steps)
    second = Platform(models=ScriptedModel(), store=store, on_event=after.events.append).register(build(after))
    await Worker(second).run_once()
    record = await load_record(store, run_id)
    assert record.status is RunStatus.COMPLETED
    expected = await build(Diary()).run({}, context=RunContext.over(ScriptedModel()))
    assert record.header.output == expected.raw
    assert not set(before.completed) & set(after.runs), "a completed task has run again"
    assert set(before.runs) | set(after.runs) == set(list_ids(build(Diary())))


def list_ids(ensemble: Ensemble) -> list[str]:
    """The ids of all tasks, which are the roles of the workers of the hierarchy too; of peers, the roles of workers."""
    return [task.id for task in ensemble.tasks] if ensemble.agents is None else list("abc")


def repeated(diary: Diary) -> Ensemble:
    """A loop, a graph that returns to its first state, and a map-reduce, one after another."""
    edges = [Edge("c", "d"), Edge("d", END, when=lambda outputs: len(outputs.outputs) == 4), Edge("d", "c")]
    tasks = [
        Loop([diary.task("a"), diary.task("b")], max_iterations=2, memory="fresh", id="loop"),
        Graph({"c": diary.task("c"), "d": diary.task("d")}, start="c", edges=edges, id="graph"),
        MapReduce("mno", map=diary.task, reduce=lambda outputs: diary.task("r"), chunk_size=2, id="map-reduce"),
    ]
    return Ensemble("E", tasks, workflow=Workflow.SEQUENTIAL)


@pytest.mark.parametrize("steps", POINTS)
async def test_no_completed_step_of_a_loop_a_graph_or_a_map_reduce_runs_again(steps: int) -> None:
    store, before, after, whole = JsonStore(), Diary(), Diary(), Diary()
    expected = await repeated(whole).run({}, context=RunContext.over(ScriptedModel()))
    run_id = await interrupt(store, repeated(before), before, steps)
    second = Platform(models=ScriptedModel(), store=store, on_event=after.events.append).register(repeated(after))
    await Worker(second).run_once()
    record = await load_record(store, run_id)
    assert (record.status, record.header.output) == (RunStatus.COMPLETED, expected.raw)
    completed = Counter(name.partition("#")[0] for name in before.completed)
    once, runs = Counter(whole.runs), Counter(before.runs) + Counter(after.runs)
    for name, times in once.items():
        assert completed[name] + after.runs.count(name) <= times, f"a completed step of {name} has run again"
        assert runs[name] >= times
