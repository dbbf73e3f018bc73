"""Agents, constellations of them, and the decorators of planned agents."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.agents.agent import Agent as Agent
    from tactician.agents.agentic_tool import AgenticTool as AgenticTool
    from tactician.agents.base import BaseRunnable as BaseRunnable
    from tactician.agents.constellations.events import RouteChosen as RouteChosen
    from tactician.agents.constellations.hierarchy import Department as Department
    from tactician.agents.constellations.hierarchy import HierarchicalAgents as HierarchicalAgents
    from tactician.agents.constellations.network import AgentNetwork as AgentNetwork
    from tactician.agents.constellations.parallel import ParallelAgents as ParallelAgents
    from tactician.agents.constellations.router import RouterAgent as RouterAgent
    from tactician.agents.constellations.supervisor import SupervisorAgent as SupervisorAgent
    from tactician.agents.definition import AgentDefinition as AgentDefinition
    from tactician.agents.function import runnable as runnable
    from tactician.agents.planned.components import combine_specs as combine_specs
    from tactician.agents.planned.components import component as component
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
    from tactician.tools import RunnableTool as RunnableTool
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.agents.agent": "Agent",
            "tactician.agents.agentic_tool": "AgenticTool",
            "tactician.agents.base": "BaseRunnable",
            "tactician.agents.constellations.events": "RouteChosen",
            "tactician.agents.constellations.hierarchy": "Department HierarchicalAgents",
            "tactician.agents.constellations.network": "AgentNetwork",
            "tactician.agents.constellations.parallel": "ParallelAgents",
            "tactician.agents.constellations.router": "RouterAgent",
            "tactician.agents.constellations.supervisor": "SupervisorAgent",
            "tactician.agents.definition": "AgentDefinition",
            "tactician.agents.function": "runnable",
            "tactician.agents.planned.components": "combine_specs component",
            "tactician.agents.planned.declarations": "Planner by_name resolve",
            "tactician.agents.planned.decorators": "achieves_goal action condition cost state",
            "tactician.agents.planned.planned": "Planned planned_agent",
            "tactician.agents.planned.planned_agent": "PlannedAgent",
            "tactician.tools": "RunnableTool",
        },
    )
