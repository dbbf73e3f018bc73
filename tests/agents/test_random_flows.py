"""Any graph of typed actions that can be done is done: each action at most once, and after what it needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from tactician import ProcessStatus, UserInput, achieves_goal, action, planned_agent
from tests.agents.running import started, steps
from tests.support.effort import examples

Graph: TypeAlias = Mapping[int, frozenset[int]]
"""For each node, those that it needs: all of them have a smaller number."""


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 9))
    return {n: draw(st.frozensets(st.integers(0, n - 1), max_size=4)) if n else frozenset() for n in range(size)}


def action_for(node: int, needs: frozenset[int], types: Mapping[int, type], order: list[int]) -> Callable[..., object]:
    parameters = ", ".join(["self", "user_input", *(f"p{need}" for need in sorted(needs))])
    scope: dict[str, object] = {"order": order, "made": types[node]}
    exec(f"def run({parameters}):\n    order.append({node})\n    return made()", scope)
    made = scope["run"]
    assert callable(made)
    made.__annotations__ = {f"p{need}": types[need] for need in needs}
    made.__annotations__.update({"user_input": UserInput, "return": types[node]})
    return made


def agent_for(graph: Graph, types: Mapping[int, type], order: list[int], goal: int, shuffled: list[int]) -> object:
    members: dict[str, object] = {}
    for node in shuffled:
        declared = action(action_for(node, graph[node], types, order))
        members[f"make{node}"] = achieves_goal("made")(declared) if node == goal else declared
    return planned_agent(description="made at random")(type("Random", (), members))()


def needed(graph: Graph, goal: int) -> set[int]:
    return {goal}.union(*(needed(graph, need) for need in graph[goal]))


@examples(60)
@given(st.data(), graphs())
def test_a_graph_of_actions_is_done_completely_and_in_order(data: st.DataObject, graph: Graph) -> None:
    goal = max(graph)
    shuffled = data.draw(st.permutations(list(graph)))
    types = {node: type(f"T{node}", (), {}) for node in graph}
    order: list[int] = []
    process = asyncio.run(started(agent_for(graph, types, order, goal, shuffled), "go"))
    assert process.status is ProcessStatus.COMPLETED
    assert isinstance(process.result, types[goal])
    assert steps(process) == [f"make{node}" for node in order]
    assert set(order) == needed(graph, goal)
    assert len(order) == len(set(order))
    assert all(order.index(need) < order.index(node) for node in order for need in graph[node])


@examples(60)
@given(st.data(), graphs())
def test_what_is_there_already_is_not_made_again(data: st.DataObject, graph: Graph) -> None:
    goal = max(graph)
    there = data.draw(st.frozensets(st.sampled_from(list(graph))).map(lambda nodes: nodes - {goal}))
    types = {node: type(f"T{node}", (), {}) for node in graph}
    order: list[int] = []
    agent = agent_for(graph, types, order, goal, list(graph))
    process = asyncio.run(started(agent, "go", *(types[node]() for node in there)))
    assert process.status is ProcessStatus.COMPLETED
    assert not there.intersection(order)


@examples(60)
@given(graphs())
def test_without_the_input_nothing_runs_and_the_input_is_named(graph: Graph) -> None:
    types = {node: type(f"T{node}", (), {}) for node in graph}
    process = asyncio.run(started(agent_for(graph, types, [], max(graph), list(graph))))
    assert process.status is ProcessStatus.STUCK
    assert process.history == ()
    assert process.failure is not None
    assert "'UserInput'" in process.failure
