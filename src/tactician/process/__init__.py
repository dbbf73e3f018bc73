"""Every multi-step run: a blackboard, a plan, and a tick that replans after each action."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.process.agent.diagram import draw_agent as draw_agent
    from tactician.process.agent.operation import OperationContext as OperationContext
    from tactician.process.board.blackboard import Blackboard as Blackboard
    from tactician.process.objects import Rejection as Rejection
    from tactician.process.objects import SomeOf as SomeOf
    from tactician.process.objects import UserInput as UserInput
    from tactician.process.people.questions import ask_human as ask_human
    from tactician.process.people.questions import confirm as confirm
    from tactician.process.process import AgentProcess as AgentProcess
    from tactician.process.state.errors import ProcessError as ProcessError
    from tactician.process.state.errors import ProcessFailedError as ProcessFailedError
    from tactician.process.state.errors import ProcessStuckError as ProcessStuckError
    from tactician.process.state.errors import ProcessWaitingError as ProcessWaitingError
    from tactician.process.state.events import ActionCompleted as ActionCompleted
    from tactician.process.state.events import ActionRefused as ActionRefused
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
    from tactician.process.state.handle import ProcessHandle as ProcessHandle
    from tactician.process.state.options import ActionRetryPolicy as ActionRetryPolicy
    from tactician.process.state.options import PlanReview as PlanReview
    from tactician.process.state.options import ProcessOptions as ProcessOptions
    from tactician.process.state.options import Verbosity as Verbosity
    from tactician.process.state.state import ProcessStatus as ProcessStatus
    from tactician.process.stored_types import formerly as formerly
    from tactician.process.stored_types import upgrades as upgrades
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.process.agent.diagram": "draw_agent",
            "tactician.process.agent.operation": "OperationContext",
            "tactician.process.board.blackboard": "Blackboard",
            "tactician.process.objects": "Rejection SomeOf UserInput",
            "tactician.process.people.questions": "ask_human confirm",
            "tactician.process.process": "AgentProcess",
            "tactician.process.state.errors": "ProcessError ProcessFailedError ProcessStuckError ProcessWaitingError",
            "tactician.process.state.events": (
                "ActionCompleted ActionRefused ActionResumed ActionStarted ActionSuspended MessageSent PlanMade "
                "PlanningEnded PlanningStarted ProcessEnded ProcessStarted ProgressReported"
            ),
            "tactician.process.state.goals": "Export",
            "tactician.process.state.handle": "ProcessHandle",
            "tactician.process.state.options": "ActionRetryPolicy PlanReview ProcessOptions Verbosity",
            "tactician.process.state.state": "ProcessStatus",
            "tactician.process.stored_types": "formerly upgrades",
        },
    )
