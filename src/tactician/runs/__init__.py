"""Parts that all runs share: the contract, the context, the result, the budget, and the durable run."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.runs.context.artifacts import ArtifactChannel as ArtifactChannel
    from tactician.runs.context.artifacts import HeldArtifacts as HeldArtifacts
    from tactician.runs.context.artifacts import ProducedArtifact as ProducedArtifact
    from tactician.runs.context.context import RunContext as RunContext
    from tactician.runs.context.context import RunPlace as RunPlace
    from tactician.runs.context.context import find_capture_mode as find_capture_mode
    from tactician.runs.context.context import find_current_user as find_current_user
    from tactician.runs.context.context import reset_current as reset_current
    from tactician.runs.context.context import set_current as set_current
    from tactician.runs.context.parameters import RunParameter as RunParameter
    from tactician.runs.context.parameters import find_run_parameter as find_run_parameter
    from tactician.runs.context.part_settings import RequestPace as RequestPace
    from tactician.runs.context.part_settings import find_formatter as find_formatter
    from tactician.runs.context.part_settings import format_data as format_data
    from tactician.runs.context.part_settings import with_formatter as with_formatter
    from tactician.runs.context.services import Services as Services
    from tactician.runs.context.step_events import read_lines as read_lines
    from tactician.runs.context.telemetry import TELEMETRY as TELEMETRY
    from tactician.runs.context.telemetry import find_trace_parent as find_trace_parent
    from tactician.runs.context.telemetry import load_capture_mode as load_capture_mode
    from tactician.runs.context.telemetry import set_trace_source as set_trace_source
    from tactician.runs.context.telemetry import start_telemetry as start_telemetry
    from tactician.runs.context.threads import in_thread as in_thread
    from tactician.runs.context.threads import run_blocking as run_blocking
    from tactician.runs.life.claiming import claim_to_answer as claim_to_answer
    from tactician.runs.life.creation import CallerTools as CallerTools
    from tactician.runs.life.creation import RunKey as RunKey
    from tactician.runs.life.creation import create_durable_run as create_durable_run
    from tactician.runs.life.creation import create_record as create_record
    from tactician.runs.life.creation import enqueue_run as enqueue_run
    from tactician.runs.life.creation import find_caller_tools as find_caller_tools
    from tactician.runs.life.durable import DEFAULT_LEASE as DEFAULT_LEASE
    from tactician.runs.life.durable import DurableRun as DurableRun
    from tactician.runs.life.durable import LeaseTime as LeaseTime
    from tactician.runs.life.durable import kill_run as kill_run
    from tactician.runs.life.execution import continue_run as continue_run
    from tactician.runs.life.execution import end_overdue as end_overdue
    from tactician.runs.life.execution import keep_responses as keep_responses
    from tactician.runs.life.execution import load_pending as load_pending
    from tactician.runs.life.execution import resume_run as resume_run
    from tactician.runs.life.execution import start_run as start_run
    from tactician.runs.life.forking import Fork as Fork
    from tactician.runs.life.forking import ForkOptions as ForkOptions
    from tactician.runs.life.forking import prepare_fork as prepare_fork
    from tactician.runs.life.inputs import NO_TYPES as NO_TYPES
    from tactician.runs.life.inputs import READS_MESSAGES as READS_MESSAGES
    from tactician.runs.life.inputs import InputTypes as InputTypes
    from tactician.runs.life.inputs import restore_input as restore_input
    from tactician.runs.life.kept_artifacts import deliver_produced as deliver_produced
    from tactician.runs.life.output import format_output as format_output
    from tactician.runs.life.output import read_output as read_output
    from tactician.runs.life.restoration import restore_context as restore_context
    from tactician.runs.outcomes.budget import Budget as Budget
    from tactician.runs.outcomes.budget import BudgetMeter as BudgetMeter
    from tactician.runs.outcomes.budget import Spent as Spent
    from tactician.runs.outcomes.budget import restore_budget as restore_budget
    from tactician.runs.outcomes.budget import save_budget as save_budget
    from tactician.runs.outcomes.errors import BudgetError as BudgetError
    from tactician.runs.outcomes.errors import HandoffError as HandoffError
    from tactician.runs.outcomes.errors import NoConsensusError as NoConsensusError
    from tactician.runs.outcomes.errors import OutputError as OutputError
    from tactician.runs.outcomes.errors import RepeatLimitError as RepeatLimitError
    from tactician.runs.outcomes.errors import RoutingError as RoutingError
    from tactician.runs.outcomes.errors import RunError as RunError
    from tactician.runs.outcomes.errors import RunKilledError as RunKilledError
    from tactician.runs.outcomes.errors import StreamTimeoutError as StreamTimeoutError
    from tactician.runs.outcomes.errors import TurnLimitError as TurnLimitError
    from tactician.runs.outcomes.errors import get_end_status as get_end_status
    from tactician.runs.outcomes.errors import is_final as is_final
    from tactician.runs.outcomes.errors import is_limit as is_limit
    from tactician.runs.outcomes.events import PROCESS_KIND as PROCESS_KIND
    from tactician.runs.outcomes.events import ModelCalled as ModelCalled
    from tactician.runs.outcomes.events import ModelReturned as ModelReturned
    from tactician.runs.outcomes.events import RequestAnswered as RequestAnswered
    from tactician.runs.outcomes.events import RetrievalEnded as RetrievalEnded
    from tactician.runs.outcomes.events import RetrievalStarted as RetrievalStarted
    from tactician.runs.outcomes.events import RunCompleted as RunCompleted
    from tactician.runs.outcomes.events import RunEnded as RunEnded
    from tactician.runs.outcomes.events import RunStarted as RunStarted
    from tactician.runs.outcomes.events import RunSuspended as RunSuspended
    from tactician.runs.outcomes.result import RunResult as RunResult
    from tactician.runs.outcomes.status import TERMINAL as TERMINAL
    from tactician.runs.outcomes.status import RunStatus as RunStatus
    from tactician.runs.outcomes.suspension import Approval as Approval
    from tactician.runs.outcomes.suspension import PendingKind as PendingKind
    from tactician.runs.outcomes.suspension import PendingRequest as PendingRequest
    from tactician.runs.outcomes.suspension import ReportedError as ReportedError
    from tactician.runs.outcomes.suspension import Response as Response
    from tactician.runs.outcomes.suspension import Suspended as Suspended
    from tactician.runs.outcomes.suspension import approve as approve
    from tactician.runs.outcomes.suspension import find_suspension as find_suspension
    from tactician.runs.outcomes.suspension import list_prompts as list_prompts
    from tactician.runs.outcomes.suspension import reject as reject
    from tactician.runs.progress.checkpoint import Changes as Changes
    from tactician.runs.progress.checkpoint import Checkpoint as Checkpoint
    from tactician.runs.progress.checkpoint import Data as Data
    from tactician.runs.progress.checkpoint import Live as Live
    from tactician.runs.progress.checkpoint import Operation as Operation
    from tactician.runs.progress.checkpoint import Progress as Progress
    from tactician.runs.progress.checkpoint import SavedCheckpoint as SavedCheckpoint
    from tactician.runs.progress.checkpoint import revive as revive
    from tactician.runs.progress.record import REQUEST_KIND as REQUEST_KIND
    from tactician.runs.progress.record import RunHeader as RunHeader
    from tactician.runs.progress.record import RunRecord as RunRecord
    from tactician.runs.progress.spending import keep_spent as keep_spent
    from tactician.runs.progress.spending import restore_spent as restore_spent
    from tactician.runs.progress.spending import save_inside as save_inside
    from tactician.runs.progress.steps import RunStart as RunStart
    from tactician.runs.progress.steps import RunState as RunState
    from tactician.runs.progress.steps import RunStep as RunStep
    from tactician.runs.progress.steps import Snapshot as Snapshot
    from tactician.runs.progress.steps import fold as fold
    from tactician.runs.progress.steps import read_snapshot as read_snapshot
    from tactician.runs.progress.steps import read_step as read_step
    from tactician.runs.progress.store import RunStore as RunStore
    from tactician.runs.progress.store import default_store as default_store
    from tactician.runs.reporting import report_model_call as report_model_call
    from tactician.runs.reporting import report_retrieval as report_retrieval
    from tactician.runs.requests.answers import StoredAnswer as StoredAnswer
    from tactician.runs.requests.answers import check_response as check_response
    from tactician.runs.requests.answers import restore_response as restore_response
    from tactician.runs.requests.answers import save_response as save_response
    from tactician.runs.requests.respondents import NOBODY as NOBODY
    from tactician.runs.requests.respondents import Respondent as Respondent
    from tactician.runs.requests.respondents import check_role as check_role
    from tactician.runs.requests.respondents import create_answered_error as create_answered_error
    from tactician.runs.requests.respondents import find_answered as find_answered
    from tactician.runs.requests.respondents import find_author as find_author
    from tactician.runs.requests.respondents import has_answer as has_answer
    from tactician.runs.requests.respondents import record_authors as record_authors
    from tactician.runs.requests.respondents import record_key as record_key
    from tactician.runs.runnable import Input as Input
    from tactician.runs.runnable import Runnable as Runnable
    from tactician.runs.runnable import is_conversation as is_conversation
    from tactician.runs.runnable import messages_of as messages_of
    from tactician.runs.runnable import need_member as need_member
    from tactician.runs.runnable import need_members as need_members
    from tactician.runs.runnable import need_named_members as need_named_members
    from tactician.runs.runnable import stream_events as stream_events
    from tactician.runs.user import ChatUser as ChatUser
    from tactician.runs.user import ConversationId as ConversationId
    from tactician.runs.values.differences import find_difference as find_difference
    from tactician.runs.values.stored_values import decode_value as decode_value
    from tactician.runs.values.stored_values import encode_value as encode_value
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.runs.context.artifacts": "ArtifactChannel HeldArtifacts ProducedArtifact",
            "tactician.runs.context.context": (
                "RunContext RunPlace find_capture_mode find_current_user reset_current set_current"
            ),
            "tactician.runs.context.parameters": "RunParameter find_run_parameter",
            "tactician.runs.context.part_settings": "find_formatter format_data with_formatter RequestPace",
            "tactician.runs.context.services": "Services",
            "tactician.runs.context.step_events": "read_lines",
            "tactician.runs.context.telemetry": (
                "TELEMETRY load_capture_mode start_telemetry find_trace_parent set_trace_source"
            ),
            "tactician.runs.context.threads": "in_thread run_blocking",
            "tactician.runs.life.claiming": "claim_to_answer",
            "tactician.runs.life.creation": (
                "CallerTools RunKey create_durable_run create_record enqueue_run find_caller_tools"
            ),
            "tactician.runs.life.durable": "DEFAULT_LEASE DurableRun LeaseTime kill_run",
            "tactician.runs.life.execution": (
                "continue_run end_overdue keep_responses load_pending resume_run start_run"
            ),
            "tactician.runs.life.forking": "Fork ForkOptions prepare_fork",
            "tactician.runs.life.inputs": "NO_TYPES READS_MESSAGES InputTypes restore_input",
            "tactician.runs.life.kept_artifacts": "deliver_produced",
            "tactician.runs.life.output": "format_output read_output",
            "tactician.runs.life.restoration": "restore_context",
            "tactician.runs.outcomes.budget": "Budget BudgetMeter Spent restore_budget save_budget",
            "tactician.runs.outcomes.errors": (
                "BudgetError HandoffError NoConsensusError OutputError RepeatLimitError RoutingError RunError "
                "RunKilledError StreamTimeoutError TurnLimitError get_end_status is_final is_limit"
            ),
            "tactician.runs.outcomes.events": (
                "PROCESS_KIND ModelCalled ModelReturned RequestAnswered RetrievalEnded RetrievalStarted RunCompleted "
                "RunEnded RunStarted RunSuspended"
            ),
            "tactician.runs.outcomes.result": "RunResult",
            "tactician.runs.outcomes.status": "TERMINAL RunStatus",
            "tactician.runs.outcomes.suspension": (
                "Approval PendingKind PendingRequest ReportedError Response Suspended approve find_suspension "
                "list_prompts reject"
            ),
            "tactician.runs.progress.checkpoint": (
                "Changes Checkpoint Data Live Operation Progress SavedCheckpoint revive"
            ),
            "tactician.runs.progress.record": "REQUEST_KIND RunHeader RunRecord",
            "tactician.runs.progress.spending": "keep_spent restore_spent save_inside",
            "tactician.runs.progress.steps": "RunStart RunState RunStep Snapshot fold read_snapshot read_step",
            "tactician.runs.progress.store": "RunStore default_store",
            "tactician.runs.reporting": "report_model_call report_retrieval",
            "tactician.runs.requests.answers": "StoredAnswer check_response restore_response save_response",
            "tactician.runs.requests.respondents": (
                "NOBODY Respondent check_role create_answered_error find_answered find_author has_answer "
                "record_authors record_key"
            ),
            "tactician.runs.runnable": (
                "Input Runnable is_conversation messages_of need_member need_members need_named_members stream_events"
            ),
            "tactician.runs.user": "ChatUser ConversationId",
            "tactician.runs.values.differences": "find_difference",
            "tactician.runs.values.stored_values": "decode_value encode_value",
        },
    )
