"""Ensembles: what they check before any model is called."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from tactician import Agent, Ensemble, Loop, RunContext, Task, Workflow, runnable
from tactician.config import Settings
from tactician.ensemble import EnsembleDefinitionError
from tactician.llm import ModelCatalog
from tactician.testing import ScriptedModel
from tests.ensemble.support import over, places_of, says


async def mistakes_of(ensemble: Ensemble, **values: str) -> EnsembleDefinitionError:
    """The error of a check, which is that of a run too."""
    with pytest.raises(EnsembleDefinitionError) as caught:
        await ensemble.check(values, context=over())
    with pytest.raises(EnsembleDefinitionError) as again:
        await ensemble.run(values, context=over())
    assert str(again.value) == str(caught.value)
    return caught.value


class TestConstructor:
    @pytest.mark.parametrize(
        ("make", "place", "message"),
        [
            (lambda: Ensemble("E", []), "tasks", "must have at least one task"),
            (lambda: Ensemble("E", [Task("a")], agents=[]), "agents", "must have at least one agent"),
            (lambda: Ensemble("E", [Task("a")], agents=["x"]), "agents[0]", "'x' is not an agent"),
            (lambda: Ensemble(" ", [Task("a")]), "name", "must not be blank"),
            (lambda: Ensemble("E", [Task("a")], on_error="stop"), "on_error", "'fail_fast', 'continue'"),  # type: ignore[arg-type]
            (lambda: Ensemble("E", [3]), "tasks[0]", "3 is not a Task"),  # type: ignore[list-item]
            (lambda: Ensemble("E", [Task("a")], model=3), "model", "3 is not the name of a model"),  # type: ignore[arg-type]
            (lambda: Ensemble("E", [Task("a")], workflow="hierarchical"), "workflow", "is not a Workflow, such as"),  # type: ignore[arg-type]
            (lambda: Ensemble("E", [Task("a")], constraints=3), "constraints", "is not HierarchicalConstraints"),  # type: ignore[arg-type]
            (lambda: Ensemble("E", [Task("a")], delegation=3), "delegation", "3 is not a Delegation"),  # type: ignore[arg-type]
            (lambda: Ensemble("E", [Task("a")], budget=3), "budget", "3 is not a Budget"),  # type: ignore[arg-type]
            (lambda: Ensemble("E", [Task("a")], synthesize=3), "synthesize", "3 is not the name of a model"),  # type: ignore[arg-type]
            (lambda: Ensemble("E", [Task("a")], max_parallel=0), "max_parallel", "must be > 0, got: 0"),
            (lambda: Ensemble("E", [Task("a")], tools=["web"]), "tools", "a tool is a function"),  # type: ignore[list-item]
        ],
    )
    def test_an_ensemble_names_the_place_and_the_mistake(
        self, make: Callable[[], Ensemble], place: str, message: str
    ) -> None:
        with pytest.raises(EnsembleDefinitionError, match=message) as caught:
            make()
        assert places_of(caught.value.problems) == [place]


class TestMembership:
    async def test_every_tasks_agent_must_be_present_in_the_agents_list_by_identity(self) -> None:
        writer = says("Writer", "a")
        error = await mistakes_of(Ensemble("E", [Task("Write", agent=writer)], agents=[says("Writer", "a")]))
        assert "Task 'Write' references agent 'Writer', which is not in the ensemble's agents" in str(error)
        assert places_of(error.problems) == ["tasks[0].agent"]
        assert (await Ensemble("E", [Task("Write", agent=writer)], agents=[writer]).run(context=over())).raw == "a"

    async def test_an_unused_agent_is_a_warning_and_execution_proceeds(self, caplog: pytest.LogCaptureFixture) -> None:
        writer, idle = says("Writer", "a"), says("Idle")
        with caplog.at_level(logging.WARNING, "tactician"):
            result = await Ensemble("E", [Task("Write", agent=writer)], agents=[writer, idle]).run(context=over())
        assert result.raw == "a"
        assert [record.getMessage() for record in caplog.records] == ["E: the agent 'Idle' is used by no task"]

    async def test_a_task_that_lost_its_predecessor_to_the_context_of_another_is_told(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        find, write = Task("Find", handler=lambda _: "x"), Task("Write", handler=lambda _: "y")
        publish = Task("Publish", context=[write], handler=lambda _: "z")
        with caplog.at_level(logging.WARNING, logger="tactician"):
            await Ensemble("Meant", [find, write, publish], workflow=Workflow.PARALLEL).run({})
            await Ensemble("Joined", [find, write, Task("J", context=[find, write], handler=lambda _: "j")]).run({})
            apart = Task("Log", context=[], handler=lambda _: "l")
            await Ensemble("Apart", [write, publish, apart]).run({})
            assert caplog.records == []
            await Ensemble("E", [find, write, publish]).run({})
        (record,) = caplog.records
        assert record.getMessage().startswith(
            "E: another task names a `context`, so the tasks run in parallel, and the"
        )
        assert "task 'Find' reads no output" in record.getMessage()

    async def test_without_agents_they_are_taken_from_the_tasks(self) -> None:
        assert (await Ensemble("E", [Task("Write", agent=says("Writer", "a"))]).run(context=over())).raw == "a"


class TestContext:
    async def test_context_references_must_form_a_dag(self) -> None:
        first = Task("one", id="a", context=[Task("two", id="b")])
        second = Task("two", id="b", context=[first])
        error = await mistakes_of(Ensemble("E", [first, second]))
        assert "circular context dependency involving task" in str(error)
        assert "'a' -> 'b' -> 'a'" in str(error) or "'b' -> 'a' -> 'b'" in str(error)

    async def test_all_cycles_are_reported_at_once(self) -> None:
        pairs = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "e"), ("e", "c"), ("f", "a")]
        tasks = [Task(name, context=[Task(other)]) for name, other in pairs]
        error = await mistakes_of(Ensemble("E", tasks))
        cycles = [problem.message for problem in error.problems if "circular" in problem.message]
        assert places_of(error.problems) == ["tasks", "tasks"]
        assert [sorted(name for name in "abcdef" if repr(name) in cycle) for cycle in cycles] == [
            ["a", "b"], ["c", "d", "e"]
        ]  # fmt: skip

    async def test_in_a_sequence_all_context_tasks_must_appear_earlier_in_the_task_list(self) -> None:
        research = Task("Research")
        report = Task("Report", context=[research])
        error = await mistakes_of(Ensemble("E", [report, research], workflow=Workflow.SEQUENTIAL))
        assert "Task 'Report' references context task 'Research', which appears later in the list" in str(error)
        assert places_of(error.problems) == ["tasks[0].context[0]"]
        await Ensemble("E", [report, research], workflow=Workflow.PARALLEL).check(context=over())

    async def test_a_context_task_that_is_not_in_the_ensemble_is_a_mistake(self) -> None:
        error = await mistakes_of(Ensemble("E", [Task("Report", context=[Task("Research")])]))
        assert "references context task 'Research', which is not in the ensemble" in str(error)

    async def test_a_context_is_found_by_id_and_not_by_identity(self) -> None:
        research = Task("Research", id="r", agent=says("A", "facts"))
        copy = replace(research)
        seen: list[str] = []
        report = Task("Report", context=[copy], handler=lambda task: seen.append(task.context_outputs[0].raw))
        await Ensemble("E", [research, report]).run(context=over())
        assert seen == ["facts"]

    async def test_duplicate_task_ids_are_a_mistake(self) -> None:
        error = await mistakes_of(Ensemble("E", [Task("Same"), Task("Same"), Task("Same", id="other")]))
        assert places_of(error.problems) == ["tasks[0].id", "tasks[1].id"]
        assert "2 tasks have the id 'Same'" in str(error)


class TestTemplates:
    async def test_variables_in_descriptions_and_expected_outputs_are_replaced(self) -> None:
        model = ScriptedModel("done")
        task = Task("Research {topic} in {year}", expected_output="{count} findings, as {{json}}, {not a name}")
        await Ensemble("E", [task], model=model).run({"topic": "AI {year}", "year": 2026, "count": "5"}, context=over())
        assert "Research AI {year} in 2026" in model.calls[0].prompt
        assert "5 findings, as {json}, {not a name}" in model.calls[0].prompt

    async def test_a_name_that_tasks_inside_need_is_reported_where_it_stands(self) -> None:
        inner = Ensemble("Inner", [Task("{a}"), Task("{b}")])
        told = Ensemble("Told", [Task("{c}")], description="For {d} and {c}")
        error = await mistakes_of(Ensemble("E", [inner, told]))
        assert places_of(error.problems) == [
            "tasks[0].tasks[0].description", "tasks[0].tasks[1].description",
            "tasks[1].description", "tasks[1].tasks[0].description",
        ]  # fmt: skip
        assert "no value for 'd' (" in error.problems[2].message

    async def test_all_missing_names_are_reported_at_once(self) -> None:
        tasks = [Task("{a} and {b} and {a}"), Task("{c}", expected_output="{d}")]
        error = await mistakes_of(Ensemble("E", tasks), c="x")
        assert places_of(error.problems) == ["tasks[0].description", "tasks[1].expected_output"]
        assert "no value for 'a', 'b' (given: 'c')" in str(error)

    async def test_run_with_an_empty_inputs_map_is_valid_if_no_templates_are_used(self) -> None:
        ensemble = Ensemble("E", [Task("Go", agent=says("A", "a"))])
        assert (await ensemble.run({}, context=over())).raw == "a"

    async def test_run_with_an_empty_inputs_map_raises_if_templates_exist(self) -> None:
        assert "no value for 'topic'" in str(await mistakes_of(Ensemble("E", [Task("Research {topic}")])))

    async def test_further_values_are_ignored(self) -> None:
        ensemble = Ensemble("E", [Task("Go", agent=says("A", "a"))])
        assert (await ensemble.run({"other": "x"}, context=over())).raw == "a"


class TestSettings:
    async def test_an_output_type_that_differs_from_that_of_the_agent_is_a_mistake(self) -> None:
        agent = Agent("A", output_type=int)
        error = await mistakes_of(Ensemble("E", [Task("Go", agent=agent, output_type=str)]))
        assert places_of(error.problems) == ["tasks[0].output_type"]
        await Ensemble("E", [Task("Go", agent=agent, output_type=int)]).check(context=over())

    async def test_tools_for_a_runnable_that_takes_none_are_a_mistake(self) -> None:
        async def shout(text: str) -> str:
            return text

        def look() -> str:
            return "seen"

        error = await mistakes_of(Ensemble("E", [Task("Go", agent=runnable(shout), tools=[look])]))
        assert places_of(error.problems) == ["tasks[0].tools"]

    async def test_a_model_that_nobody_serves_is_a_mistake_before_any_model_is_called(self) -> None:
        agent = says("A", "a")
        ensemble = Ensemble("E", [Task("a", agent=agent), Task("b", model="nobody:nothing")])
        context = RunContext.over(ModelCatalog(Settings(), {}))
        with pytest.raises(EnsembleDefinitionError) as caught:
            await ensemble.run(context=context)
        assert places_of(caught.value.problems) == ["tasks[1].model"]

    async def test_an_ensemble_that_is_an_agent_is_checked_too(self) -> None:
        inner = Ensemble("Inner", [Task("a {topic} {input}"), Task("b", memory=["none"])])
        loop = Loop([Task("c {topic}")], id="Loop")
        tasks = [Task("x", agent=inner), Task("y", agent=loop)]
        error = await mistakes_of(Ensemble("E", tasks, agents=[inner, loop, Ensemble("Idle", [Task("d {name}")])]))
        listed = [(problem.path, problem.message.partition(":")[0]) for problem in error.problems]
        needs = "an agent gets a text, and the tasks of {!r} need values for {!r}"
        assert listed == [
            ("tasks[0].agent.tasks[1].memory[0]", listed[0][1]),
            ("tasks[0].agent", needs.format("Inner", "topic")),
            ("tasks[1].agent", needs.format("Loop", "topic")),
            ("agents[2]", needs.format("Idle", "name")),
        ]

    async def test_the_models_of_an_ensemble_that_is_an_agent_are_checked_too(self) -> None:
        inner = Ensemble("Inner", [Task("a", model="nobody:nothing")])
        loop = Loop([Task("b", model="nobody:nothing")])
        ensemble = Ensemble("E", [Task("x", agent=inner), Task("y", agent=loop)], model=ScriptedModel())
        with pytest.raises(EnsembleDefinitionError) as caught:
            await ensemble.check(context=RunContext.over(ModelCatalog(Settings(), {})))
        paths = ["tasks[0].agent.tasks[0].model", "tasks[1].agent.tasks[0].tasks[0].model"]
        assert places_of(caught.value.problems) == paths

    async def test_all_mistakes_come_at_once(self) -> None:
        stranger = says("Stranger")
        tasks = [Task("{x}", agent=stranger), Task("b", context=[Task("gone")]), Task("b", id="b")]
        error = await mistakes_of(Ensemble("E", tasks, agents=[says("Other")]))
        assert places_of(error.problems) == [
            "tasks[1].id",
            "tasks[2].id",
            "tasks[1].context[0]",
            "tasks[0].agent",
            "tasks[0].description",
        ]
        assert error.subject == "Ensemble 'E'"
