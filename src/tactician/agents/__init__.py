"""Agents, constellations of them, and the decorators of planned agents."""

from tactician.agents.agent import Agent
from tactician.agents.base import BLUEPRINTS, BaseRunnable, BlueprintLike, Returns
from tactician.agents.components import combined_spec, component, component_agent, is_component
from tactician.agents.constellations import (
    AgentNetwork,
    Department,
    HierarchicalAgents,
    ParallelAgents,
    RouterAgent,
    SupervisorAgent,
)
from tactician.agents.context_definition import ContextDefinition
from tactician.agents.declarations import achieves_goal, action, by_name, condition, cost, resolve, state
from tactician.agents.definition import DEFINITIONS, AgentDefinition, HandoffDefinition
from tactician.agents.function import FunctionRunnable, runnable
from tactician.agents.planned import PlannedAgent, is_planned, planned_agent, raise_unless_completed
from tactician.agents.planners import Planner
from tactician.agents.spec import AgentSettings, AgentSpec
from tactician.tools import RunnableTool

__all__ = [
    "Agent",
    "AgentSpec",
    "AgentSettings",
    "AgentDefinition",
    "HandoffDefinition",
    "ContextDefinition",
    "RouterAgent",
    "SupervisorAgent",
    "ParallelAgents",
    "AgentNetwork",
    "HierarchicalAgents",
    "Department",
    "planned_agent",
    "PlannedAgent",
    "action",
    "achieves_goal",
    "condition",
    "cost",
    "state",
    "component",
    "combined_spec",
    "is_component",
    "component_agent",
    "Planner",
    "by_name",
    "resolve",
    "runnable",
    "BaseRunnable",
    "FunctionRunnable",
    "RunnableTool",
    "Returns",
    "BlueprintLike",
    "BLUEPRINTS",
    "DEFINITIONS",
    "is_planned",
    "raise_unless_completed",
]
