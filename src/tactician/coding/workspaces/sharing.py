"""Workspace of a run, which all coding agents of the run share: also those that work at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

from tactician.coding.workspaces.opened import OpenWorkspace
from tactician.coding.workspaces.workspace import Workspace, end_aside, open_aside
from tactician.runs import RunContext
from tactician.runs.outcomes.suspension import find_suspension

_Key: TypeAlias = tuple[str, ...]
_SHARED: Final[dict[_Key, SharedWorkspace]] = {}
"""Open workspaces of the runs of this program, while an agent works in them."""


@asynccontextmanager
async def share_workspace(workspace: Workspace, context: RunContext) -> AsyncIterator[OpenWorkspace]:
    """Open the workspace of a run for an agent, or share the one in which another agent of the run works.

    The last agent that leaves ends it: work that succeeded is kept, work of a run that goes on later stays, and work
    that failed is removed.

    Raises:
        WorkspaceError: when it cannot be opened.
    """
    places = (workspace.kind, workspace.source, workspace.folder or "", workspace.name or "", context.root_id)
    key = tuple(map(str, places))
    shared = _SHARED.setdefault(key, SharedWorkspace(workspace, context))
    shared.users += 1
    try:
        yield await shared.open()
        shared.has_succeeded = True
    except BaseException as error:
        shared.goes_on |= _goes_on(error, context)
        raise
    finally:
        shared.users -= 1
        if not shared.users:
            del _SHARED[key]
            await shared.end()


class SharedWorkspace:
    """Workspace of a run, with the number of agents that work in it.

    Args:
        workspace: the workspace.
        context: context of an agent of the run.
    """

    def __init__(self, workspace: Workspace, context: RunContext) -> None:
        self.users = 0
        self.has_succeeded = False
        self.goes_on = False
        self._workspace = workspace
        self._name = f"run-{context.root_id}"
        self._owner = context.root_id if context.is_saved else ""
        self._opening = asyncio.Lock()
        self._opened: OpenWorkspace | None = None
        self._was_kept = False

    async def open(self) -> OpenWorkspace:
        """Return the open workspace."""
        async with self._opening:
            if self._opened is None:
                self._opened = await open_aside(self._workspace, self._name, self._owner)
                self._was_kept = self._opened.record.is_kept
            return self._opened

    async def end(self) -> None:
        """End the work in it. Work that an earlier agent of the run has completed is never removed."""
        if (opened := self._opened) is None:
            return
        leave = opened.abandon if self.goes_on or self._was_kept else opened.remove
        await end_aside(opened.keep if self.has_succeeded else leave)


def _goes_on(error: BaseException, context: RunContext) -> bool:
    """Return whether a run that ends so is continued later: it waits, or its program ends."""
    return find_suspension(error) is not None or (context.is_saved and not isinstance(error, Exception))
