"""What is common to everything that runs: the contract, its context and its result."""

from tactician.runs.context import RunContext, default_models, new_id
from tactician.runs.result import RunResult, RunStatus
from tactician.runs.runnable import Input, Runnable, messages_of, run_blocking, stream_events

__all__ = [
    "Runnable",
    "Input",
    "RunContext",
    "RunResult",
    "RunStatus",
    "default_models",
    "messages_of",
    "new_id",
    "run_blocking",
    "stream_events",
]
