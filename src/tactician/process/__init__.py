"""Every multi-step run: a blackboard, a plan, and a tick that replans after each action."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.process.agent.diagram import draw_agent as draw_agent
    from tactician.process.agent.inputs import add_inputs as add_inputs
    from tactician.process.agent.operation import TOWARDS as TOWARDS
    from tactician.process.agent.operation import OperationContext as OperationContext
    from tactician.process.agent.spec import ActionSpec as ActionSpec
    from tactician.process.agent.spec import Negation as Negation
    from tactician.process.agent.spec import Observe as Observe
    from tactician.process.agent.spec import Perform as Perform
    from tactician.process.agent.spec import PlannedAgentSpec as PlannedAgentSpec
    from tactician.process.agent.spec import Price as Price
    from tactician.process.agent.spec import StuckHandler as StuckHandler
    from tactician.process.agent.spec import check_tool_groups as check_tool_groups
    from tactician.process.board.blackboard import GAVE_NOTHING as GAVE_NOTHING
    from tactician.process.board.blackboard import Blackboard as Blackboard
    from tactician.process.board.board_changes import Entry as Entry
    from tactician.process.board.looks import IsSet as IsSet
    from tactician.process.board.looks import IsThere as IsThere
    from tactician.process.board.looks import Look as Look
    from tactician.process.deciding.deliberation import PlanningSettings as PlanningSettings
    from tactician.process.deciding.observation import lookup_price as lookup_price
    from tactician.process.idle import IdleProcess as IdleProcess
    from tactician.process.objects import DEFAULT_BINDING as DEFAULT_BINDING
    from tactician.process.objects import STATE as STATE
    from tactician.process.objects import Bound as Bound
    from tactician.process.objects import Named as Named
    from tactician.process.objects import Rejection as Rejection
    from tactician.process.objects import SomeOf as SomeOf
    from tactician.process.objects import StateDeclaration as StateDeclaration
    from tactician.process.objects import UserInput as UserInput
    from tactician.process.objects import get_field_names as get_field_names
    from tactician.process.objects import get_state_declaration as get_state_declaration
    from tactician.process.objects import preserves_blackboard as preserves_blackboard
    from tactician.process.objects import with_named as with_named
    from tactician.process.people.forms import HINTS as HINTS
    from tactician.process.people.forms import build_form as build_form
    from tactician.process.people.forms import build_label as build_label
    from tactician.process.people.forms import find_text_request as find_text_request
    from tactician.process.people.forms import parse_answer as parse_answer
    from tactician.process.people.questions import allow_questions as allow_questions
    from tactician.process.people.questions import ask_human as ask_human
    from tactician.process.people.questions import confirm as confirm
    from tactician.process.people.questions import create_suspension as create_suspension
    from tactician.process.process import AgentProcess as AgentProcess
    from tactician.process.saving.saved_state import ProcessOrigin as ProcessOrigin
    from tactician.process.saving.saved_state import SavedState as SavedState
    from tactician.process.saving.saved_state import check_options as check_options
    from tactician.process.saving.saved_state import is_process as is_process
    from tactician.process.saving.saved_state import read_board as read_board
    from tactician.process.saving.saved_state import read_history as read_history
    from tactician.process.saving.saved_state import read_origin as read_origin
    from tactician.process.saving.saved_state import read_state as read_state
    from tactician.process.saving.saved_state import renew_processes as renew_processes
    from tactician.process.saving.stored_objects import decode_as as decode_as
    from tactician.process.saving.stored_objects import decode_object as decode_object
    from tactician.process.saving.stored_objects import encode_alone as encode_alone
    from tactician.process.saving.stored_objects import encode_object as encode_object
    from tactician.process.state.conversation import Extent as Extent
    from tactician.process.state.conversation import OutputChannel as OutputChannel
    from tactician.process.state.conversation import ProcessConversation as ProcessConversation
    from tactician.process.state.errors import ProcessError as ProcessError
    from tactician.process.state.errors import ProcessFailedError as ProcessFailedError
    from tactician.process.state.errors import ProcessStuckError as ProcessStuckError
    from tactician.process.state.errors import ProcessWaitingError as ProcessWaitingError
    from tactician.process.state.errors import describe_failure as describe_failure
    from tactician.process.state.errors import find_rejection as find_rejection
    from tactician.process.state.event_log import format_new_messages as format_new_messages
    from tactician.process.state.event_log import format_response as format_response
    from tactician.process.state.events import ActionCompleted as ActionCompleted
    from tactician.process.state.events import ActionResumed as ActionResumed
    from tactician.process.state.events import ActionStarted as ActionStarted
    from tactician.process.state.events import ActionSuspended as ActionSuspended
    from tactician.process.state.events import MessageSent as MessageSent
    from tactician.process.state.events import PlanMade as PlanMade
    from tactician.process.state.events import PlanningEnded as PlanningEnded
    from tactician.process.state.events import PlanningStarted as PlanningStarted
    from tactician.process.state.events import ProcessEnded as ProcessEnded
    from tactician.process.state.events import ProcessStarted as ProcessStarted
    from tactician.process.state.events import ProgressReported as ProgressReported
    from tactician.process.state.goals import Export as Export
    from tactician.process.state.goals import GoalSpec as GoalSpec
    from tactician.process.state.handle import ProcessHandle as ProcessHandle
    from tactician.process.state.options import DEFAULT_BUDGET as DEFAULT_BUDGET
    from tactician.process.state.options import ActionRetryPolicy as ActionRetryPolicy
    from tactician.process.state.options import ProcessOptions as ProcessOptions
    from tactician.process.state.options import Verbosity as Verbosity
    from tactician.process.state.options import create_blackboard as create_blackboard
    from tactician.process.state.state import ActionRun as ActionRun
    from tactician.process.state.state import ChildRun as ChildRun
    from tactician.process.state.state import ProcessStatus as ProcessStatus
    from tactician.process.stored_types import SavedObject as SavedObject
    from tactician.process.stored_types import formerly as formerly
    from tactician.process.stored_types import list_stored_names as list_stored_names
    from tactician.process.stored_types import type_name as type_name
    from tactician.process.stored_types import upgrades as upgrades
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.process.agent.diagram": "draw_agent",
            "tactician.process.agent.inputs": "add_inputs",
            "tactician.process.agent.operation": "TOWARDS OperationContext",
            "tactician.process.agent.spec": (
                "ActionSpec Negation Observe Perform PlannedAgentSpec Price StuckHandler check_tool_groups"
            ),
            "tactician.process.board.blackboard": "GAVE_NOTHING Blackboard",
            "tactician.process.board.board_changes": "Entry",
            "tactician.process.board.looks": "IsSet IsThere Look",
            "tactician.process.deciding.deliberation": "PlanningSettings",
            "tactician.process.deciding.observation": "lookup_price",
            "tactician.process.idle": "IdleProcess",
            "tactician.process.objects": (
                "DEFAULT_BINDING STATE Bound Named Rejection SomeOf StateDeclaration UserInput get_field_names "
                "get_state_declaration preserves_blackboard with_named"
            ),
            "tactician.process.people.forms": "HINTS build_form build_label find_text_request parse_answer",
            "tactician.process.people.questions": "allow_questions ask_human confirm create_suspension",
            "tactician.process.process": "AgentProcess",
            "tactician.process.saving.saved_state": (
                "check_options ProcessOrigin SavedState is_process read_board read_history read_origin read_state "
                "renew_processes"
            ),
            "tactician.process.saving.stored_objects": "decode_as decode_object encode_alone encode_object",
            "tactician.process.state.conversation": "ProcessConversation Extent OutputChannel",
            "tactician.process.state.errors": (
                "ProcessError ProcessFailedError ProcessStuckError ProcessWaitingError describe_failure find_rejection"
            ),
            "tactician.process.state.event_log": "format_new_messages format_response",
            "tactician.process.state.events": (
                "ActionCompleted ActionResumed ActionStarted ActionSuspended MessageSent PlanMade PlanningEnded "
                "PlanningStarted ProcessEnded ProcessStarted ProgressReported"
            ),
            "tactician.process.state.goals": "Export GoalSpec",
            "tactician.process.state.handle": "ProcessHandle",
            "tactician.process.state.options": (
                "DEFAULT_BUDGET ActionRetryPolicy ProcessOptions Verbosity create_blackboard"
            ),
            "tactician.process.state.state": "ActionRun ChildRun ProcessStatus",
            "tactician.process.stored_types": "SavedObject formerly list_stored_names type_name upgrades",
        },
    )
