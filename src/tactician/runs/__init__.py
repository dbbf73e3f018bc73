"""Parts that all runs share: the contract, the context, the result, the budget, and the durable run."""

from tactician.runs.answers import StoredAnswer, check_response, restore_response, save_response
from tactician.runs.budget import Budget, BudgetMeter, Spent, restore_budget, save_budget
from tactician.runs.checkpoint import Changes, Checkpoint, Data, Live, Operation, Progress, SavedCheckpoint, revive
from tactician.runs.context import RunContext
from tactician.runs.creation import create_durable_run, create_record, enqueue_run
from tactician.runs.differences import find_difference
from tactician.runs.durable import DEFAULT_LEASE, DurableRun, kill_run
from tactician.runs.errors import (
    BudgetError,
    HandoffError,
    NoConsensusError,
    OutputError,
    RepeatLimitError,
    RoutingError,
    RunError,
    RunKilledError,
    StreamTimeoutError,
    TurnLimitError,
)
from tactician.runs.events import (
    PROCESS_KIND,
    ModelCalled,
    ModelReturned,
    RequestAnswered,
    RetrievalEnded,
    RetrievalStarted,
    RunCompleted,
    RunEnded,
    RunStarted,
    RunSuspended,
)
from tactician.runs.execution import (
    continue_run,
    end_overdue,
    keep_responses,
    pending_of,
    resume_run,
    start_run,
)
from tactician.runs.forking import Fork, ForkOptions, prepare_fork
from tactician.runs.formatting import find_formatter, format_data, with_formatter
from tactician.runs.inputs import READS_MESSAGES, InputTypes, restore_input
from tactician.runs.output import format_output, read_output
from tactician.runs.pace import Pace, RequestPace
from tactician.runs.parameters import RunParameter, find_run_parameter
from tactician.runs.reporting import report_model_call, report_retrieval
from tactician.runs.respondents import NOBODY, Respondent, check_role, find_author, record_authors
from tactician.runs.restoration import restore_context
from tactician.runs.result import RunResult
from tactician.runs.runnable import Input, Runnable, is_conversation, messages_of, stream_events
from tactician.runs.services import Services
from tactician.runs.spending import keep_spent, restore_spent, save_inside
from tactician.runs.status import TERMINAL, RunStatus
from tactician.runs.steps import RunStart, RunState, RunStep, Snapshot, fold, read_snapshot, read_step
from tactician.runs.store import RunHeader, RunRecord, RunStore, default_store
from tactician.runs.stored_values import decode_value, encode_value
from tactician.runs.suspension import (
    Approval,
    PendingKind,
    PendingRequest,
    ReportedError,
    Response,
    Suspended,
    approve,
    find_suspension,
    list_prompts,
    reject,
)
from tactician.runs.telemetry import TELEMETRY, load_capture_mode, start_telemetry
from tactician.runs.threads import in_thread, run_blocking
from tactician.runs.trace_context import find_trace_parent, set_trace_source

__all__ = [
    "Runnable",
    "Input",
    "InputTypes",
    "READS_MESSAGES",
    "RunContext",
    "RunParameter",
    "find_run_parameter",
    "Services",
    "RunResult",
    "RunStatus",
    "TERMINAL",
    "Budget",
    "BudgetMeter",
    "save_budget",
    "restore_budget",
    "keep_spent",
    "restore_spent",
    "save_inside",
    "Pace",
    "RequestPace",
    "Approval",
    "approve",
    "reject",
    "PendingRequest",
    "PendingKind",
    "Response",
    "Respondent",
    "NOBODY",
    "check_role",
    "find_author",
    "record_authors",
    "ReportedError",
    "Suspended",
    "find_suspension",
    "find_formatter",
    "format_data",
    "with_formatter",
    "list_prompts",
    "RunStore",
    "RunRecord",
    "RunHeader",
    "RunState",
    "RunStep",
    "fold",
    "read_snapshot",
    "read_step",
    "Snapshot",
    "Spent",
    "RunStart",
    "default_store",
    "Checkpoint",
    "Progress",
    "encode_value",
    "decode_value",
    "find_difference",
    "Changes",
    "Data",
    "Live",
    "Operation",
    "SavedCheckpoint",
    "revive",
    "DurableRun",
    "DEFAULT_LEASE",
    "kill_run",
    "start_run",
    "resume_run",
    "continue_run",
    "end_overdue",
    "keep_responses",
    "StoredAnswer",
    "check_response",
    "save_response",
    "restore_response",
    "create_durable_run",
    "create_record",
    "enqueue_run",
    "restore_context",
    "restore_input",
    "read_output",
    "format_output",
    "pending_of",
    "prepare_fork",
    "Fork",
    "ForkOptions",
    "is_conversation",
    "messages_of",
    "run_blocking",
    "stream_events",
    "in_thread",
    "PROCESS_KIND",
    "RunStarted",
    "RunEnded",
    "RunSuspended",
    "RequestAnswered",
    "RunCompleted",
    "ModelCalled",
    "ModelReturned",
    "RetrievalStarted",
    "RetrievalEnded",
    "report_model_call",
    "report_retrieval",
    "TELEMETRY",
    "start_telemetry",
    "load_capture_mode",
    "find_trace_parent",
    "set_trace_source",
    "RunError",
    "RunKilledError",
    "TurnLimitError",
    "OutputError",
    "BudgetError",
    "HandoffError",
    "RoutingError",
    "NoConsensusError",
    "RepeatLimitError",
    "StreamTimeoutError",
]
