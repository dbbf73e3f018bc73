"""Errors of coding agents."""

from __future__ import annotations

from tactician.errors import TacticianError


class WorkspaceError(TacticianError):
    """Error of a workspace: git refuses, somebody else works in it, or changes do not apply."""


class WorkspaceLockedError(WorkspaceError):
    """Error when another program works in a workspace."""
