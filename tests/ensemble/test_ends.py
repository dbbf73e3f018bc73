"""What a run ends with: the output of the task that no other reads, and the tasks that failed in its trace."""

from __future__ import annotations

from itertools import permutations

import pytest

from tactician import Agent, Ensemble, Phase, Platform, ReviewPolicy, Task, Workflow
from tactician.ensemble import EnsembleDefinitionError, ReviewDecision, TaskFailedError
from tactician.llm import ModelCatalog
from tactician.platform import Worker
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tactician.tools import tool


def diamond() -> list[Task]:
    """Tasks of which one reads two others, which read a first one."""
    first = Task("First", id="first", handler=lambda task: "first")
    left = Task("Left", id="left", handler=lambda task: "left", context=[first])
    right = Task("Right", id="right", handler=lambda task: "right", context=[first])
    sink = Task("Sink", id="sink", handler=lambda task: "sink", context=[left, right])
    return [first, left, right, sink]


@pytest.mark.parametrize("order", list(permutations(range(4))))
async def test_the_output_is_that_of_the_task_that_no_other_reads(order: tuple[int, ...]) -> None:
    tasks = diamond()
    listed = [tasks[place] for place in order]
    assert (await Ensemble("Diamond", listed).run({})).output == "sink"


async def test_of_several_such_tasks_it_is_that_of_the_last_in_the_list() -> None:
    first, left, right, _ = diamond()
    assert (await Ensemble("Two ends", [left, first, right]).run({})).output == "right"
    assert (await Ensemble("Two ends", [right, first, left]).run({})).output == "left"


async def test_a_sequence_ends_with_the_last_of_its_list() -> None:
    first, left, right, sink = diamond()
    result = await Ensemble("Sequence", [first, left, right, sink], workflow=Workflow.SEQUENTIAL).run({})
    assert result.output == "sink"


async def test_it_is_the_same_for_phases_workers_and_ensembles_inside() -> None:
    first, left, right, sink = diamond()
    phase = Phase("work", [sink, right, left, first])
    begin = Phase("begin", [Task("Begin", id="begin", handler=lambda task: "begin")])
    phase_after = Phase("work", [sink, right, left, first], after=[begin])
    assert (await Ensemble("Phases", phases=[phase]).run({})).output == "sink"
    result = await Ensemble("Phases", phases=[phase_after, begin]).run({})
    assert (result.output, result.phase_outputs["work"].raw) == ("sink", "sink")

    diamonds = Ensemble("Diamond", [sink, right, left, first])
    assert (await Ensemble("Around", [Task("Do", agent=diamonds)]).run({})).output == "sink"
    platform = Platform(store=MemoryStore()).register(diamonds)
    run_id = await platform.enqueue("Diamond", {})
    assert await Worker(platform).run_once()
    assert (await platform.tree(run_id)).run.output == "sink"


async def test_the_last_task_is_the_one_that_is_reviewed() -> None:
    asked: list[str] = []

    def review(request: object) -> ReviewDecision:
        asked.append(str(getattr(request, "prompt", "")))
        return ReviewDecision.edit("edited")

    first, left, right, sink = diamond()
    reviewed = Ensemble("R", [sink, right, left, first], review_policy=ReviewPolicy.AFTER_LAST_TASK, reviewer=review)
    assert (await reviewed.run({})).output == "edited"
    assert len(asked) == 1


async def test_the_trace_of_a_failed_run_has_the_task_that_failed() -> None:
    def fail(task: object) -> str:
        raise ValueError("no facts")

    find = Task("Find", id="find", handler=lambda task: "facts")
    write = Task("Write", id="write", handler=fail)
    send = Task("Send", id="send", handler=lambda task: "sent", context=[write])
    with pytest.raises(TaskFailedError) as raised:
        await Ensemble("News", [find, write, send], workflow=Workflow.PARALLEL, on_error="continue").run({})
    result = raised.value.result
    assert dict(result.failed) == {"write": "ValueError: no facts"}  # type: ignore[attr-defined]  # an EnsembleResult
    nodes = {node.name: (node.status, node.error) for node in result.trace.walk()}
    assert nodes["News"][0] == "failed"
    assert nodes["find"] == ("completed", None)
    assert nodes["write"] == ("failed", "ValueError: no facts")
    assert nodes["send"][0] == "skipped"
    assert "no facts" in result.trace.to_html()


async def test_the_trace_has_the_tasks_inside_of_tasks() -> None:
    result = await Ensemble("Around", [Task("Do", id="do", agent=Ensemble("Diamond", diamond()))]).run({})
    [run] = result.trace.roots
    [do] = run.children
    assert [node.name for node in do.children] == ["first", "left", "right", "sink"]


async def test_a_hierarchy_whose_agents_have_models_needs_no_default_model() -> None:
    model = ScriptedModel("done")
    team = Ensemble(
        "Team",
        [Task("Do it")],
        workflow=Workflow.HIERARCHICAL,
        agents=[Agent("Worker", model=model)],
        manager=Agent("Boss", model=model),
    )
    nowhere = Platform(ModelCatalog(environment={"TACTICIAN_MODEL": "nowhere:model"})).context()
    assert (await team.run({}, context=nowhere)).output == "done"

    made = Ensemble("Team", [Task("Do it")], workflow=Workflow.HIERARCHICAL, manager=Agent("Boss", model=model))
    with pytest.raises(EnsembleDefinitionError, match=r"tasks\[0\]\.model: Nothing serves the model"):
        await made.run({}, context=nowhere)


def test_mistakes_in_types_and_tools_have_their_places() -> None:
    @tool
    def fine() -> str:
        return ""

    with pytest.raises(EnsembleDefinitionError, match="output_type: it is a function, not a type"):
        Task("Find", output_type=lambda: 0)  # type: ignore[call-overload]
    with pytest.raises(EnsembleDefinitionError, match=r"tools\[1\]: int: a tool is a function"):
        Task("Find", tools=[fine, 17])  # type: ignore[list-item]
    with pytest.raises(EnsembleDefinitionError, match="tools: 'fine' is used twice"):
        Task("Find", tools=[fine, fine])
