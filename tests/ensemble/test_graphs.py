"""Graphs: tasks as states, with edges that decide which one is next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tactician import END, Edge, Ensemble, Graph, RunStatus, Task, Workflow, approve
from tactician.ensemble import (
    EnsembleDefinitionError,
    EnsembleResult,
    GraphError,
    PredicateError,
    TaskFailedError,
    TaskInput,
    TaskOutputs,
)
from tactician.ensemble.tasks.task import TaskLike
from tests.ensemble.support import cashier, counter, durable, numbered, over, places_of, prompt_of, says, script_of


def line(*states: str, **more: object) -> Graph:
    """A graph that goes from state to state, and then ends."""
    edges = [Edge(one, other) for one, other in zip(states, [*states[1:], END], strict=True)]
    tasks = {task.id: task for task in numbered(*states)}
    return Graph(tasks, start=states[0], edges=edges, **more)  # type: ignore[arg-type]


async def run(*tasks: TaskLike, workflow: Workflow | None = Workflow.SEQUENTIAL) -> EnsembleResult:
    """Run tasks one after another."""
    return await Ensemble("E", tasks, workflow=workflow).run({}, context=over())


async def fail(graph: Graph) -> Exception:
    """The error of a graph with the id "g"."""
    with pytest.raises(TaskFailedError) as caught:
        await run(graph)
    return caught.value.failed["g"]


def says_last(text: str) -> Callable[[TaskOutputs], bool]:
    """A predicate that holds when the last output is this one."""
    return lambda outputs: outputs.last.raw == text


class TestSteps:
    async def test_a_graph_goes_from_state_to_state_until_its_end(self) -> None:
        result = await run(line("a", "b", "c", id="g"))
        assert (result.raw, result["g"].role) == ("c1", "(graph)")
        assert [part.raw for part in result["g"].parts] == ["a1", "b1", "c1"]

    async def test_the_first_edge_that_matches_wins(self) -> None:
        a, b, c = numbered("a", "b", "c")
        edges = [
            Edge("a", "b", when=lambda t: False),
            Edge("a", "c", when=lambda t: True),
            Edge("a", "b"),
            Edge("b", END),
            Edge("c", END),
        ]
        assert (await run(Graph({"a": a, "b": b, "c": c}, start="a", edges=edges))).raw == "c1"

    async def test_a_predicate_gets_the_last_output_and_all_outputs_and_may_be_async(self) -> None:
        async def is_enough(t: TaskOutputs) -> bool:
            return [output.raw for output in t.outputs] == ["a1", "a2"] and t.last.raw == t["a"].raw

        (a,) = numbered("a")
        result = await run(Graph({"a": a}, start="a", edges=[Edge("a", END, when=is_enough), Edge("a", "a")]))
        assert result.raw == "a2"

    async def test_max_steps_is_50_by_default_and_then_the_error_says_what_the_outputs_were(self) -> None:
        (a,) = numbered("a")
        edges = [Edge("a", END, when=lambda t: False), Edge("a", "a")]
        error = await fail(Graph({"a": a}, start="a", edges=edges, id="g"))
        assert isinstance(error, GraphError)
        assert len(error.outputs) == 50
        assert "Graph 'g': END is not reached after 50 steps. Outputs: … 'a' gave 'a46'" in str(error)

    async def test_without_a_match_the_error_lists_the_edges_and_the_outputs(self) -> None:
        def is_good(t: TaskOutputs) -> bool:
            return False

        a, b = numbered("a", "b")
        edges = [Edge("a", "b", when=is_good), Edge("a", END, when=lambda t: False), Edge("b", END)]
        error = await fail(Graph({"a": a, "b": b}, start="a", edges=edges, id="g"))
        assert isinstance(error, GraphError)
        assert "Graph 'g': after step 1 no edge from 'a' matches." in str(error)
        assert "Edges: 'a' -> 'b' when is_good; 'a' -> END when a lambda." in str(error)
        assert "Outputs: 'a' gave 'a1'" in str(error)

    async def test_a_predicate_that_raises_is_named_with_the_graph_the_edge_and_the_step(self) -> None:
        def broken(t: TaskOutputs) -> bool:
            raise KeyError("score")

        (a,) = numbered("a")
        error = await fail(Graph({"a": a}, start="a", edges=[Edge("a", END, when=broken)], id="g"))
        assert isinstance(error, PredicateError)
        assert "Graph 'g': the edge 'a' -> END when broken after step 1 failed" in str(error)

    async def test_a_task_that_fails_is_named_with_the_graph_the_step_and_the_state(self) -> None:
        def burn(task: TaskInput) -> str:
            raise ConnectionError("it burns")

        error = await fail(Graph({"s": Task("x", id="t", handler=burn)}, start="s", edges=[Edge("s", END)], id="g"))
        assert "Graph 'g', step 1, state 's'" in str(error)
        assert "it burns" in str(error)


class TestContext:
    async def test_a_state_sees_the_output_of_the_state_before_and_the_first_what_the_graph_gets(self) -> None:
        seen: list[TaskInput] = []
        a, b = numbered("a", "b", seen=seen)
        await run(*numbered("before"), Graph({"a": a, "b": b}, start="a", edges=[Edge("a", "b"), Edge("b", END)]))
        assert [[output.raw for output in task.context_outputs] for task in seen] == [["before1"], ["a1"]]

    async def test_a_state_may_name_states_and_tasks_outside(self) -> None:
        seen: list[TaskInput] = []
        (facts,), (a, b) = numbered("facts"), numbered("a", "b")
        c = Task("c", context=[facts, a], handler=counter("c", seen))
        edges = [Edge("a", "b"), Edge("b", "c"), Edge("c", END)]
        await run(Graph({"a": a, "b": b, "c": c}, start="a", edges=edges), facts, workflow=Workflow.PARALLEL)
        assert [output.raw for output in seen[0].context_outputs] == ["facts1", "a1"]

    async def test_a_state_that_is_visited_again_is_told_its_latest_output(self) -> None:
        writer, critic = says("Writer", "one", "two"), says("Critic", "longer", "fine")
        edges = [Edge("write", "judge"), Edge("judge", END, when=says_last("fine")), Edge("judge", "write")]
        states = {"write": Task("Write", agent=writer), "judge": Task("Judge", agent=critic)}
        await run(Graph(states, start="write", edges=edges))
        prompt = prompt_of(script_of(writer), 1)
        assert "## Revision Instructions (Attempt 2)\n\n### Previous Output\n\none" in prompt
        assert "### Critic: Judge\n\nlonger" in prompt
        assert "Revision Instructions" not in prompt_of(script_of(writer), 0)

    async def test_tasks_with_the_graph_in_their_context_see_its_last_output(self) -> None:
        seen: list[TaskInput] = []
        await run(line("a", "b"), *numbered("after", seen=seen))
        assert [output.task_id for output in seen[0].context_outputs] == ["b"]

    async def test_only_the_first_state_sees_the_text_of_the_caller(self) -> None:
        seen: list[TaskInput] = []
        a, b = numbered("a", "b", seen=seen)
        graph = Graph({"a": a, "b": b}, start="a", edges=[Edge("a", "b"), Edge("b", END)])
        await Ensemble("E", [graph]).run("frogs", context=over())
        assert [task.text for task in seen] == ["frogs", ""]

    async def test_a_state_whose_task_is_skipped_is_passed(self) -> None:
        a, c = numbered("a", "c")
        skipped = Task("b", handler=lambda task: "b", when=lambda t: False)
        edges = [Edge("a", "b"), Edge("b", "c"), Edge("c", END)]
        result = await run(Graph({"a": a, "b": skipped, "c": c}, start="a", edges=edges, id="g"))
        assert [part.raw for part in result["g"].parts] == ["a1", "c1"]


def graph_of(states: Sequence[str], *edges: Edge, **more: object) -> Graph:
    """A graph with these states and edges that starts at the first one."""
    tasks = {name: Task(name) for name in states}
    return Graph(tasks, start=states[0] if states else "a", edges=edges, **more)  # type: ignore[arg-type]


class TestMistakes:
    @pytest.mark.parametrize(
        ("make", "place", "message"),
        [
            (lambda: graph_of([]), "states", "at least one state"),
            (lambda: graph_of(["a"], Edge("a", END), max_steps=0), "max_steps", "must be > 0, got: 0"),
            (lambda: graph_of(["a"], Edge("a", END), Edge("aa", END)), "edges[1].source", "no state 'aa'"),
            (lambda: graph_of(["a"], Edge("a", "x", when=bool), Edge("a", END)), "edges[0].target", "no state 'x'"),
            (lambda: graph_of(["a"], Edge("a", END), Edge("a", "a")), "edges[1]", "edges[0] before it matches always"),
            (lambda: graph_of(["a", "b"], Edge("a", END), Edge("b", END)), "states['b']", "no edge leads to it"),
            (
                lambda: graph_of(["a", "b"], Edge("a", "b", when=bool), Edge("a", END)),
                "states['b']",
                "no edge leads from",
            ),
            (lambda: graph_of(["a"], Edge("a", "a")), "edges", "no way leads to the end"),
            (lambda: graph_of(["a"], "x"), "edges[0]", "'x' is not an Edge"),  # type: ignore[arg-type]
            (lambda: graph_of(["a"], Edge("a", END, when="x")), "edges[0].when", "not a function"),  # type: ignore[arg-type]
        ],
    )
    def test_a_graph_names_the_place_and_the_mistake(self, make: Callable[[], Graph], place: str, message: str) -> None:
        with pytest.raises(EnsembleDefinitionError) as caught:
            make()
        assert places_of(caught.value.problems) == [place]
        assert message in str(caught.value)

    def test_an_unknown_start_and_a_state_of_the_name_of_the_end_are_mistakes(self) -> None:
        with pytest.raises(EnsembleDefinitionError, match="there is no state 'b'"):
            Graph({"a": Task("a")}, start="b", edges=[Edge("a", END)])
        with pytest.raises(EnsembleDefinitionError, match="'END' is the end of each graph"):
            Graph({END: Task("a")}, start=END, edges=[Edge(END, END)])


class TestDurability:
    async def test_a_graph_that_waits_in_a_state_goes_on_there(self) -> None:
        seen: list[TaskInput] = []
        asked: list[str] = []

        def is_paid(t: TaskOutputs) -> bool:
            asked.append(t.last.raw)
            return t.last.raw == "paid 2"

        context = durable()
        (a,) = numbered("a", seen=seen)
        states = {"a": a, "pay": Task("Pay", agent=cashier("paid 1", "paid 2"))}
        edges = [Edge("a", "pay"), Edge("pay", END, when=is_paid), Edge("pay", "a")]
        ensemble = Ensemble("E", [Graph(states, start="a", edges=edges, id="g")])
        result = await ensemble.run({}, context=context)
        for number in (1, 2):
            assert result.status is RunStatus.WAITING
            assert len(seen) == number
            result = await ensemble.resume(result.run_id, {result.pending[0].id: approve()}, context=context)
        assert (result.raw, len(seen), asked) == ("paid 2", 2, ["paid 1", "paid 2"])
        assert [part.raw for part in result["g"].parts] == ["a1", "paid 1", "a2", "paid 2"]


@st.composite
def random_graphs(draw: st.DrawFn) -> Graph:
    """Graphs of some states with random edges, whose predicates hold at random."""
    names = [f"s{number}" for number in range(draw(st.integers(1, 5)))]
    targets = st.sampled_from([*names, END])
    edges = []
    for name in names:
        for target in draw(st.lists(targets, max_size=3)):
            answers = draw(st.none() | st.lists(st.booleans(), min_size=1, max_size=4))
            edges.append(Edge(name, target, None if answers is None else answer_from(answers)))
    return Graph({task.id: task for task in numbered(*names)}, start="s0", edges=edges, max_steps=12, id="g")


def answer_from(answers: list[bool]) -> Callable[[TaskOutputs], bool]:
    """A predicate that depends on the number of outputs."""
    return lambda outputs: answers[len(outputs.outputs) % len(answers)]


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_random_graph_ends_or_says_why_not(data: st.DataObject) -> None:
    try:
        graph = data.draw(random_graphs())
    except EnsembleDefinitionError:
        return
    reason = asyncio.run(find_reason(graph))
    assert reason is None or "no edge from" in reason or "END is not reached after 12 steps" in reason


async def find_reason(graph: Graph) -> str | None:
    """The reason why a graph with the id "g" has not ended; `None` when it has."""
    try:
        result = await run(graph)
    except TaskFailedError as error:
        return str(error.failed["g"])
    return None if 1 <= len(result["g"].parts) <= 12 else "it has run on"
