"""Every multi-step run: a blackboard, a plan, and a tick that replans after each action."""

from tactician.process.blackboard import DEFAULT_BINDING, Blackboard, UserInput
from tactician.process.context import OperationContext
from tactician.process.options import DEFAULT_BUDGET, ProcessOptions
from tactician.process.process import ActionRun, AgentProcess
from tactician.process.spec import ActionSpec, AgentSpec, GoalSpec, Observe, Perform
from tactician.process.status import TERMINAL, ProcessStatus

__all__ = [
    "AgentProcess",
    "ProcessStatus",
    "TERMINAL",
    "ProcessOptions",
    "DEFAULT_BUDGET",
    "ActionRun",
    "Blackboard",
    "UserInput",
    "DEFAULT_BINDING",
    "OperationContext",
    "AgentSpec",
    "ActionSpec",
    "GoalSpec",
    "Observe",
    "Perform",
]
