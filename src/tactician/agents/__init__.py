"""Agents, constellations of them, and the decorators of planned agents."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.agents.agent import Agent as Agent
    from tactician.agents.agentic_tool import AgenticTool as AgenticTool
    from tactician.agents.agentic_tool import PromptCreator as PromptCreator
    from tactician.agents.base import BLUEPRINTS as BLUEPRINTS
    from tactician.agents.base import BaseRunnable as BaseRunnable
    from tactician.agents.base import TypedRunnable as TypedRunnable
    from tactician.agents.base import find_start as find_start
    from tactician.agents.blueprint_port import BlueprintLike as BlueprintLike
    from tactician.agents.composition import Member as Member
    from tactician.agents.composition import list_inner as list_inner
    from tactician.agents.constellations import AgentNetwork as AgentNetwork
    from tactician.agents.constellations import Broadcast as Broadcast
    from tactician.agents.constellations import Department as Department
    from tactician.agents.constellations import FirstOf as FirstOf
    from tactician.agents.constellations import HierarchicalAgents as HierarchicalAgents
    from tactician.agents.constellations import ParallelAgents as ParallelAgents
    from tactician.agents.constellations import RouteChosen as RouteChosen
    from tactician.agents.constellations import RouterAgent as RouterAgent
    from tactician.agents.constellations import SupervisorAgent as SupervisorAgent
    from tactician.agents.constellations import Synthesis as Synthesis
    from tactician.agents.conversations import run_in_conversation as run_in_conversation
    from tactician.agents.definition import DEFINITIONS as DEFINITIONS
    from tactician.agents.definition import AgentDefinition as AgentDefinition
    from tactician.agents.definition import HandoffDefinition as HandoffDefinition
    from tactician.agents.function import FunctionRunnable as FunctionRunnable
    from tactician.agents.function import runnable as runnable
    from tactician.agents.planned import ComponentAgent as ComponentAgent
    from tactician.agents.planned import Planned as Planned
    from tactician.agents.planned import PlannedAgent as PlannedAgent
    from tactician.agents.planned import Planner as Planner
    from tactician.agents.planned import achieves_goal as achieves_goal
    from tactician.agents.planned import action as action
    from tactician.agents.planned import as_runnable as as_runnable
    from tactician.agents.planned import build_component_agent as build_component_agent
    from tactician.agents.planned import build_process_spec as build_process_spec
    from tactician.agents.planned import by_name as by_name
    from tactician.agents.planned import combine_specs as combine_specs
    from tactician.agents.planned import component as component
    from tactician.agents.planned import condition as condition
    from tactician.agents.planned import cost as cost
    from tactician.agents.planned import find_planned_specs as find_planned_specs
    from tactician.agents.planned import find_process_spec as find_process_spec
    from tactician.agents.planned import is_component as is_component
    from tactician.agents.planned import is_component_class as is_component_class
    from tactician.agents.planned import is_planned as is_planned
    from tactician.agents.planned import is_planned_class as is_planned_class
    from tactician.agents.planned import list_input_objects as list_input_objects
    from tactician.agents.planned import planned_agent as planned_agent
    from tactician.agents.planned import planned_spec as planned_spec
    from tactician.agents.planned import raise_unless_completed as raise_unless_completed
    from tactician.agents.planned import resolve as resolve
    from tactician.agents.planned import state as state
    from tactician.agents.remote import RemoteChannel as RemoteChannel
    from tactician.agents.remote import RemoteMessage as RemoteMessage
    from tactician.agents.remote import RemoteOutput as RemoteOutput
    from tactician.agents.remote import RemoteTask as RemoteTask
    from tactician.agents.remote import RemoteWait as RemoteWait
    from tactician.agents.spec import AgentSettings as AgentSettings
    from tactician.agents.spec import AgentSpec as AgentSpec
    from tactician.agents.supervision import DEFAULT_SUPERVISOR_ROUNDS as DEFAULT_SUPERVISOR_ROUNDS
    from tactician.agents.supervision import LEADER as LEADER
    from tactician.agents.supervision import supervise as supervise
    from tactician.agents.temperature import ModelWithTemperature as ModelWithTemperature
    from tactician.agents.window_definition import WindowDefinition as WindowDefinition
    from tactician.tools import RunnableTool as RunnableTool
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.agents.agent": "Agent",
            "tactician.agents.agentic_tool": "AgenticTool PromptCreator",
            "tactician.agents.base": "BLUEPRINTS BaseRunnable TypedRunnable find_start",
            "tactician.agents.remote": "RemoteChannel RemoteMessage RemoteOutput RemoteTask RemoteWait",
            "tactician.agents.blueprint_port": "BlueprintLike",
            "tactician.agents.composition": "Member list_inner",
            "tactician.agents.constellations": (
                "AgentNetwork Broadcast Department FirstOf HierarchicalAgents ParallelAgents RouteChosen "
                "RouterAgent SupervisorAgent Synthesis"
            ),
            "tactician.agents.conversations": "run_in_conversation",
            "tactician.agents.definition": "DEFINITIONS AgentDefinition HandoffDefinition",
            "tactician.agents.function": "FunctionRunnable runnable",
            "tactician.agents.planned": (
                "ComponentAgent Planned PlannedAgent Planner achieves_goal action as_runnable build_component_agent "
                "build_process_spec "
                "by_name combine_specs component condition cost find_planned_specs find_process_spec is_component "
                "is_component_class is_planned is_planned_class list_input_objects planned_agent planned_spec "
                "raise_unless_completed resolve state"
            ),
            "tactician.agents.spec": "AgentSettings AgentSpec",
            "tactician.agents.supervision": "DEFAULT_SUPERVISOR_ROUNDS LEADER supervise",
            "tactician.agents.temperature": "ModelWithTemperature",
            "tactician.agents.window_definition": "WindowDefinition",
            "tactician.tools": "RunnableTool",
        },
    )
