"""Errors of processes, which carry the process, and the description of what the code of a user has raised."""

from __future__ import annotations

import sysconfig
from functools import cache
from pathlib import Path
from traceback import walk_tb

from tactician.errors import Rejected, TacticianError
from tactician.process.objects import Rejection
from tactician.process.state.handle import ProcessHandle
from tactician.runs import RunStatus
from tactician.text import describe_error


class ProcessError(TacticianError):
    """A process did not reach its goal. `process` holds its status, history and blackboard."""

    def __init__(self, message: str, process: ProcessHandle) -> None:
        super().__init__(message)
        self.process = process

    @property
    def status(self) -> RunStatus:
        """Status of a run that ends with the error."""
        is_terminated = self.process.status is RunStatus.TERMINATED
        return RunStatus.TERMINATED if is_terminated else RunStatus.FAILED


class ProcessFailedError(ProcessError):
    """An action of the process raised; the exception is this error's cause."""


class ProcessWaitingError(ProcessError):
    """The process waits for somebody: `process.pending` says for what. Answer with `Platform.respond`."""


class ProcessStuckError(ProcessError):
    """No plan reaches a goal from what the blackboard holds. A rejection that is the reason is the cause."""


def describe_failure(error: BaseException) -> str:
    """Return the type and the message of an error, its notes, and the file and line of the user that raised it."""
    line = _find_line(error)
    notes = [*getattr(error, "__notes__", ()), *([] if line is None else [line])]
    return describe_error(error) + "".join(f" ({note})" for note in notes)


def _find_line(error: BaseException) -> str | None:
    """Return the file and line of the innermost code of the user in the traceback, or `None`."""
    cause = error if error.__traceback__ is not None or error.__cause__ is None else error.__cause__
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(cause.__traceback__)]
    project_lines = [(file, line) for file, line in lines if not file.startswith(("<", *_list_foreign_folders()))]
    if not project_lines:
        return None
    file, line = project_lines[-1]
    folder = f"{Path.cwd()}/"
    return f"{file.removeprefix(folder)}:{line}"


@cache
def _list_foreign_folders() -> tuple[str, ...]:
    """Return where Tactician, Python and what is installed are."""
    paths, names = sysconfig.get_paths(), ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple(f"{folder}/" for folder in (Path(__file__).parents[1], *(paths[name] for name in names)))


def find_rejection(process: ProcessHandle) -> Rejected | None:
    """Return the last rejection because of which a process is stuck, to be raised by an action around it."""
    for rejection in reversed(process.blackboard.all(Rejection)):
        rejected = Rejected(rejection.prompt, rejection.reason)
        if process.failure is not None and describe_rejection(rejection.action, str(rejected)) in process.failure:
            return rejected
    return None


def describe_rejection(action: str, reason: str) -> str:
    """Return the sentence by which the explanation of a stuck process names a rejection."""
    return f"{action!r} ran and gave nothing: {reason}"
