"""The errors of runs: each carries the result of what was done so far."""

from __future__ import annotations

from tactician.errors import TacticianError
from tactician.runs.outcomes.result import RunResult
from tactician.runs.outcomes.status import RunStatus


class RunError(TacticianError):
    """A run failed. `result` is what it had done so far: messages, usage and the last reply.

    Attributes:
        status: status of the run in its record, and of `result`.
        is_final: true when a decision that is saved has failed the run: if it went on, it would only fail again.
    """

    status: RunStatus = RunStatus.FAILED
    is_final: bool = False

    def __init__(self, message: str, result: RunResult[None], status: RunStatus | None = None) -> None:
        super().__init__(message)
        if status is not None:
            self.status = status
        result.status = self.status
        self.result = result

    @property
    def refuses_input(self) -> bool:
        """True when the input was refused: the same input would be refused again."""
        return False


def get_end_status(error: BaseException) -> RunStatus:
    """Return the status of a run that ends with an error: that which the error itself names, or `FAILED`."""
    status = getattr(error, "status", None)
    return status if isinstance(status, RunStatus) else RunStatus.FAILED


def is_final(error: BaseException) -> bool:
    """Return whether what raised the error would only fail again if it went on."""
    return isinstance(error, RunError) and error.is_final


def is_limit(error: BaseException) -> bool:
    """Return whether a limit, such as a used up budget, has ended what raised the error, or something inside it."""
    return get_end_status(error) is RunStatus.TERMINATED


class TurnLimitError(RunError):
    """The model kept calling tools for more turns than `max_turns` allows."""


class OutputError(RunError):
    """The model did not give a valid object within `max_attempts`; `last_reply` is its last try."""

    def __init__(self, message: str, result: RunResult[None], last_reply: str) -> None:
        super().__init__(message, result)
        self.last_reply = last_reply


class BudgetError(RunError):
    """The budget of the run, or of a run around it, is used up."""

    status = RunStatus.TERMINATED


class HandoffError(RunError):
    """The agent that took over gave an output that is not of the type the handoff promises."""


class RoutingError(RunError):
    """A router has neither a route for its input nor a fallback."""


class NoConsensusError(RunError):
    """Several sources did not agree on an answer."""


class RepeatLimitError(RunError):
    """A step that is repeated never gave what it should. `result.related` are its attempts."""


class StreamTimeoutError(RunError, TimeoutError):
    """A streamed run took longer than the `timeout` of the stream, and was cancelled."""


class RunKilledError(RunError):
    """The run was killed, here or in its store."""

    status = RunStatus.KILLED
