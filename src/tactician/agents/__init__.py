"""Agents, constellations of them, and the decorators of planned agents."""

from tactician.agents.agent import Agent
from tactician.agents.base import BaseRunnable, RunnableTool
from tactician.agents.boundary import Returns
from tactician.agents.constellations import (
    AgentNetwork,
    Department,
    HierarchicalAgents,
    ParallelAgents,
    RouterAgent,
    SupervisorAgent,
)
from tactician.agents.declarations import achieves_goal, action, by_name, condition
from tactician.agents.definition import AgentDefinition, ContextDefinition, HandoffDefinition
from tactician.agents.function import FunctionRunnable, runnable
from tactician.agents.planned import PlannedAgent, is_planned, planned_agent, raise_unless_completed

__all__ = [
    "Agent",
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
    "by_name",
    "runnable",
    "BaseRunnable",
    "FunctionRunnable",
    "RunnableTool",
    "Returns",
    "is_planned",
    "raise_unless_completed",
]
