"""Planned agents: classes with declared methods, compiled into what a process runs."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.agents.planned.components import ComponentAgent as ComponentAgent
    from tactician.agents.planned.components import build_component_agent as build_component_agent
    from tactician.agents.planned.components import combine_specs as combine_specs
    from tactician.agents.planned.components import component as component
    from tactician.agents.planned.components import is_component as is_component
    from tactician.agents.planned.components import is_component_class as is_component_class
    from tactician.agents.planned.declarations import Planner as Planner
    from tactician.agents.planned.declarations import by_name as by_name
    from tactician.agents.planned.declarations import resolve as resolve
    from tactician.agents.planned.decorators import achieves_goal as achieves_goal
    from tactician.agents.planned.decorators import action as action
    from tactician.agents.planned.decorators import condition as condition
    from tactician.agents.planned.decorators import cost as cost
    from tactician.agents.planned.decorators import state as state
    from tactician.agents.planned.planned import Planned as Planned
    from tactician.agents.planned.planned import planned_agent as planned_agent
    from tactician.agents.planned.planned_agent import PlannedAgent as PlannedAgent
    from tactician.agents.planned.planned_agent import is_planned as is_planned
    from tactician.agents.planned.planned_agent import is_planned_class as is_planned_class
    from tactician.agents.planned.planned_agent import list_input_objects as list_input_objects
    from tactician.agents.planned.planned_agent import raise_unless_completed as raise_unless_completed
    from tactician.agents.planned.specs import as_runnable as as_runnable
    from tactician.agents.planned.specs import build_process_spec as build_process_spec
    from tactician.agents.planned.specs import find_planned_specs as find_planned_specs
    from tactician.agents.planned.specs import find_process_spec as find_process_spec
    from tactician.agents.planned.specs import planned_spec as planned_spec
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.agents.planned.components": (
                "ComponentAgent build_component_agent combine_specs component is_component is_component_class"
            ),
            "tactician.agents.planned.declarations": "Planner by_name resolve",
            "tactician.agents.planned.decorators": "achieves_goal action condition cost state",
            "tactician.agents.planned.planned": "Planned planned_agent",
            "tactician.agents.planned.planned_agent": (
                "PlannedAgent is_planned is_planned_class list_input_objects raise_unless_completed"
            ),
            "tactician.agents.planned.specs": (
                "as_runnable build_process_spec find_planned_specs find_process_spec planned_spec"
            ),
        },
    )
    # Modules have the same names, and must not take their places.
    from tactician.agents.planned.planned import planned_agent as planned_agent
