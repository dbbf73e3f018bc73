"""What is common to everything that runs: the contract, its context, its result, its budget, and how it waits."""

from tactician.runs.budget import Budget, BudgetMeter
from tactician.runs.checkpoint import Checkpoint, Progress, SavedCheckpoint
from tactician.runs.context import RunContext, Services
from tactician.runs.differences import find_difference
from tactician.runs.errors import (
    BudgetError,
    HandoffError,
    NoConsensusError,
    OutputError,
    RepeatLimitError,
    RoutingError,
    RunError,
    TurnLimitError,
)
from tactician.runs.events import RunCompleted, RunSuspended
from tactician.runs.execution import pending_of, read_pending, resume_run, start_run
from tactician.runs.pace import Pace
from tactician.runs.result import RunResult, RunStatus
from tactician.runs.runnable import Input, Runnable, is_conversation, messages_of, run_blocking, stream_events
from tactician.runs.store import RunRecord, RunStore, default_store
from tactician.runs.stored_values import decode_value, encode_value
from tactician.runs.suspension import (
    Approval,
    PendingKind,
    PendingRequest,
    Response,
    Suspended,
    approve,
    find_suspension,
    reject,
)
from tactician.runs.threads import in_thread

__all__ = [
    "Runnable",
    "Input",
    "RunContext",
    "Services",
    "RunResult",
    "RunStatus",
    "Budget",
    "BudgetMeter",
    "Pace",
    "Approval",
    "approve",
    "reject",
    "PendingRequest",
    "PendingKind",
    "Response",
    "Suspended",
    "find_suspension",
    "RunStore",
    "RunRecord",
    "default_store",
    "Checkpoint",
    "Progress",
    "SavedCheckpoint",
    "encode_value",
    "decode_value",
    "find_difference",
    "start_run",
    "resume_run",
    "pending_of",
    "read_pending",
    "is_conversation",
    "messages_of",
    "run_blocking",
    "stream_events",
    "in_thread",
    "RunSuspended",
    "RunCompleted",
    "RunError",
    "TurnLimitError",
    "OutputError",
    "BudgetError",
    "HandoffError",
    "RoutingError",
    "NoConsensusError",
    "RepeatLimitError",
]
