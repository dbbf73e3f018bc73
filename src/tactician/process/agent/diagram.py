"""Diagrams of an agent, and of a process of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tactician.diagrams.diagram import Diagram, DiagramEdge, DiagramNode, NodeShape, NodeStatus
from tactician.process.agent.spec import PlannedAgentSpec
from tactician.process.board.blackboard import Blackboard
from tactician.process.state.state import ChildRun, ProcessState, ProcessStatus


def draw_agent(agent: PlannedAgentSpec) -> Diagram:
    """Draw the flow of types and conditions through the actions of an agent; goals have a double border."""
    return Diagram(tuple(_draw_nodes(agent, {}, {})), tuple(_draw_flow(agent)))


def draw_process(agent: PlannedAgentSpec, state: ProcessState) -> Diagram:
    """Draw the agent, with what has run and in which order, what is there, what failed, and what is planned.

    Processes that ran inside actions are drawn beside these, as slanted boxes.
    """
    steps, children = _find_planned(state), _find_children(state)
    statuses = {**_find_action_statuses(agent, state, steps), **_find_thing_statuses(agent, state.blackboard)}
    nodes = *_draw_nodes(agent, _write_notes(state, steps), statuses), *_draw_children(children)
    inside = (DiagramEdge(_node("action", action), node, style="plain") for node, (action, _) in children.items())
    return Diagram(nodes, (*_draw_flow(agent), *inside))


def _draw_nodes(
    agent: PlannedAgentSpec, notes: Mapping[str, str], statuses: Mapping[str, NodeStatus]
) -> Iterator[DiagramNode]:
    """Yield the actions, with notes below their names, and the types and conditions between them."""
    goals = {goal.name for goal in agent.goals}
    for action in agent.actions:
        node = _node("action", action.name)
        shape: NodeShape = "double" if action.name in goals else "box"
        lines = action.name, *filter(None, notes.get(action.name, "").split("\n"))
        yield DiagramNode(node, lines, shape, statuses.get(node))
    for thing, node in _find_things(agent).items():
        border: NodeShape = "hexagon" if node.startswith("condition") else "stadium"
        yield DiagramNode(node, (thing,), border, statuses.get(node))


def _draw_flow(agent: PlannedAgentSpec) -> Iterator[DiagramEdge]:
    things = _find_things(agent)
    for action in agent.actions:
        node = _node("action", action.name)
        for need in action.needs:
            yield DiagramEdge(things[need.rstrip("?")], node, style="dashed" if need.endswith("?") else "solid")
        for thing in action.gives:
            yield DiagramEdge(node, things[thing])


def _draw_children(children: Mapping[str, tuple[str, ChildRun]]) -> Iterator[DiagramNode]:
    for node, (_, child) in children.items():
        status: NodeStatus = "done" if child.status is ProcessStatus.COMPLETED else "failed"
        yield DiagramNode(node, (child.agent, str(child.status)), "slanted", status)


def _find_things(agent: PlannedAgentSpec) -> dict[str, str]:
    """Return the nodes of all types and conditions, by their names."""
    conditions = {*agent.conditions, *(name for action in agent.actions for name in action.sets)}
    names = dict.fromkeys(thing.rstrip("?") for action in agent.actions for thing in (*action.needs, *action.gives))
    return {name: _node("condition" if name in conditions else "type", name) for name in names}


def _find_planned(state: ProcessState) -> list[str]:
    """Return the actions of the plan that are still to run; none once the process is stuck or has ended."""
    if state.plan is None:
        return []
    names = [action.name for action in state.plan.actions]
    for run in reversed(state.history):
        if run.action not in names:
            break
        names.remove(run.action)
    return names


def _find_children(state: ProcessState) -> dict[str, tuple[str, ChildRun]]:
    """Return the processes inside actions, with the names of the actions, by their nodes."""
    children = ((run.action, child) for run in state.history for child in run.children)
    return {f"child_{number}": child for number, child in enumerate(children, start=1)}


def _write_notes(state: ProcessState, steps: Iterable[str]) -> dict[str, str]:
    """Return when each action ran, and when it is to run, by the names of the actions."""
    notes: dict[str, str] = {}
    for number, run in enumerate(state.history, start=1):
        before = notes.get(run.action)
        notes[run.action] = f"ran {number}" if before is None else f"{before}, {number}"
    for number, name in enumerate(steps, start=len(state.history) + 1):
        notes[name] = f"{notes.get(name, '')}\nplanned {number}"
    return notes


def _find_action_statuses(agent: PlannedAgentSpec, state: ProcessState, steps: Sequence[str]) -> dict[str, NodeStatus]:
    """Return the statuses of actions, by their nodes: how the last run ended, or what comes next."""
    statuses: dict[str, NodeStatus] = {run.action: "done" if run.error is None else "failed" for run in state.history}
    statuses.update(dict.fromkeys(steps[1:], "planned"))
    waiting = (name for request in state.pending for name in request.path)
    statuses.update(dict.fromkeys((*steps[:1], *waiting), "next"))
    return {_node("action", action.name): statuses[action.name] for action in agent.actions if action.name in statuses}


def _find_thing_statuses(agent: PlannedAgentSpec, board: Blackboard) -> dict[str, NodeStatus]:
    """Return the statuses of the types and conditions that there are, by their nodes."""
    kinds = {kind for value in board.objects for kind in type(value).__mro__}
    there = {name for kind in kinds for name in (kind.__name__, f"{kind.__module__}.{kind.__qualname__}")}
    there.update(name for name, holds in board.conditions.items() if holds)
    return {node: "done" for name, node in _find_things(agent).items() if name.split(": ")[-1] in there}


def _node(kind: str, name: str) -> str:
    return f"{kind}_{re.sub(r'[^A-Za-z0-9]', '_', name)}"
