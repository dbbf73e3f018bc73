"""Ensembles, loops, graphs and map-reduces in the place of a task."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tactician import (
    END,
    Agent,
    Edge,
    Ensemble,
    Graph,
    Loop,
    MapReduce,
    Phase,
    Platform,
    Review,
    ReviewDecision,
    ReviewPolicy,
    RunContext,
    RunStatus,
    Task,
    Workflow,
    approve,
)
from tactician.config import Settings
from tactician.ensemble import (
    EnsembleDefinitionError,
    EnsembleResult,
    ExitReason,
    TaskFailedError,
    TaskInput,
    TaskOutputs,
)
from tactician.ensemble.tasks.task import TaskLike
from tactician.llm import ModelCatalog
from tactician.platform import Worker
from tactician.runs import PendingRequest
from tactician.testing import ScriptedModel, ToolCall
from tests.ensemble.support import (
    CallsOnce,
    cashier,
    counter,
    note,
    numbered,
    over,
    places_of,
    prompt_of,
    says,
    script_of,
)
from tests.support.effort import EFFORT
from tests.support.stored import JsonStore, load_record


def one_step(task: Task, **more: object) -> Graph:
    """A graph of one state."""
    return Graph({"s": task}, start="s", edges=[Edge("s", END)], **more)  # type: ignore[arg-type]


class TestEnsembles:
    async def test_an_ensemble_stands_directly_in_a_list_of_tasks(self) -> None:
        writer = says("Writer", "a text")
        inner = Ensemble("Inner", [Task("Write about {topic}", agent=writer)])
        result = await Ensemble("Outer", [inner, *numbered("after")]).run({"topic": "frogs"}, context=over())
        assert (result.raw, result["Inner"].raw, result["Inner"].role) == ("after1", "a text", "(ensemble)")
        assert result["Write about {topic}"].description == "Write about frogs"
        assert "Write about frogs" in prompt_of(script_of(writer))

    async def test_its_first_tasks_see_what_the_task_before_gave(self) -> None:
        seen: list[TaskInput] = []
        inner = Ensemble("Inner", numbered("a", "b", seen=seen))
        after = Task("after", context=[inner], handler=lambda task: seen.append(task))
        await Ensemble("Outer", [*numbered("facts"), inner, after], workflow=Workflow.SEQUENTIAL).run(context=over())
        assert [[output.raw for output in task.context_outputs] for task in seen] == [["facts1"], ["a1"], ["b1"]]

    async def test_the_text_of_the_caller_reaches_it(self) -> None:
        seen: list[TaskInput] = []
        await Ensemble("Outer", [Ensemble("Inner", numbered("a", seen=seen))]).run("frogs", context=over())
        assert seen[0].text == "frogs"

    async def test_a_hierarchy_stands_in_a_list_of_tasks(self) -> None:
        boss = Agent("Boss", model=ScriptedModel(ToolCall("delegate_task", role="w", task="Go"), "done"))
        worker = Task("Work", id="w", handler=lambda task: "worked")
        inner = Ensemble("Inner", [worker], workflow=Workflow.HIERARCHICAL, manager=boss)
        result = await Ensemble("Outer", [*numbered("facts"), inner]).run(context=over())
        assert (result.raw, [part.raw for part in result["Inner"].parts]) == ("done", ["worked", "done"])
        assert "## Context from Previous Tasks\n\n### (deterministic): Do facts\n\nfacts1" in prompt_of(script_of(boss))

    async def test_it_uses_the_model_around_it_where_it_has_none(self) -> None:
        model = ScriptedModel("inner", "outer")
        outer = Ensemble("Outer", [Ensemble("Inner", [Task("Write")]), Task("Print")], model=model)
        result = await outer.run(context=RunContext.over(ModelCatalog(Settings())))
        assert (result["Write"].raw, result.raw) == ("inner", "outer")

    async def test_outputs_inside_of_an_ensemble_as_an_agent_are_found_too(self) -> None:
        inner = Ensemble("Inner", [Task("Write", id="w", agent=says("Writer", "text"))])
        result = await Ensemble("Outer", [Task("Do it", agent=inner)]).run(context=over())
        assert result["w"].raw == "text"


class TestChecks:
    async def test_templates_inside_need_values(self) -> None:
        (task,) = [Task("{a}", id="x")]
        tasks: list[TaskLike] = [
            Loop([task]),
            one_step(replace(task, id="y")),
            Ensemble("Inner", [replace(task, id="z")]),
            Loop([Loop([replace(task, id="w")], id="inner")]),
        ]
        with pytest.raises(EnsembleDefinitionError) as caught:
            await Ensemble("E", tasks).check({}, context=over())
        places = places_of(caught.value.problems)
        assert places == [
            "tasks[0].tasks[0].description",
            "tasks[1].states['s'].description",
            "tasks[2].tasks[0].description",
            "tasks[3].tasks[0].tasks[0].description",
        ]

    async def test_agents_inside_must_be_among_the_agents(self) -> None:
        writer, other = says("Writer"), says("Other")
        ensemble = Ensemble("E", [Loop([Task("Write", agent=writer)])], agents=[other])
        with pytest.raises(EnsembleDefinitionError) as caught:
            await ensemble.check({}, context=over())
        assert places_of(caught.value.problems) == ["tasks[0].tasks[0].agent"]

    async def test_models_inside_must_be_known(self) -> None:
        context = RunContext.over(ModelCatalog(Settings()))
        tasks: list[TaskLike] = [Loop([Task("Write", model="none")]), Ensemble("Inner", [Task("Print", model="none")])]
        with pytest.raises(EnsembleDefinitionError) as caught:
            await Ensemble("E", tasks).check({}, context=context)
        assert places_of(caught.value.problems) == ["tasks[0].tasks[0].model", "tasks[1].tasks[0].model"]

    async def test_mistakes_of_an_inner_ensemble_have_their_places(self) -> None:
        inner = Ensemble("Inner", [Task("a"), Task("a")])
        with pytest.raises(EnsembleDefinitionError) as caught:
            await Ensemble("E", [inner], model=ScriptedModel()).check({}, context=over())
        assert places_of(caught.value.problems) == ["tasks[0].tasks[0].id", "tasks[0].tasks[1].id"]

    async def test_a_context_that_is_not_in_the_ensemble_is_a_mistake(self) -> None:
        outside = Task("outside")
        loop = Loop([Task("a", context=[outside])], id="l")
        late = Task("late", context=[loop.parts["tasks[0]"]])
        with pytest.raises(EnsembleDefinitionError) as caught:
            await Ensemble("E", [loop, late], model=ScriptedModel()).check({}, context=over())
        assert places_of(caught.value.problems) == ["tasks[0].context[0]", "tasks[1].context[0]"]
        assert "which is inside of 'l': name that as the context" in caught.value.problems[1].message


class TestDrawings:
    def test_a_loop_is_drawn_with_an_arrow_back(self) -> None:
        def is_good(t: TaskOutputs) -> bool:
            return True

        drawn = Ensemble("E", [Loop(numbered("a", "b"), until=is_good), *numbered("c")]).to_mermaid()
        assert 'task_0_0["a<br>(deterministic)"]' in drawn.replace("<br/>", "<br>")
        assert "task_0_0 --> task_0_1" in drawn
        assert "until is_good, at most 5 times" in drawn
        assert "task_0_1 --> task_1" in drawn

    def test_a_graph_is_drawn_with_its_edges_and_its_end(self) -> None:
        def is_good(t: TaskOutputs) -> bool:
            return True

        a, b = numbered("a", "b")
        edges = [Edge("a", "b", when=is_good), Edge("a", END), Edge("b", "a")]
        drawn = Ensemble("E", [Graph({"a": a, "b": b}, start="a", edges=edges), *numbered("c")]).to_mermaid()
        assert "is_good" in drawn
        assert "task_0_0 --> task_0_end" in drawn
        assert "task_0_end --> task_1" in drawn

    def test_a_map_reduce_and_an_ensemble_are_drawn(self) -> None:
        tasks = MapReduce("abc", map=Task, reduce=lambda outputs: Task("sum"))
        drawn = Ensemble("E", [tasks, Ensemble("Inner", numbered("a"))]).to_mermaid()
        assert "map 3 items" in drawn
        assert "Inner" in drawn
        assert "task_0_reduce --> task_1" in drawn


class TestHierarchy:
    async def test_a_loop_is_a_worker_that_reads_what_the_manager_writes(self) -> None:
        seen: list[TaskInput] = []
        boss = ScriptedModel(ToolCall("delegate_task", role="improve", task="Improve this text"), "done")
        loop = Loop(numbered("a", seen=seen), max_iterations=2, id="improve")
        firm = Ensemble("Firm", [loop], workflow=Workflow.HIERARCHICAL, manager=Agent("Boss", model=boss))
        result = await firm.run(context=over())
        assert result.raw == "done"
        assert "a2" in boss.calls[1].prompt
        assert [task.text for task in seen] == ["Improve this text", "Improve this text"]


class TestDurability:
    async def test_a_run_that_waits_inside_of_all_of_them_goes_on_in_another_process(self) -> None:
        store = JsonStore()
        runs: list[str] = []

        def build() -> Ensemble:
            first = Task("first", handler=note(runs, "first"))
            payer = Agent(role="Payer", model=CallsOnce("pay", "paid", amount=7), tools=[*cashier().tools])
            pay = Task("Pay", agent=payer)
            graph = one_step(pay, id="graph")
            loop = Loop([first, graph], max_iterations=1, id="loop")
            inner = Ensemble("Inner", [loop])
            tasks = MapReduce(["x"], map=lambda item: inner, reduce=lambda outputs: Task("sum", handler=join))
            return Ensemble("Outer", [tasks])

        first = Platform(models=ScriptedModel(), store=store).register(build())
        run_id = await first.enqueue("Outer", {})
        await Worker(first).run_once()
        record = await load_record(store, run_id)
        assert record.status is RunStatus.WAITING
        second = Platform(models=ScriptedModel(), store=store).register(build())
        await second.respond(run_id, record.header.pending[0].id, approve())
        await Worker(second).run_once()
        record = await load_record(store, run_id)
        assert (record.status, record.header.output, runs) == (RunStatus.COMPLETED, "paid", ["first"])


def join(task: TaskInput) -> str:
    """Join the outputs that a task sees."""
    return "+".join(output.raw for output in task.context_outputs)


RUNS = 100 * EFFORT


@pytest.mark.soak
async def test_many_runs_of_one_ensemble_with_a_loop_and_a_graph_mix_no_state() -> None:
    async def mark(task: TaskInput) -> str:
        await asyncio.sleep(0)
        before = task.context_outputs[-1].raw if task.context_outputs else task.values["n"]
        return f"{before}{task.task_id}" if task.revision is None else f"{task.revision.previous}{task.task_id}"

    def is_long(t: TaskOutputs) -> bool:
        return len(t.outputs) >= 2 + int(t.last.raw.partition("x")[0]) % 3

    loop = Loop([Task("x", handler=mark)], until=is_long, id="loop")
    states = {"y": Task("y", handler=mark)}
    graph = Graph(states, start="y", edges=[Edge("y", END, when=is_long), Edge("y", "y")], id="graph")
    ensemble = Ensemble("E", [loop, graph])
    results = await asyncio.gather(*(ensemble.run({"n": str(n)}, context=over()) for n in range(RUNS)))
    for n, result in enumerate(results):
        expected = 2 + n % 3
        assert len(result["graph"].parts) == expected
        assert result.raw == f"{n}x" + "y" * expected


class TestReviews:
    async def test_a_review_inside_of_a_loop_is_answered_by_the_reviewer_and_may_end_the_ensemble(self) -> None:
        asked: list[str] = []

        def decide(request: PendingRequest) -> ReviewDecision:
            asked.append(request.prompt)
            return ReviewDecision.edit("edited") if len(asked) == 1 else ReviewDecision.exit_early()

        draft = Task("Draft", id="draft", handler=counter("a"), review=Review.after())
        ensemble = Ensemble("E", [Loop([draft], id="loop"), *numbered("after")], reviewer=decide)
        result = await ensemble.run(context=over())
        assert (result.exit_reason, result.raw, len(asked)) == (ExitReason.EXIT_EARLY, "a2", 2)
        assert "after" in result.skipped

    @pytest.mark.parametrize("kind", ["loop", "graph", "map-reduce", "ensemble"])
    async def test_feedback_on_the_whole_reaches_a_task_inside(self, kind: str) -> None:
        seen: list[TaskInput] = []

        def decide(request: PendingRequest) -> ReviewDecision:
            return ReviewDecision.approve() if len(seen) > 1 else ReviewDecision.retry("shorter")

        task = Task("a", id="a", handler=counter("a", seen))
        parts: dict[str, TaskLike] = {
            "loop": Loop([task], max_iterations=1),
            "graph": one_step(task),
            "map-reduce": MapReduce("x", map=lambda item: Task(item, handler=join), reduce=lambda outputs: task),
            "ensemble": Ensemble("Inner", [task]),
        }
        ensemble = Ensemble("E", [parts[kind]], reviewer=decide, review_policy=ReviewPolicy.AFTER_EVERY_TASK)
        result = await ensemble.run(context=over())
        revisions = [(one.revision.feedback, one.revision.previous) for one in seen if one.revision is not None]
        assert (result.raw, revisions) == ("a2", [("shorter", "a1")])

    async def test_the_error_of_an_inner_task_is_told_once(self) -> None:
        def fail(_: TaskInput) -> str:
            raise ValueError("no numbers")

        inner = Ensemble("Inner", [Task("Fail", handler=fail)])
        phases = [Phase("gather", [Loop([Ensemble("Middle", [inner])], id="again")])]
        with pytest.raises(TaskFailedError) as caught:
            await Ensemble("Outer", phases=phases).run(context=over())
        assert str(caught.value) == (
            "Outer: 1 of 1 phase failed (0 completed, 0 skipped): phase 'gather': task 'again': Loop 'again', "
            "iteration 1: task 'Middle': task 'Inner': task 'Fail': ValueError: no numbers"
        )
        result: object = caught.value.result
        assert isinstance(result, EnsembleResult)
        assert result.failed == {
            "again": "Loop 'again', iteration 1: task 'Middle': task 'Inner': task 'Fail': ValueError: no numbers"
        }

    async def test_the_policy_of_the_ensemble_is_about_the_loop_and_not_about_the_tasks_inside(self) -> None:
        asked: list[str] = []

        def approve_all(request: PendingRequest) -> ReviewDecision:
            asked.append(request.prompt)
            return ReviewDecision.approve()

        policy = ReviewPolicy.AFTER_EVERY_TASK
        tasks = [Loop(numbered("a"), max_iterations=3, id="loop"), one_step(Task("b", handler=join), id="graph")]
        await Ensemble("E", tasks, reviewer=approve_all, review_policy=policy).run(context=over())
        assert len(asked) == 2
