"""Errors of agents of other programs."""

from __future__ import annotations

from tactician.errors import TacticianError, TransientError
from tactician.runs import RunError


class RemoteTaskError(RunError):
    """Error for a task that an agent of another program did not complete; the message names both."""


class RemoteUnavailableError(TransientError):
    """Error for an agent of another program that cannot be reached, or does not speak its protocol; try again later."""


class RemoteCardError(TacticianError):
    """Error for an agent card that cannot be used: its signature is not valid, or no interface is known."""
