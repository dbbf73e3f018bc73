"""Every multi-step run: a blackboard, a plan, and a tick that replans after each action."""

from tactician.process.blackboard import DEFAULT_BINDING, Blackboard, UserInput
from tactician.process.context import OperationContext
from tactician.process.history import ActionRun
from tactician.process.options import DEFAULT_BUDGET, ProcessOptions
from tactician.process.people import ask_human, confirm
from tactician.process.process import AgentProcess, Keeper
from tactician.process.retrying import RetryPolicy
from tactician.process.spec import ActionSpec, AgentSpec, GoalSpec, Observe, Perform
from tactician.process.status import TERMINAL, ProcessStatus

__all__ = [
    "AgentProcess",
    "ProcessStatus",
    "TERMINAL",
    "ProcessOptions",
    "DEFAULT_BUDGET",
    "ActionRun",
    "RetryPolicy",
    "Keeper",
    "ask_human",
    "confirm",
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
