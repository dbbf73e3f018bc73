"""What is common to everything that runs: the contract, its context, its result, its budget, and how it waits."""

from tactician.runs.budget import Budget, BudgetMeter
from tactician.runs.context import RunContext, Services
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
from tactician.runs.events import RunCompleted, RunPaused
from tactician.runs.execution import begin, go_on, pending_of, read_pending
from tactician.runs.frame import Frame, Progress, SavedFrame
from tactician.runs.pace import Pace
from tactician.runs.pausing import (
    Approval,
    Paused,
    PendingKind,
    PendingRequest,
    Response,
    approve,
    pause_in,
    reject,
    settle,
)
from tactician.runs.result import RunResult, RunStatus
from tactician.runs.runnable import Input, Runnable, is_conversation, messages_of, run_blocking, stream_events
from tactician.runs.store import RunRecord, RunStore, default_store
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
    "Paused",
    "pause_in",
    "settle",
    "RunStore",
    "RunRecord",
    "default_store",
    "Frame",
    "Progress",
    "SavedFrame",
    "begin",
    "go_on",
    "pending_of",
    "read_pending",
    "is_conversation",
    "messages_of",
    "run_blocking",
    "stream_events",
    "in_thread",
    "RunPaused",
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
