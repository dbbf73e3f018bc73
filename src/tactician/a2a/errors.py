"""Errors of agents of other programs."""

from __future__ import annotations

from tactician.errors import TacticianError, TransientError
from tactician.runs import RunError
from tactician.text import escape_controls


class RemoteTaskError(RunError):
    """Error for a task that an agent of another program did not complete; the message names both."""


class RemoteUnavailableError(TransientError):
    """Error for an agent of another program that cannot be reached, or does not speak its protocol; try again later."""

    def __init__(self, message: str) -> None:
        super().__init__(escape_controls(message))  # it quotes what the other program says


class RemoteCardError(TacticianError):
    """Error for an agent card that cannot be used: its signature is not valid, or no interface is known."""

    def __init__(self, message: str) -> None:
        super().__init__(escape_controls(message))
