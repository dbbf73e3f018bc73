"""Actions that run at once: what a process knows in the end is the same as with one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tactician import (
    Budget,
    Platform,
    ProcessOptions,
    ProcessStatus,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
)
from tactician.process import AgentProcess
from tactician.runs import MemoryRuns
from tactician.testing import ScriptedModel
from tests.agents.running import started, steps


class Made:
    """What an action of a random agent gives: it tells what it was made of."""

    def __init__(self, of: Sequence[Made | None] = ()) -> None:
        self.of = tuple(str(one) for one in of)

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.of)})"


@dataclass(frozen=True)
class Node:
    """An action: what it needs, what it takes when it is there, what its type is a kind of, and how long it takes."""

    needs: tuple[str, ...]
    takes: tuple[str, ...]
    base: str
    pauses: int


BASES = ("Made", "Source", "Text")


@st.composite
def graphs(draw: st.DrawFn) -> list[Node]:
    """Each node takes what nodes before it give, by their types or by what these are kinds of."""
    nodes: list[Node] = []
    for number in range(draw(st.integers(2, 8))):
        before = [f"T{n}" for n in range(number)]
        kinds = [*before, *sorted({node.base for node in nodes} - {"Made"})]
        some = st.lists(st.sampled_from(kinds), max_size=2, unique=True) if kinds else st.just([])
        needs = draw(some)
        takes = [kind for kind in draw(some) if kind not in needs]
        base = draw(st.sampled_from([*BASES, *before]))
        nodes.append(Node(tuple(needs), tuple(takes), base, draw(st.integers(0, 5))))
    return nodes


def agent_for(nodes: Sequence[Node], order: Sequence[int]) -> object:
    types: dict[str, type[Made]] = {"Made": Made, "Source": type("Source", (Made,), {}), "Text": type("Text", (Made,), {})}
    for number, node in enumerate(nodes):
        types[f"T{number}"] = type(f"T{number}", (types[node.base],), {})
    last = len(nodes)
    types["Goal"] = type("Goal", (Made,), {})
    goal = Node(tuple(f"T{number}" for number in range(last)), ("Source", "Text"), "Made", 0)
    members: dict[str, object] = {f"make{n}": action(_method(nodes[n], types[f"T{n}"], types)) for n in order}
    members["finish"] = achieves_goal("made")(action(_method(goal, types["Goal"], types)))
    return planned_agent(description="made at random")(type("Random", (), members))()


def _method(node: Node, gives: type[Made], types: Mapping[str, type[Made]]) -> object:
    names = [f"{kind.lower()}_in" for kind in (*node.needs, *node.takes)]
    parameters = ["self", "user_input", *names[: len(node.needs)], *(f"{name}=None" for name in names[len(node.needs) :])]
    source = f"async def run({', '.join(parameters)}):\n"
    source += f"    for _ in range({node.pauses}):\n        await sleep(0)\n"
    source += f"    return gives(({', '.join(names)}{',' if names else ''}))\n"
    scope: dict[str, object] = {"sleep": asyncio.sleep, "gives": gives}
    exec(source, scope)
    made = scope["run"]
    annotations: dict[str, object] = {"user_input": UserInput, "return": gives}
    annotations.update(zip(names, (types[kind] for kind in node.needs), strict=False))
    annotations.update({f"{kind.lower()}_in": types[kind] | None for kind in node.takes})
    made.__annotations__ = annotations  # type: ignore[attr-defined]
    return made


def run_with(agent: object, most: int, *, actions: int = 50) -> AgentProcess:
    options = ProcessOptions(max_parallel=most, budget=Budget(actions=actions))
    return asyncio.run(started(agent, "go", options=options))


def known(process: AgentProcess) -> list[str]:
    return [str(value) for value in process.blackboard.all(Made)]


@settings(max_examples=200, deadline=None)
@given(st.data(), graphs(), st.integers(2, 5), st.sampled_from([50, 50, 1, 3]))
def test_the_blackboard_and_the_result_are_those_of_one_after_the_other(
    data: st.DataObject, nodes: list[Node], most: int, budget: int
) -> None:
    order = data.draw(st.permutations(range(len(nodes))))
    one, several = (run_with(agent_for(nodes, order), parallel, actions=budget) for parallel in (1, most))

    assert several.status is one.status
    assert known(several) == known(one)
    assert str(several.result) == str(one.result)
    assert sorted(steps(several)) == sorted(steps(one))
