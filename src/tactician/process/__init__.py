"""Every multi-step run: a blackboard, a plan, and a tick that replans after each action."""

from tactician.process.blackboard import DEFAULT_BINDING, Blackboard, Rejection, UserInput
from tactician.process.context import OperationContext, ai_in, operation_in
from tactician.process.diagram import agent_flowchart
from tactician.process.driving import Persister
from tactician.process.errors import (
    ProcessError,
    ProcessFailedError,
    ProcessOutcome,
    ProcessStuckError,
    ProcessWaitingError,
)
from tactician.process.events import ActionCompleted, ActionStarted, MessageSent, PlanMade, ProcessEnded, ProcessStarted
from tactician.process.history import ActionRun, ChildRun
from tactician.process.inputs import Bound, Named, with_named
from tactician.process.names import type_name
from tactician.process.needs import need_tool_groups
from tactician.process.nesting import TOWARDS
from tactician.process.options import DEFAULT_BUDGET, ProcessOptions, Verbosity, board_to_begin_with
from tactician.process.people import ask_human, asking_for, confirm
from tactician.process.persistence import DEFAULT_LEASE, ProcessPersister, kill_run
from tactician.process.phases import STATE, StateDeclaration, keeps_all, state_of
from tactician.process.pricing import price_in
from tactician.process.process import AgentProcess
from tactician.process.retrying import ActionRetryPolicy
from tactician.process.snapshot import SavedObject, restored_board, saved_objects
from tactician.process.some_of import SomeOf, field_names
from tactician.process.spec import (
    ActionSpec,
    Export,
    GoalSpec,
    Look,
    Observe,
    Perform,
    PlannedAgentSpec,
    Price,
    StuckHandler,
)
from tactician.process.status import TERMINAL, ProcessStatus
from tactician.process.stuck import rejection_behind
from tactician.process.upgrading import formerly, stored_names, upgrades

__all__ = [
    "AgentProcess",
    "ProcessStatus",
    "TERMINAL",
    "ProcessOptions",
    "Verbosity",
    "board_to_begin_with",
    "DEFAULT_BUDGET",
    "ActionRun",
    "ChildRun",
    "ActionRetryPolicy",
    "Persister",
    "ProcessPersister",
    "DEFAULT_LEASE",
    "SavedObject",
    "saved_objects",
    "restored_board",
    "type_name",
    "stored_names",
    "upgrades",
    "formerly",
    "kill_run",
    "ask_human",
    "confirm",
    "Blackboard",
    "UserInput",
    "Rejection",
    "DEFAULT_BINDING",
    "OperationContext",
    "PlannedAgentSpec",
    "ActionSpec",
    "GoalSpec",
    "Look",
    "Observe",
    "Perform",
    "Price",
    "StuckHandler",
    "Export",
    "need_tool_groups",
    "SomeOf",
    "agent_flowchart",
    "STATE",
    "StateDeclaration",
    "state_of",
    "keeps_all",
    "price_in",
    "field_names",
    "Bound",
    "Named",
    "with_named",
    "TOWARDS",
    "rejection_behind",
    "ai_in",
    "operation_in",
    "asking_for",
    "ProcessStarted",
    "PlanMade",
    "ActionStarted",
    "ActionCompleted",
    "MessageSent",
    "ProcessEnded",
    "ProcessOutcome",
    "ProcessError",
    "ProcessFailedError",
    "ProcessWaitingError",
    "ProcessStuckError",
]
