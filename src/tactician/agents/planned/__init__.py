"""Planned agents: classes with declared methods, compiled into what a process runs."""

from tactician.agents.planned.components import build_component_agent, combine_specs, component, is_component
from tactician.agents.planned.declarations import (
    Planner,
    achieves_goal,
    action,
    by_name,
    condition,
    cost,
    resolve,
    state,
)
from tactician.agents.planned.planned import Planned, planned_agent
from tactician.agents.planned.planned_agent import (
    PlannedAgent,
    is_planned,
    is_planned_class,
    list_input_objects,
    raise_unless_completed,
)
from tactician.agents.planned.specs import as_runnable, find_planned_specs, find_process_spec, planned_spec

__all__ = [
    "planned_agent",
    "Planned",
    "PlannedAgent",
    "is_planned",
    "is_planned_class",
    "as_runnable",
    "planned_spec",
    "find_planned_specs",
    "find_process_spec",
    "raise_unless_completed",
    "list_input_objects",
    "action",
    "achieves_goal",
    "condition",
    "cost",
    "state",
    "by_name",
    "resolve",
    "Planner",
    "component",
    "combine_specs",
    "is_component",
    "build_component_agent",
]
