"""Parts that all runs share: the contract, the context, the result, the budget, and the durable run."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.runs.context.context import RunContext as RunContext
    from tactician.runs.context.parameters import RunParameter as RunParameter
    from tactician.runs.context.services import Services as Services
    from tactician.runs.life.execution import resume_run as resume_run
    from tactician.runs.outcomes.budget import Budget as Budget
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
    from tactician.runs.outcomes.status import RunStatus as RunStatus
    from tactician.runs.outcomes.suspension import PendingRequest as PendingRequest
    from tactician.runs.outcomes.suspension import approve as approve
    from tactician.runs.outcomes.suspension import list_prompts as list_prompts
    from tactician.runs.outcomes.suspension import reject as reject
    from tactician.runs.progress.steps import RunState as RunState
    from tactician.runs.reporting import report_retrieval as report_retrieval
    from tactician.runs.runnable import Input as Input
    from tactician.runs.runnable import Runnable as Runnable
    from tactician.runs.user import ChatUser as ChatUser
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.runs.context.context": "RunContext",
            "tactician.runs.context.parameters": "RunParameter",
            "tactician.runs.context.services": "Services",
            "tactician.runs.life.execution": "resume_run",
            "tactician.runs.outcomes.budget": "Budget",
            "tactician.runs.outcomes.errors": (
                "BudgetError HandoffError NoConsensusError OutputError RepeatLimitError RoutingError RunError "
                "RunKilledError StreamTimeoutError TurnLimitError"
            ),
            "tactician.runs.outcomes.events": (
                "ModelCalled ModelReturned RequestAnswered RetrievalEnded RetrievalStarted RunCompleted RunEnded "
                "RunStarted RunSuspended"
            ),
            "tactician.runs.outcomes.result": "RunResult",
            "tactician.runs.outcomes.status": "RunStatus",
            "tactician.runs.outcomes.suspension": "PendingRequest approve list_prompts reject",
            "tactician.runs.progress.steps": "RunState",
            "tactician.runs.reporting": "report_retrieval",
            "tactician.runs.runnable": "Input Runnable",
            "tactician.runs.user": "ChatUser",
        },
    )
