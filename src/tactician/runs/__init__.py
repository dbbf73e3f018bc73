"""Parts that all runs share: the contract, the context, the result, the budget, and the durable run."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.runs.answers import StoredAnswer as StoredAnswer
    from tactician.runs.answers import check_response as check_response
    from tactician.runs.answers import restore_response as restore_response
    from tactician.runs.answers import save_response as save_response
    from tactician.runs.artifacts import ArtifactChannel as ArtifactChannel
    from tactician.runs.artifacts import HeldArtifacts as HeldArtifacts
    from tactician.runs.artifacts import ProducedArtifact as ProducedArtifact
    from tactician.runs.budget import Budget as Budget
    from tactician.runs.budget import BudgetMeter as BudgetMeter
    from tactician.runs.budget import Spent as Spent
    from tactician.runs.budget import restore_budget as restore_budget
    from tactician.runs.budget import save_budget as save_budget
    from tactician.runs.checkpoint import Changes as Changes
    from tactician.runs.checkpoint import Checkpoint as Checkpoint
    from tactician.runs.checkpoint import Data as Data
    from tactician.runs.checkpoint import Live as Live
    from tactician.runs.checkpoint import Operation as Operation
    from tactician.runs.checkpoint import Progress as Progress
    from tactician.runs.checkpoint import SavedCheckpoint as SavedCheckpoint
    from tactician.runs.checkpoint import revive as revive
    from tactician.runs.claiming import claim_to_answer as claim_to_answer
    from tactician.runs.context import RunContext as RunContext
    from tactician.runs.context import RunPlace as RunPlace
    from tactician.runs.context import find_capture_mode as find_capture_mode
    from tactician.runs.context import find_current_user as find_current_user
    from tactician.runs.context import reset_current as reset_current
    from tactician.runs.context import set_current as set_current
    from tactician.runs.creation import CallerTools as CallerTools
    from tactician.runs.creation import RunKey as RunKey
    from tactician.runs.creation import create_durable_run as create_durable_run
    from tactician.runs.creation import create_record as create_record
    from tactician.runs.creation import enqueue_run as enqueue_run
    from tactician.runs.creation import find_caller_tools as find_caller_tools
    from tactician.runs.differences import find_difference as find_difference
    from tactician.runs.durable import DEFAULT_LEASE as DEFAULT_LEASE
    from tactician.runs.durable import DurableRun as DurableRun
    from tactician.runs.durable import LeaseTime as LeaseTime
    from tactician.runs.durable import kill_run as kill_run
    from tactician.runs.errors import BudgetError as BudgetError
    from tactician.runs.errors import HandoffError as HandoffError
    from tactician.runs.errors import NoConsensusError as NoConsensusError
    from tactician.runs.errors import OutputError as OutputError
    from tactician.runs.errors import RepeatLimitError as RepeatLimitError
    from tactician.runs.errors import RoutingError as RoutingError
    from tactician.runs.errors import RunError as RunError
    from tactician.runs.errors import RunKilledError as RunKilledError
    from tactician.runs.errors import StreamTimeoutError as StreamTimeoutError
    from tactician.runs.errors import TurnLimitError as TurnLimitError
    from tactician.runs.errors import get_end_status as get_end_status
    from tactician.runs.errors import is_final as is_final
    from tactician.runs.errors import is_limit as is_limit
    from tactician.runs.events import PROCESS_KIND as PROCESS_KIND
    from tactician.runs.events import ModelCalled as ModelCalled
    from tactician.runs.events import ModelReturned as ModelReturned
    from tactician.runs.events import RequestAnswered as RequestAnswered
    from tactician.runs.events import RetrievalEnded as RetrievalEnded
    from tactician.runs.events import RetrievalStarted as RetrievalStarted
    from tactician.runs.events import RunCompleted as RunCompleted
    from tactician.runs.events import RunEnded as RunEnded
    from tactician.runs.events import RunStarted as RunStarted
    from tactician.runs.events import RunSuspended as RunSuspended
    from tactician.runs.execution import continue_run as continue_run
    from tactician.runs.execution import end_overdue as end_overdue
    from tactician.runs.execution import keep_responses as keep_responses
    from tactician.runs.execution import load_pending as load_pending
    from tactician.runs.execution import resume_run as resume_run
    from tactician.runs.execution import start_run as start_run
    from tactician.runs.forking import Fork as Fork
    from tactician.runs.forking import ForkOptions as ForkOptions
    from tactician.runs.forking import prepare_fork as prepare_fork
    from tactician.runs.formatting import find_formatter as find_formatter
    from tactician.runs.formatting import format_data as format_data
    from tactician.runs.formatting import with_formatter as with_formatter
    from tactician.runs.inputs import NO_TYPES as NO_TYPES
    from tactician.runs.inputs import READS_MESSAGES as READS_MESSAGES
    from tactician.runs.inputs import InputTypes as InputTypes
    from tactician.runs.inputs import restore_input as restore_input
    from tactician.runs.kept_artifacts import deliver_produced as deliver_produced
    from tactician.runs.output import format_output as format_output
    from tactician.runs.output import read_output as read_output
    from tactician.runs.pace import RequestPace as RequestPace
    from tactician.runs.parameters import RunParameter as RunParameter
    from tactician.runs.parameters import find_run_parameter as find_run_parameter
    from tactician.runs.record import REQUEST_KIND as REQUEST_KIND
    from tactician.runs.record import RunHeader as RunHeader
    from tactician.runs.record import RunRecord as RunRecord
    from tactician.runs.reporting import report_model_call as report_model_call
    from tactician.runs.reporting import report_retrieval as report_retrieval
    from tactician.runs.respondents import NOBODY as NOBODY
    from tactician.runs.respondents import Respondent as Respondent
    from tactician.runs.respondents import check_role as check_role
    from tactician.runs.respondents import create_answered_error as create_answered_error
    from tactician.runs.respondents import find_answered as find_answered
    from tactician.runs.respondents import find_author as find_author
    from tactician.runs.respondents import has_answer as has_answer
    from tactician.runs.respondents import record_authors as record_authors
    from tactician.runs.restoration import restore_context as restore_context
    from tactician.runs.result import RunResult as RunResult
    from tactician.runs.runnable import Input as Input
    from tactician.runs.runnable import Runnable as Runnable
    from tactician.runs.runnable import is_conversation as is_conversation
    from tactician.runs.runnable import messages_of as messages_of
    from tactician.runs.runnable import need_member as need_member
    from tactician.runs.runnable import need_members as need_members
    from tactician.runs.runnable import need_named_members as need_named_members
    from tactician.runs.runnable import stream_events as stream_events
    from tactician.runs.services import Services as Services
    from tactician.runs.spending import keep_spent as keep_spent
    from tactician.runs.spending import restore_spent as restore_spent
    from tactician.runs.spending import save_inside as save_inside
    from tactician.runs.status import TERMINAL as TERMINAL
    from tactician.runs.status import RunStatus as RunStatus
    from tactician.runs.step_events import read_lines as read_lines
    from tactician.runs.steps import RunStart as RunStart
    from tactician.runs.steps import RunState as RunState
    from tactician.runs.steps import RunStep as RunStep
    from tactician.runs.steps import Snapshot as Snapshot
    from tactician.runs.steps import fold as fold
    from tactician.runs.steps import read_snapshot as read_snapshot
    from tactician.runs.steps import read_step as read_step
    from tactician.runs.store import RunStore as RunStore
    from tactician.runs.store import default_store as default_store
    from tactician.runs.stored_values import decode_value as decode_value
    from tactician.runs.stored_values import encode_value as encode_value
    from tactician.runs.suspension import Approval as Approval
    from tactician.runs.suspension import PendingKind as PendingKind
    from tactician.runs.suspension import PendingRequest as PendingRequest
    from tactician.runs.suspension import ReportedError as ReportedError
    from tactician.runs.suspension import Response as Response
    from tactician.runs.suspension import Suspended as Suspended
    from tactician.runs.suspension import approve as approve
    from tactician.runs.suspension import find_suspension as find_suspension
    from tactician.runs.suspension import list_prompts as list_prompts
    from tactician.runs.suspension import reject as reject
    from tactician.runs.telemetry import TELEMETRY as TELEMETRY
    from tactician.runs.telemetry import load_capture_mode as load_capture_mode
    from tactician.runs.telemetry import start_telemetry as start_telemetry
    from tactician.runs.threads import in_thread as in_thread
    from tactician.runs.threads import run_blocking as run_blocking
    from tactician.runs.trace_context import find_trace_parent as find_trace_parent
    from tactician.runs.trace_context import set_trace_source as set_trace_source
    from tactician.runs.user import ChatUser as ChatUser
    from tactician.runs.user import ConversationId as ConversationId
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.runs.answers": "StoredAnswer check_response restore_response save_response",
            "tactician.runs.artifacts": "ArtifactChannel HeldArtifacts ProducedArtifact",
            "tactician.runs.budget": "Budget BudgetMeter Spent restore_budget save_budget",
            "tactician.runs.checkpoint": "Changes Checkpoint Data Live Operation Progress SavedCheckpoint revive",
            "tactician.runs.claiming": "claim_to_answer",
            "tactician.runs.context": (
                "RunContext RunPlace find_capture_mode find_current_user reset_current set_current"
            ),
            "tactician.runs.creation": (
                "CallerTools RunKey create_durable_run create_record enqueue_run find_caller_tools"
            ),
            "tactician.runs.differences": "find_difference",
            "tactician.runs.durable": "DEFAULT_LEASE DurableRun LeaseTime kill_run",
            "tactician.runs.errors": (
                "BudgetError HandoffError NoConsensusError OutputError RepeatLimitError RoutingError RunError "
                "RunKilledError StreamTimeoutError TurnLimitError get_end_status is_final is_limit"
            ),
            "tactician.runs.events": (
                "PROCESS_KIND ModelCalled ModelReturned RequestAnswered RetrievalEnded RetrievalStarted "
                "RunCompleted RunEnded RunStarted RunSuspended"
            ),
            "tactician.runs.execution": "continue_run end_overdue keep_responses load_pending resume_run start_run",
            "tactician.runs.forking": "Fork ForkOptions prepare_fork",
            "tactician.runs.formatting": "find_formatter format_data with_formatter",
            "tactician.runs.inputs": "NO_TYPES READS_MESSAGES InputTypes restore_input",
            "tactician.runs.kept_artifacts": "deliver_produced",
            "tactician.runs.output": "format_output read_output",
            "tactician.runs.pace": "RequestPace",
            "tactician.runs.parameters": "RunParameter find_run_parameter",
            "tactician.runs.record": "REQUEST_KIND RunHeader RunRecord",
            "tactician.runs.reporting": "report_model_call report_retrieval",
            "tactician.runs.respondents": (
                "NOBODY Respondent check_role create_answered_error find_answered find_author has_answer record_authors"
            ),
            "tactician.runs.restoration": "restore_context",
            "tactician.runs.result": "RunResult",
            "tactician.runs.runnable": (
                "Input Runnable is_conversation messages_of need_member need_members need_named_members stream_events"
            ),
            "tactician.runs.services": "Services",
            "tactician.runs.spending": "keep_spent restore_spent save_inside",
            "tactician.runs.status": "TERMINAL RunStatus",
            "tactician.runs.step_events": "read_lines",
            "tactician.runs.steps": "RunStart RunState RunStep Snapshot fold read_snapshot read_step",
            "tactician.runs.store": "RunStore default_store",
            "tactician.runs.stored_values": "decode_value encode_value",
            "tactician.runs.suspension": (
                "Approval PendingKind PendingRequest ReportedError Response Suspended approve find_suspension "
                "list_prompts reject"
            ),
            "tactician.runs.telemetry": "TELEMETRY load_capture_mode start_telemetry",
            "tactician.runs.threads": "in_thread run_blocking",
            "tactician.runs.trace_context": "find_trace_parent set_trace_source",
            "tactician.runs.user": "ChatUser ConversationId",
        },
    )
