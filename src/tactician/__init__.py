"""Tactician: agents that plan.

The names that most programs need are here; they are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tactician.late_binding import declare_modules

if TYPE_CHECKING:
    from tactician import log
    from tactician.agents import (
        Agent,
        AgentDefinition,
        AgenticTool,
        AgentNetwork,
        Department,
        HierarchicalAgents,
        ParallelAgents,
        Planned,
        PlannedAgent,
        Planner,
        RouterAgent,
        SupervisorAgent,
        achieves_goal,
        action,
        by_name,
        component,
        condition,
        cost,
        planned_agent,
        resolve,
        runnable,
        state,
    )
    from tactician.agents.flows import (
        Feedback,
        consensus,
        repeat_until,
        repeat_until_acceptable,
        scatter_gather,
        simple_agent,
    )
    from tactician.ai import Ai
    from tactician.blueprint import Blueprint
    from tactician.context_format import ContextFormat, ContextFormatter
    from tactician.ensemble import (
        END,
        Delegation,
        Edge,
        Ensemble,
        Graph,
        HierarchicalConstraints,
        InProcessMemory,
        Loop,
        MapReduce,
        MemoryReflections,
        Phase,
        PhaseDecision,
        PhaseReview,
        Reflection,
        Review,
        ReviewDecision,
        ReviewPolicy,
        Scope,
        SqlMemory,
        SqlReflections,
        Task,
        Window,
        Workflow,
        days,
    )
    from tactician.llm import AssistantMessage, Image, LlmOptions, ModelRouter, UserMessage
    from tactician.loop import Autonomous, Handoff, handoff
    from tactician.platform import Autonomy, Platform, SupervisorInvocation
    from tactician.process import (
        Blackboard,
        Export,
        OperationContext,
        ProcessOptions,
        ProcessStatus,
        SomeOf,
        UserInput,
        Verbosity,
        ask_human,
        confirm,
    )
    from tactician.runs import Budget, RunContext, Runnable, RunResult, RunStatus, approve, reject
    from tactician.service import AgentService
    from tactician.tools import Tool, ToolGroup, tool

__version__ = "0.1.0"

_HOMES = {
    "tactician.agents": (
        "Agent",
        "AgenticTool",
        "AgentDefinition",
        "RouterAgent",
        "SupervisorAgent",
        "ParallelAgents",
        "AgentNetwork",
        "HierarchicalAgents",
        "Department",
        "Planned",
        "PlannedAgent",
        "planned_agent",
        "action",
        "achieves_goal",
        "condition",
        "cost",
        "state",
        "component",
        "Planner",
        "by_name",
        "resolve",
        "runnable",
    ),
    "tactician.agents.flows": (
        "Feedback",
        "simple_agent",
        "scatter_gather",
        "consensus",
        "repeat_until",
        "repeat_until_acceptable",
    ),
    "tactician.ai": ("Ai",),
    "tactician.blueprint": ("Blueprint",),
    "tactician.context_format": ("ContextFormat", "ContextFormatter"),
    "tactician.ensemble": (
        "Delegation",
        "END",
        "Edge",
        "Ensemble",
        "Graph",
        "HierarchicalConstraints",
        "InProcessMemory",
        "Loop",
        "MapReduce",
        "MemoryReflections",
        "Reflection",
        "Scope",
        "SqlMemory",
        "SqlReflections",
        "Phase",
        "PhaseDecision",
        "PhaseReview",
        "Review",
        "ReviewDecision",
        "ReviewPolicy",
        "Task",
        "Window",
        "Workflow",
        "days",
    ),
    "tactician.llm": ("LlmOptions", "Image", "UserMessage", "AssistantMessage", "ModelRouter"),
    "tactician.loop": ("Autonomous", "Handoff", "handoff"),
    "tactician.platform": ("Autonomy", "Platform", "SupervisorInvocation"),
    "tactician.process": (
        "Blackboard",
        "Export",
        "OperationContext",
        "ProcessOptions",
        "ProcessStatus",
        "SomeOf",
        "UserInput",
        "Verbosity",
        "ask_human",
        "confirm",
    ),
    "tactician.runs": ("Budget", "RunContext", "Runnable", "RunResult", "RunStatus", "approve", "reject"),
    "tactician.service": ("AgentService",),
    "tactician.tools": ("Tool", "ToolGroup", "tool"),
}
_MODULES = ("log",)
declare_modules(
    {
        "blueprints": "tactician.blueprint",
        "definitions": "tactician.blueprint",
        "telemetry": "tactician.integrations.otel",
        "mcp servers": "tactician.mcp",
    }
)
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Planned",
    "Ai",
    "LlmOptions",
    "ModelRouter",
    "Image",
    "UserMessage",
    "AssistantMessage",
    "Agent",
    "AgenticTool",
    "handoff",
    "Handoff",
    "Autonomous",
    "RouterAgent",
    "SupervisorAgent",
    "ParallelAgents",
    "AgentNetwork",
    "HierarchicalAgents",
    "Department",
    "Task",
    "END",
    "Edge",
    "Graph",
    "Loop",
    "MapReduce",
    "Window",
    "Ensemble",
    "Review",
    "ReviewDecision",
    "ReviewPolicy",
    "Workflow",
    "ContextFormat",
    "ContextFormatter",
    "HierarchicalConstraints",
    "Reflection",
    "MemoryReflections",
    "SqlReflections",
    "Scope",
    "InProcessMemory",
    "SqlMemory",
    "days",
    "Delegation",
    "Phase",
    "PhaseReview",
    "PhaseDecision",
    "tool",
    "Tool",
    "ToolGroup",
    "runnable",
    "Runnable",
    "RunResult",
    "RunStatus",
    "RunContext",
    "approve",
    "reject",
    "planned_agent",
    "PlannedAgent",
    "action",
    "achieves_goal",
    "condition",
    "cost",
    "state",
    "component",
    "Planner",
    "by_name",
    "resolve",
    "Export",
    "SomeOf",
    "UserInput",
    "ask_human",
    "confirm",
    "OperationContext",
    "Blackboard",
    "Platform",
    "Autonomy",
    "SupervisorInvocation",
    "simple_agent",
    "scatter_gather",
    "consensus",
    "repeat_until",
    "repeat_until_acceptable",
    "Feedback",
    "AgentService",
    "AgentDefinition",
    "Blueprint",
    "ProcessOptions",
    "Verbosity",
    "ProcessStatus",
    "Budget",
    "log",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"tactician.{name}")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'tactician' has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF, *_MODULES})
