"""Planned agents: classes with declared methods, compiled into what a process runs."""

from tactician.agents.planned.components import combined_spec, component, component_agent, is_component
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
from tactician.agents.planned.planned_agent import (
    PlannedAgent,
    is_planned,
    is_planned_class,
    objects_of,
    planned_agent,
    raise_unless_completed,
)
from tactician.agents.planned.specs import as_runnable, planned_spec, planned_specs, process_spec

__all__ = [
    "planned_agent",
    "PlannedAgent",
    "is_planned",
    "is_planned_class",
    "as_runnable",
    "planned_spec",
    "planned_specs",
    "process_spec",
    "raise_unless_completed",
    "objects_of",
    "action",
    "achieves_goal",
    "condition",
    "cost",
    "state",
    "by_name",
    "resolve",
    "Planner",
    "component",
    "combined_spec",
    "is_component",
    "component_agent",
]
