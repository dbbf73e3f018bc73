"""Draws an agent, and where a process of it stands, as a Mermaid flowchart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tactician.process.history import ChildRun
from tactician.process.spec import PlannedAgentSpec
from tactician.process.status import ProcessStatus

if TYPE_CHECKING:
    from tactician.process.process import AgentProcess

_STYLES: Final = {
    "done": "fill:#d3f9d8,stroke:#2b8a3e",
    "next": "fill:#fff3bf,stroke:#e67700,stroke-width:3px",
    "planned": "fill:#fff9db,stroke:#e67700,stroke-dasharray:4",
    "failed": "fill:#ffe3e3,stroke:#c92a2a",
}


def agent_flowchart(spec: PlannedAgentSpec) -> str:
    """The flow of types and conditions through the actions; goals are drawn with a double border."""
    return "\n".join(_flow(spec, {}))


def process_flowchart(process: AgentProcess) -> str:
    """The same, with what has run and in which order, what is there, what failed, and what is planned.

    Processes that ran inside actions are drawn beside these, as slanted boxes.
    """
    steps, children = _planned(process), _children(process)
    lines = [*_flow(process.agent, _notes(process, steps)), *_inside(children)]
    states = {**_action_states(process, steps), **_thing_states(process), **_child_states(children)}
    lines += [f"    class {node} {state}" for node, state in states.items()]
    lines += [f"    classDef {state} {style}" for state, style in _STYLES.items() if state in states.values()]
    return "\n".join(lines)


def _flow(spec: PlannedAgentSpec, notes: Mapping[str, str]) -> Iterator[str]:
    """The lines of the chart; notes are what is written below the names of actions."""
    goals, things = {goal.name for goal in spec.goals}, _things(spec)
    yield "flowchart LR"
    for action in spec.actions:
        label = f'"{_text(action.name)}{notes.get(action.name, "")}"'
        yield f"    {_node('action', action.name)}" + (f"[[{label}]]" if action.name in goals else f"[{label}]")
    for thing, node in things.items():
        label = f'"{_text(thing)}"'
        yield f"    {node}" + (f"{{{{{label}}}}}" if node.startswith("condition") else f"([{label}])")
    for action in spec.actions:
        for need in action.needs:
            arrow = "-.->" if need.endswith("?") else "-->"
            yield f"    {things[need.rstrip('?')]} {arrow} {_node('action', action.name)}"
        for thing in action.gives:
            yield f"    {_node('action', action.name)} --> {things[thing]}"


def _things(spec: PlannedAgentSpec) -> dict[str, str]:
    """The nodes of all types and conditions, by their names."""
    conditions = {*spec.conditions, *(name for action in spec.actions for name in action.sets)}
    names = dict.fromkeys(thing.rstrip("?") for action in spec.actions for thing in (*action.needs, *action.gives))
    return {name: _node("condition" if name in conditions else "type", name) for name in names}


def _planned(process: AgentProcess) -> list[str]:
    """The actions of the plan that are still to run; nothing once the process is stuck or has ended."""
    if process.plan is None:
        return []
    names = [action.name for action in process.plan.actions]
    for run in reversed(process.history):
        if run.action not in names:
            break
        names.remove(run.action)
    return names


def _action_states(process: AgentProcess, steps: Sequence[str]) -> dict[str, str]:
    """The states of actions, by their nodes: what was last, or what comes next."""
    states = {run.action: "done" if run.error is None else "failed" for run in process.history}
    states.update(dict.fromkeys(steps[1:], "planned"))
    waiting = (name for request in process.pending for name in request.path)
    states.update(dict.fromkeys((*steps[:1], *waiting), "next"))
    return {
        _node("action", action.name): states[action.name] for action in process.agent.actions if action.name in states
    }


def _thing_states(process: AgentProcess) -> dict[str, str]:
    """The states of the types and conditions that there are, by their nodes."""
    board = process.blackboard
    kinds = {kind for value in board.objects for kind in type(value).__mro__}
    there = {name for kind in kinds for name in (kind.__name__, f"{kind.__module__}.{kind.__qualname__}")}
    there.update(name for name, holds in board.conditions.items() if holds)
    return {node: "done" for name, node in _things(process.agent).items() if name.split(": ")[-1] in there}


def _children(process: AgentProcess) -> dict[str, tuple[str, ChildRun]]:
    """The processes inside actions, with the names of these, by their nodes."""
    found = ((run.action, child) for run in process.history for child in run.children)
    return {f"child_{number}": one for number, one in enumerate(found, start=1)}


def _inside(children: Mapping[str, tuple[str, ChildRun]]) -> Iterator[str]:
    for node, (action, child) in children.items():
        yield f'    {node}[/"{_text(child.agent)}<br/>{child.status}"/]'
        yield f"    {_node('action', action)} -.- {node}"


def _child_states(children: Mapping[str, tuple[str, ChildRun]]) -> dict[str, str]:
    ended = {ProcessStatus.COMPLETED: "done"}
    return {node: ended.get(child.status, "failed") for node, (_, child) in children.items()}


def _notes(process: AgentProcess, steps: Iterable[str]) -> dict[str, str]:
    """When each action ran, and when it is to run."""
    notes: dict[str, str] = {}
    for number, run in enumerate(process.history, start=1):
        before = notes.get(run.action)
        notes[run.action] = f"<br/>ran {number}" if before is None else f"{before}, {number}"
    for number, name in enumerate(steps, start=len(process.history) + 1):
        notes[name] = f"{notes.get(name, '')}<br/>planned {number}"
    return notes


def _node(kind: str, name: str) -> str:
    return f"{kind}_{re.sub(r'[^A-Za-z0-9]', '_', name)}"


def _text(name: str) -> str:
    """A name as Mermaid shows it as it is."""
    return name.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
