"""Every multi-step run: a blackboard, a plan, and a tick that replans after each action."""

from tactician.process.blackboard import (
    DEFAULT_BINDING,
    GAVE_NOTHING,
    STATE,
    Blackboard,
    Bound,
    Entry,
    Named,
    Rejection,
    SomeOf,
    StateDeclaration,
    UserInput,
    get_field_names,
    get_state_declaration,
    preserves_blackboard,
    with_named,
)
from tactician.process.decision import lookup_price
from tactician.process.deliberation import PlanningSettings
from tactician.process.diagram import draw_agent
from tactician.process.errors import ProcessError, ProcessFailedError, ProcessStuckError, ProcessWaitingError
from tactician.process.events import (
    ActionCompleted,
    ActionStarted,
    MessageSent,
    PlanMade,
    ProcessEnded,
    ProcessStarted,
    format_new_messages,
    format_response,
)
from tactician.process.forking import renew_processes
from tactician.process.goals import Export, GoalSpec
from tactician.process.handle import ProcessHandle
from tactician.process.idle import IdleProcess
from tactician.process.operation import TOWARDS, OperationContext
from tactician.process.options import DEFAULT_BUDGET, ActionRetryPolicy, ProcessOptions, Verbosity, create_blackboard
from tactician.process.people import HINTS, allow_questions, ask_human, build_form, build_label, confirm, parse_answer
from tactician.process.process import AgentProcess
from tactician.process.progress import (
    ProcessOrigin,
    SavedState,
    is_process,
    read_board,
    read_history,
    read_origin,
    read_state,
)
from tactician.process.saved_parts import check_options
from tactician.process.spec import (
    ActionSpec,
    Look,
    Negation,
    Observe,
    Perform,
    PlannedAgentSpec,
    Price,
    StuckHandler,
    add_inputs,
    check_tool_groups,
)
from tactician.process.state import ActionRun, ChildRun, ProcessStatus
from tactician.process.stored_objects import decode_object, encode_object
from tactician.process.stored_types import SavedObject, formerly, stored_names, type_name, upgrades
from tactician.process.stuck import find_rejection

__all__ = [
    "AgentProcess",
    "IdleProcess",
    "ProcessHandle",
    "ProcessStatus",
    "ProcessOptions",
    "Verbosity",
    "DEFAULT_BUDGET",
    "ActionRetryPolicy",
    "ActionRun",
    "ChildRun",
    "Blackboard",
    "Entry",
    "create_blackboard",
    "add_inputs",
    "GAVE_NOTHING",
    "DEFAULT_BINDING",
    "UserInput",
    "Rejection",
    "SomeOf",
    "get_field_names",
    "STATE",
    "StateDeclaration",
    "get_state_declaration",
    "preserves_blackboard",
    "Bound",
    "Named",
    "with_named",
    "PlannedAgentSpec",
    "ActionSpec",
    "GoalSpec",
    "Export",
    "Look",
    "Negation",
    "Observe",
    "Perform",
    "Price",
    "lookup_price",
    "StuckHandler",
    "check_tool_groups",
    "OperationContext",
    "TOWARDS",
    "ask_human",
    "confirm",
    "allow_questions",
    "build_form",
    "parse_answer",
    "build_label",
    "HINTS",
    "find_rejection",
    "draw_agent",
    "ProcessOrigin",
    "SavedState",
    "is_process",
    "read_origin",
    "read_state",
    "read_history",
    "read_board",
    "renew_processes",
    "SavedObject",
    "encode_object",
    "decode_object",
    "check_options",
    "type_name",
    "stored_names",
    "upgrades",
    "formerly",
    "format_new_messages",
    "format_response",
    "ProcessStarted",
    "PlanMade",
    "PlanningSettings",
    "ActionStarted",
    "ActionCompleted",
    "MessageSent",
    "ProcessEnded",
    "ProcessError",
    "ProcessFailedError",
    "ProcessWaitingError",
    "ProcessStuckError",
]
