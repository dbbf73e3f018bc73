"""Tactician: agents that plan.

The names that most programs need are here; they are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from tactician.late_imports import declare_modules, export_late

if TYPE_CHECKING:
    from tactician import log as log
    from tactician.agents import Agent as Agent
    from tactician.agents import AgentDefinition as AgentDefinition
    from tactician.agents import AgenticTool as AgenticTool
    from tactician.agents import AgentNetwork as AgentNetwork
    from tactician.agents import Department as Department
    from tactician.agents import HierarchicalAgents as HierarchicalAgents
    from tactician.agents import ParallelAgents as ParallelAgents
    from tactician.agents import Planned as Planned
    from tactician.agents import PlannedAgent as PlannedAgent
    from tactician.agents import Planner as Planner
    from tactician.agents import RouterAgent as RouterAgent
    from tactician.agents import SupervisorAgent as SupervisorAgent
    from tactician.agents import achieves_goal as achieves_goal
    from tactician.agents import action as action
    from tactician.agents import by_name as by_name
    from tactician.agents import component as component
    from tactician.agents import condition as condition
    from tactician.agents import cost as cost
    from tactician.agents import planned_agent as planned_agent
    from tactician.agents import resolve as resolve
    from tactician.agents import runnable as runnable
    from tactician.agents import state as state
    from tactician.agents.flows import Feedback as Feedback
    from tactician.agents.flows import consensus as consensus
    from tactician.agents.flows import repeat_until as repeat_until
    from tactician.agents.flows import repeat_until_acceptable as repeat_until_acceptable
    from tactician.agents.flows import scatter_gather as scatter_gather
    from tactician.agents.flows import simple_agent as simple_agent
    from tactician.ai import Ai as Ai
    from tactician.blueprint import Blueprint as Blueprint
    from tactician.chat import Chatbot as Chatbot
    from tactician.context_format import ContextFormat as ContextFormat
    from tactician.context_format import ContextFormatter as ContextFormatter
    from tactician.context_format import ToonFormatter as ToonFormatter
    from tactician.ensemble import END as END
    from tactician.ensemble import Delegation as Delegation
    from tactician.ensemble import Edge as Edge
    from tactician.ensemble import Ensemble as Ensemble
    from tactician.ensemble import Graph as Graph
    from tactician.ensemble import HierarchicalConstraints as HierarchicalConstraints
    from tactician.ensemble import InProcessMemory as InProcessMemory
    from tactician.ensemble import InProcessReflections as InProcessReflections
    from tactician.ensemble import Loop as Loop
    from tactician.ensemble import MapReduce as MapReduce
    from tactician.ensemble import Phase as Phase
    from tactician.ensemble import PhaseDecision as PhaseDecision
    from tactician.ensemble import PhaseReview as PhaseReview
    from tactician.ensemble import Reflection as Reflection
    from tactician.ensemble import Review as Review
    from tactician.ensemble import ReviewDecision as ReviewDecision
    from tactician.ensemble import ReviewPolicy as ReviewPolicy
    from tactician.ensemble import Scope as Scope
    from tactician.ensemble import SqlMemory as SqlMemory
    from tactician.ensemble import SqlReflections as SqlReflections
    from tactician.ensemble import Task as Task
    from tactician.ensemble import Window as Window
    from tactician.ensemble import Workflow as Workflow
    from tactician.ensemble import days as days
    from tactician.errors import ToolError as ToolError
    from tactician.guardrails import GuardrailResult as GuardrailResult
    from tactician.llm import AssistantMessage as AssistantMessage
    from tactician.llm import Image as Image
    from tactician.llm import LlmOptions as LlmOptions
    from tactician.llm import ModelRouter as ModelRouter
    from tactician.llm import UserMessage as UserMessage
    from tactician.loop import Autonomous as Autonomous
    from tactician.loop import Handoff as Handoff
    from tactician.loop import handoff as handoff
    from tactician.platform import Autonomy as Autonomy
    from tactician.platform import Platform as Platform
    from tactician.platform import SupervisorInvocation as SupervisorInvocation
    from tactician.process import Blackboard as Blackboard
    from tactician.process import Export as Export
    from tactician.process import OperationContext as OperationContext
    from tactician.process import ProcessOptions as ProcessOptions
    from tactician.process import ProcessStatus as ProcessStatus
    from tactician.process import SomeOf as SomeOf
    from tactician.process import UserInput as UserInput
    from tactician.process import Verbosity as Verbosity
    from tactician.process import ask_human as ask_human
    from tactician.process import confirm as confirm
    from tactician.runs import Budget as Budget
    from tactician.runs import RunContext as RunContext
    from tactician.runs import Runnable as Runnable
    from tactician.runs import RunResult as RunResult
    from tactician.runs import RunStatus as RunStatus
    from tactician.runs import approve as approve
    from tactician.runs import reject as reject
    from tactician.service import AgentService as AgentService
    from tactician.stores import MemoryStore as MemoryStore
    from tactician.stores import SqliteStore as SqliteStore
    from tactician.tools import Tool as Tool
    from tactician.tools import ToolGroup as ToolGroup
    from tactician.tools import tool as tool
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician": "log",
            "tactician.agents": (
                "Agent AgentDefinition AgenticTool AgentNetwork Department HierarchicalAgents ParallelAgents "
                "Planned PlannedAgent Planner RouterAgent SupervisorAgent achieves_goal action by_name component "
                "condition cost planned_agent resolve runnable state"
            ),
            "tactician.agents.flows": (
                "Feedback consensus repeat_until repeat_until_acceptable scatter_gather simple_agent"
            ),
            "tactician.ai": "Ai",
            "tactician.blueprint": "Blueprint",
            "tactician.chat": "Chatbot",
            "tactician.context_format": "ContextFormat ContextFormatter ToonFormatter",
            "tactician.ensemble": (
                "END Delegation Edge Ensemble Graph HierarchicalConstraints InProcessMemory Loop MapReduce "
                "InProcessReflections Phase PhaseDecision PhaseReview Reflection Review ReviewDecision ReviewPolicy "
                "Scope SqlMemory SqlReflections Task Window Workflow days"
            ),
            "tactician.errors": "ToolError",
            "tactician.guardrails": "GuardrailResult",
            "tactician.llm": "AssistantMessage Image LlmOptions ModelRouter UserMessage",
            "tactician.loop": "Autonomous Handoff handoff",
            "tactician.platform": "Autonomy Platform SupervisorInvocation",
            "tactician.process": (
                "Blackboard Export OperationContext ProcessOptions ProcessStatus SomeOf UserInput Verbosity "
                "ask_human confirm"
            ),
            "tactician.runs": "Budget RunContext Runnable RunResult RunStatus approve reject",
            "tactician.service": "AgentService",
            "tactician.stores": "MemoryStore SqliteStore",
            "tactician.tools": "Tool ToolGroup tool",
        },
    )

__version__ = "0.1.0"

declare_modules(
    {
        "blueprints": "tactician.blueprint",
        "definitions": "tactician.blueprint",
        "events": (
            "tactician.a2a.events tactician.agents.constellations.events tactician.conversation.events "
            "tactician.ensemble.delegation.events tactician.ensemble.phases.events tactician.ensemble.reviews.events "
            "tactician.ensemble.tasks.events tactician.guardrails.events tactician.llm.routing.events "
            "tactician.coding.events tactician.loop.events tactician.mcp.events tactician.mesh.events "
            "tactician.process.state.events "
            "tactician.runs.outcomes.events tactician.tools.artifacts"
        ),
        "kinds of blueprints": "tactician.coding.blueprints tactician.mesh.blueprints",
        "telemetry": "tactician.integrations.otel",
        "mcp servers": "tactician.mcp.settings",
        "references to libraries": "tactician.rag.entries",
        "references to servers": "tactician.mcp.entries",
        "references to skills": "tactician.skills.entries",
    }
)
