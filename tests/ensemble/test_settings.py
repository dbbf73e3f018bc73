"""Settings of ensembles: a limit of requests, listeners, and agents that a model makes."""

from __future__ import annotations

from collections.abc import Callable

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
    RunContext,
    RunStatus,
    Task,
    Workflow,
    approve,
    tool,
)
from tactician.ensemble import EnsembleDefinitionError, TaskStarted
from tactician.events import Event
from tactician.runs import OutputError, RunStarted
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.ensemble.support import durable, over, says, system_of


def cast(*roles: str) -> dict[str, object]:
    """Agents for tasks, as a model makes them."""
    agents = [
        {"task": number, "role": role, "goal": f"goal of {role}", "background": f"life of {role}"}
        for number, role in enumerate(roles, start=1)
    ]
    return {"agents": agents}


class TestRateLimit:
    async def test_all_tasks_share_the_limit_of_requests_a_second(self) -> None:
        clock = FakeClock()
        tasks = [Task(letter, agent=says(letter, "x")) for letter in "abcd"]
        ensemble = Ensemble("E", tasks, workflow=Workflow.PARALLEL, rate_limit=2)
        began = clock.monotonic()
        await ensemble.run(context=RunContext.over(ScriptedModel(), clock=clock))
        assert clock.monotonic() - began == pytest.approx(1.5)

    async def test_runs_of_the_same_ensemble_share_it_too(self) -> None:
        clock = FakeClock()
        ensemble = Ensemble("E", [Task("a", role="A")], model=ScriptedModel("x", "x"), rate_limit=0.5)
        began = clock.monotonic()
        for _ in range(2):
            await ensemble.run(context=RunContext.over(ScriptedModel(), clock=clock))
        assert clock.monotonic() - began == pytest.approx(2)

    async def test_the_limit_of_an_ensemble_around_it_holds_too(self) -> None:
        clock = FakeClock()
        inner = Ensemble("Inner", [Task("a", role="A"), Task("b", role="B")], rate_limit=1000)
        outer = Ensemble("Outer", [Task("go", agent=inner)], model=ScriptedModel("x", "x"), rate_limit=1)
        began = clock.monotonic()
        await outer.run(context=RunContext.over(ScriptedModel(), clock=clock))
        assert clock.monotonic() - began == pytest.approx(1, abs=0.1)


class TestListeners:
    async def test_listeners_hear_the_events_of_the_run_and_not_of_others(self) -> None:
        heard: list[Event] = []
        ensemble = Ensemble("E", [Task("a", agent=says("A", "x", "y"))], listeners=[heard.append])
        await ensemble.run(context=over())
        assert {"E", "A"} <= {event.path[-1] for event in heard if isinstance(event, RunStarted)}
        assert [event.task_id for event in heard if isinstance(event, TaskStarted)] == ["a"]
        count = len(heard)
        await Ensemble("Other", [Task("a", handler=lambda _: 1)]).run(context=over())
        assert len(heard) == count


class TestSynthesis:
    async def test_a_model_makes_the_agents_of_tasks_without_one(self) -> None:
        model, maker = ScriptedModel("x", "y"), ScriptedModel(cast("Poet", "Critic"))
        tasks = [
            Task("Rhyme", id="r"),
            Task("Judge", id="j", goal="Be fair", expected_output="A mark"),
            Task("Count", id="c", handler=lambda _: 1),
        ]
        result = await Ensemble("E", tasks, model=model, synthesize=maker).run(context=over())
        assert [output.role for output in result.task_outputs] == ["Poet", "Critic", "(deterministic)"]
        assert system_of(model).startswith("You are Poet.\nlife of Poet\nYour personal goal is: goal of Poet")
        assert "Your personal goal is: Be fair" in system_of(model, 1), "what a task names itself stays"
        assert "1. Rhyme\n2. Judge Expected output: A mark" in maker.calls[0].prompt
        assert "Count" not in maker.calls[0].prompt

    async def test_the_model_is_called_once_also_when_the_run_continues_elsewhere(self) -> None:
        @tool(needs_approval=True)
        def pay() -> str:
            """Pay."""
            return "paid"

        model, maker = ScriptedModel(ToolCall("pay"), "done"), ScriptedModel(cast("Payer"))
        context = durable()
        ensemble = Ensemble("E", [Task("Pay", tools=[pay])], model=model, synthesize=maker)
        waiting = await ensemble.run(context=context)
        assert waiting.status is RunStatus.WAITING
        again = Ensemble("E", [Task("Pay", tools=[pay])], model=model, synthesize=maker)
        result = await again.resume(waiting.run_id, {waiting.pending[0].id: approve()}, context=context)
        assert (result.task_outputs[0].role, result.raw, len(maker.calls)) == ("Payer", "done", 1)

    async def test_without_missing_agents_no_model_is_called(self) -> None:
        ensemble = Ensemble("E", [Task("a", agent=says("A", "x"))], synthesize=ScriptedModel())
        assert (await ensemble.run(context=over())).raw == "x"

    async def test_a_task_that_the_model_leaves_out_gets_the_usual_agent(self) -> None:
        ensemble = Ensemble("E", [Task("Write it")], model=ScriptedModel("x"), synthesize=ScriptedModel({"agents": []}))
        assert (await ensemble.run(context=over())).task_outputs[0].role == "Writer"

    async def test_tasks_of_phases_get_agents_too(self) -> None:
        phase = Phase("one", [Task("Rhyme")])
        ensemble = Ensemble("E", phases=[phase], model=ScriptedModel("x"), synthesize=ScriptedModel(cast("Poet")))
        assert (await ensemble.run(context=over())).task_outputs[0].role == "Poet"

    async def test_a_hierarchy_has_the_agents_as_workers(self) -> None:
        manager = ScriptedModel(ToolCall("delegate_task", role="Poet", task="Rhyme"), "done")
        ensemble = Ensemble(
            "E",
            [Task("Rhyme")],
            workflow=Workflow.HIERARCHICAL,
            manager=Agent("Boss", model=manager),
            model=ScriptedModel("a rhyme"),
            synthesize=ScriptedModel(cast("Poet")),
        )
        result = await ensemble.run(context=over())
        assert [output.role for output in result.task_outputs] == ["Poet", "Boss"]

    async def test_tasks_in_loops_and_graphs_get_agents_in_the_same_call(self) -> None:
        maker = ScriptedModel(cast("Poet", "Critic", "Singer"))
        loop = Loop([Task("Rhyme", id="r"), Task("Judge", id="j")], max_iterations=1)
        graph = Graph({"sing": Task("Sing", id="s")}, start="sing", edges=[Edge("sing", END)])
        result = await Ensemble("E", [loop, graph], model=ScriptedModel("x", "y", "z"), synthesize=maker).run(
            context=over()
        )
        assert [result[name].role for name in ("r", "j", "s")] == ["Poet", "Critic", "Singer"]
        assert len(maker.calls) == 1

    async def test_tasks_with_one_id_in_two_loops_get_agents_of_their_own(self) -> None:
        maker = ScriptedModel(cast("Poet", "Critic"))
        loops = [Loop([Task(work, id="same")], id=work, max_iterations=1) for work in ("Rhyme", "Judge")]
        result = await Ensemble("E", loops, model=ScriptedModel("x", "y"), synthesize=maker).run(context=over())
        assert [part.role for output in result.task_outputs for part in output.parts] == ["Poet", "Critic"]

    async def test_an_ensemble_inside_asks_the_model_of_the_one_around_unless_it_has_one(self) -> None:
        outside, inside = ScriptedModel(cast("Poet")), ScriptedModel(cast("Critic"))
        first = Ensemble("First", [Task("Rhyme", id="r")])
        second = Ensemble("Second", [Task("Judge", id="j")], synthesize=inside)
        whole = Ensemble("E", [first, second], model=ScriptedModel("x", "y"), synthesize=outside)
        result = await whole.run(context=over())
        assert [result[name].role for name in ("r", "j")] == ["Poet", "Critic"]
        assert (len(outside.calls), len(inside.calls)) == (1, 1)

    async def test_the_tasks_of_a_level_of_a_map_reduce_get_the_agent_of_the_first(self) -> None:
        maker = ScriptedModel(cast("Poet"), cast("Editor"))
        book = MapReduce(
            ["frogs", "toads", "newts"], map=lambda item: Task(f"Rhyme on {item}"), reduce=lambda _: Task("Bind")
        )
        ensemble = Ensemble("E", [book], model=ScriptedModel("x", "y", "z", "book"), synthesize=maker)
        result = await ensemble.run(context=over())
        assert [part.role for part in result.task_outputs[0].parts] == ["Poet"] * 3 + ["Editor"]
        assert "1. Rhyme on frogs" in maker.calls[0].prompt
        assert "toads" not in maker.calls[0].prompt

    async def test_agents_that_are_not_valid_fail_the_run(self) -> None:
        maker = ScriptedModel(*[cast(" ")] * 3)
        with pytest.raises(OutputError, match="no valid AgentProfiles"):
            await Ensemble("E", [Task("a")], model=ScriptedModel(), synthesize=maker).run(context=over())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ensemble("E", [Task("x")], rate_limit=0), "rate_limit"),
        (lambda: Ensemble("E", [Task("x")], listeners=[3]), "listeners"),  # type: ignore[list-item]
    ],
)
def test_mistakes_in_settings_name_their_place(make: Callable[[], Ensemble], message: str) -> None:
    with pytest.raises(EnsembleDefinitionError, match=message):
        make()


async def test_a_model_for_agents_that_nobody_serves_is_a_mistake() -> None:
    with pytest.raises(EnsembleDefinitionError, match="synthesize"):
        await Ensemble("E", [Task("x")], model=ScriptedModel(), synthesize="no-such-model").check(
            context=RunContext.outermost(RunContext.current().services)
        )
