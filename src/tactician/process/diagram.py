"""Mermaid flowcharts of an agent, and of a process of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tactician.process.blackboard import Blackboard
from tactician.process.spec import PlannedAgentSpec
from tactician.process.state import ChildRun, ProcessState, ProcessStatus

_STYLES: Final = {
    "done": "fill:#d3f9d8,stroke:#2b8a3e",
    "next": "fill:#fff3bf,stroke:#e67700,stroke-width:3px",
    "planned": "fill:#fff9db,stroke:#e67700,stroke-dasharray:4",
    "failed": "fill:#ffe3e3,stroke:#c92a2a",
}


def draw_agent(agent: PlannedAgentSpec) -> str:
    """Draw the flow of types and conditions through the actions of an agent; goals have a double border."""
    return "\n".join(_draw_flow(agent, {}))


def draw_process(agent: PlannedAgentSpec, state: ProcessState) -> str:
    """Draw the agent, with what has run and in which order, what is there, what failed, and what is planned.

    Processes that ran inside actions are drawn beside these, as slanted boxes.
    """
    steps, children = _find_planned(state), _find_children(state)
    lines = [*_draw_flow(agent, _write_notes(state, steps)), *_draw_children(children)]
    styles = {
        **_style_actions(agent, state, steps),
        **_style_things(agent, state.blackboard),
        **_style_children(children),
    }
    lines += [f"    class {node} {name}" for node, name in styles.items()]
    lines += [f"    classDef {name} {style}" for name, style in _STYLES.items() if name in styles.values()]
    return "\n".join(lines)


def _draw_flow(agent: PlannedAgentSpec, notes: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of the chart, with notes below the names of actions."""
    goals, things = {goal.name for goal in agent.goals}, _find_things(agent)
    yield "flowchart LR"
    for action in agent.actions:
        label = f'"{_escape(action.name)}{notes.get(action.name, "")}"'
        yield f"    {_node('action', action.name)}" + (f"[[{label}]]" if action.name in goals else f"[{label}]")
    for thing, node in things.items():
        label = f'"{_escape(thing)}"'
        yield f"    {node}" + (f"{{{{{label}}}}}" if node.startswith("condition") else f"([{label}])")
    for action in agent.actions:
        for need in action.needs:
            arrow = "-.->" if need.endswith("?") else "-->"
            yield f"    {things[need.rstrip('?')]} {arrow} {_node('action', action.name)}"
        for thing in action.gives:
            yield f"    {_node('action', action.name)} --> {things[thing]}"


def _draw_children(children: Mapping[str, tuple[str, ChildRun]]) -> Iterator[str]:
    for node, (action, child) in children.items():
        yield f'    {node}[/"{_escape(child.agent)}<br/>{child.status}"/]'
        yield f"    {_node('action', action)} -.- {node}"


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
    found = ((run.action, child) for run in state.history for child in run.children)
    return {f"child_{number}": one for number, one in enumerate(found, start=1)}


def _write_notes(state: ProcessState, steps: Iterable[str]) -> dict[str, str]:
    """Return when each action ran, and when it is to run, by the names of the actions."""
    notes: dict[str, str] = {}
    for number, run in enumerate(state.history, start=1):
        before = notes.get(run.action)
        notes[run.action] = f"<br/>ran {number}" if before is None else f"{before}, {number}"
    for number, name in enumerate(steps, start=len(state.history) + 1):
        notes[name] = f"{notes.get(name, '')}<br/>planned {number}"
    return notes


def _style_actions(agent: PlannedAgentSpec, state: ProcessState, steps: Sequence[str]) -> dict[str, str]:
    """Return the styles of actions, by their nodes: how the last run ended, or what comes next."""
    styles = {run.action: "done" if run.error is None else "failed" for run in state.history}
    styles.update(dict.fromkeys(steps[1:], "planned"))
    waiting = (name for request in state.pending for name in request.path)
    styles.update(dict.fromkeys((*steps[:1], *waiting), "next"))
    return {_node("action", action.name): styles[action.name] for action in agent.actions if action.name in styles}


def _style_things(agent: PlannedAgentSpec, board: Blackboard) -> dict[str, str]:
    """Return the styles of the types and conditions that there are, by their nodes."""
    kinds = {kind for value in board.objects for kind in type(value).__mro__}
    there = {name for kind in kinds for name in (kind.__name__, f"{kind.__module__}.{kind.__qualname__}")}
    there.update(name for name, holds in board.conditions.items() if holds)
    return {node: "done" for name, node in _find_things(agent).items() if name.split(": ")[-1] in there}


def _style_children(children: Mapping[str, tuple[str, ChildRun]]) -> dict[str, str]:
    ended = {ProcessStatus.COMPLETED: "done"}
    return {node: ended.get(child.status, "failed") for node, (_, child) in children.items()}


def _node(kind: str, name: str) -> str:
    return f"{kind}_{re.sub(r'[^A-Za-z0-9]', '_', name)}"


def _escape(name: str) -> str:
    """Escape a name for Mermaid."""
    return name.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
