"""Runs that requests name, as they stand."""

from __future__ import annotations

from tactician.errors import RunNotFoundError, StoredStateError
from tactician.platform import RunTree, RunView
from tactician.runs import RunStatus
from tactician.serve.api.forms import RunForm
from tactician.serve.api.operations import Call
from tactician.serve.api.views import show_run


async def find_run(call: Call, run_id: str) -> RunView:
    """Return a run.

    Raises:
        RunNotFoundError: when there is none.
    """
    return (await find_tree(call, run_id)).run


async def find_tree(call: Call, run_id: str) -> RunTree:
    """Return a run and the runs inside it. One that is kept as a part of another only is found there.

    Raises:
        RunNotFoundError: when there is none.
    """
    platform, root = call.server.platform, call.server.feed.find_root(run_id)
    try:
        tree = await platform.tree(run_id)
        call.server.feed.add_roots(run_id, [run.id for run in tree.walk() if root == run_id and run.id != run_id])
        return tree
    except RunNotFoundError:
        found = None if root == run_id else _find_inside(await platform.tree(root), run_id)
        if found is None:
            raise
        return found


def _find_inside(tree: RunTree, run_id: str) -> RunTree | None:
    if tree.run.id == run_id:
        return tree
    return next((found for child in tree.children if (found := _find_inside(child, run_id)) is not None), None)


async def present_run(call: Call, run_id: str) -> RunForm:
    """Return a run as the caller sees it, with its result.

    Raises:
        RunNotFoundError: when there is none.
    """
    view = await find_run(call, run_id)
    return show_run(view, call.viewer, await find_result(call, view))


async def find_result(call: Call, run: RunView) -> object:
    """Return the result of a run; `None` while it has none, or none that can be read."""
    if run.status != RunStatus.COMPLETED:
        return None
    try:
        return await call.server.platform.output(run.id)
    except (RunNotFoundError, StoredStateError):
        return None  # the beginning of the output is in the record
