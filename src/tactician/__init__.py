"""Tactician: agents that plan.

The names that most programs need are here; they are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tactician.agents import (
        Agent,
        PlannedAgent,
        achieves_goal,
        action,
        by_name,
        condition,
        planned_agent,
        runnable,
    )
    from tactician.ai import Ai
    from tactician.llm import AssistantMessage, Image, LlmOptions, ModelRouter, UserMessage
    from tactician.platform import Platform
    from tactician.process import Blackboard, OperationContext, ProcessOptions, ProcessStatus, UserInput
    from tactician.loop import Autonomous, handoff
    from tactician.runs import Budget, RunContext, Runnable, RunResult, RunStatus, approve, reject
    from tactician.tools import Tool, tool

__version__ = "0.1.0"

_HOMES = {
    "tactician.agents": (
        "Agent",
        "PlannedAgent",
        "planned_agent",
        "action",
        "achieves_goal",
        "condition",
        "by_name",
        "runnable",
    ),
    "tactician.ai": ("Ai",),
    "tactician.llm": ("LlmOptions", "Image", "UserMessage", "AssistantMessage", "ModelRouter"),
    "tactician.platform": ("Platform",),
    "tactician.process": ("Blackboard", "OperationContext", "ProcessOptions", "ProcessStatus", "UserInput"),
    "tactician.runs": ("Budget", "RunContext", "Runnable", "RunResult", "RunStatus", "approve", "reject"),
    "tactician.loop": ("Autonomous", "handoff"),
    "tactician.tools": ("Tool", "tool"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Ai",
    "LlmOptions",
    "ModelRouter",
    "Image",
    "UserMessage",
    "AssistantMessage",
    "Agent",
    "tool",
    "Tool",
    "runnable",
    "Runnable",
    "RunResult",
    "RunContext",
    "planned_agent",
    "PlannedAgent",
    "action",
    "achieves_goal",
    "condition",
    "by_name",
    "UserInput",
    "OperationContext",
    "Blackboard",
    "Platform",
    "ProcessOptions",
    "ProcessStatus",
    "Budget",
    "Autonomous",
    "handoff",
    "RunStatus",
    "approve",
    "reject",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'tactician' has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
