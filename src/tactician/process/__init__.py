"""Every multi-step run: a blackboard, a plan, and a tick that replans after each action."""

from tactician.process.blackboard import DEFAULT_BINDING, Blackboard, UserInput
from tactician.process.context import OperationContext
from tactician.process.diagram import agent_flowchart
from tactician.process.history import ActionRun
from tactician.process.keeping import DEFAULT_LEASE, StoreKeeper, kill_in
from tactician.process.options import DEFAULT_BUDGET, ProcessOptions
from tactician.process.people import ask_human, confirm
from tactician.process.process import AgentProcess, Keeper
from tactician.process.retrying import RetryPolicy
from tactician.process.snapshot import SavedObject, restored_board, saved_objects, type_name
from tactician.process.some_of import SomeOf
from tactician.process.spec import ActionSpec, AgentSpec, Export, GoalSpec, Observe, Perform, Price, StuckHandler
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
    "StoreKeeper",
    "DEFAULT_LEASE",
    "SavedObject",
    "saved_objects",
    "restored_board",
    "type_name",
    "kill_in",
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
    "Price",
    "StuckHandler",
    "Export",
    "SomeOf",
    "agent_flowchart",
]
