"""Agents, constellations of them, and the decorators of planned agents."""

from tactician.agents.agent import Agent
from tactician.agents.base import BLUEPRINTS, BaseRunnable, BlueprintLike, Returns
from tactician.agents.constellations import (
    AgentNetwork,
    Broadcast,
    Department,
    FirstOf,
    HierarchicalAgents,
    ParallelAgents,
    RouterAgent,
    SupervisorAgent,
    Synthesis,
)
from tactician.agents.constellations.events import RouteChosen
from tactician.agents.context_definition import ContextDefinition
from tactician.agents.definition import DEFINITIONS, AgentDefinition, HandoffDefinition
from tactician.agents.function import FunctionRunnable, runnable
from tactician.agents.planned import (
    PlannedAgent,
    Planner,
    achieves_goal,
    action,
    as_runnable,
    by_name,
    combined_spec,
    component,
    component_agent,
    condition,
    cost,
    is_component,
    is_planned,
    is_planned_class,
    planned_agent,
    planned_spec,
    planned_specs,
    process_spec,
    raise_unless_completed,
    resolve,
    state,
)
from tactician.agents.spec import AgentSettings, AgentSpec
from tactician.agents.supervision import DEFAULT_SUPERVISOR_ROUNDS, LEADER, supervise
from tactician.agents.tempering import Tempered
from tactician.tools import RunnableTool

__all__ = [
    "Agent",
    "AgentSpec",
    "AgentSettings",
    "AgentDefinition",
    "HandoffDefinition",
    "ContextDefinition",
    "Tempered",
    "RouterAgent",
    "SupervisorAgent",
    "ParallelAgents",
    "AgentNetwork",
    "HierarchicalAgents",
    "Department",
    "FirstOf",
    "Synthesis",
    "Broadcast",
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
    "is_planned_class",
    "as_runnable",
    "planned_spec",
    "planned_specs",
    "process_spec",
    "raise_unless_completed",
    "supervise",
    "LEADER",
    "DEFAULT_SUPERVISOR_ROUNDS",
    "RouteChosen",
]
