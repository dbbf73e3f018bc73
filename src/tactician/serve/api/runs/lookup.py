"""Runs that requests name, as they stand."""

from __future__ import annotations

from dataclasses import replace

from tactician.errors import AgentNotFoundError, RunNotFoundError, StoredStateError
from tactician.platform import RunTree, RunView
from tactician.runs import PendingRequest, RunStatus
from tactician.serve.api.forms.forms import RunForm
from tactician.serve.api.forms.views import conceal_run, show_run
from tactician.serve.api.forms.visibility import may_answer, sees_run
from tactician.serve.api.serving.operations import Call
from tactician.serve.problems import ApiError


async def find_run(call: Call, run_id: str) -> RunView:
    """Return a run that the caller may see.

    Raises:
        RunNotFoundError: when the run does not exist.
    """
    return (await find_tree(call, run_id)).run


async def find_status(call: Call, run_id: str) -> RunStatus:
    """Return the status of a run that the caller may see, from its record alone, without the runs inside it.

    Raises:
        RunNotFoundError: when the run does not exist.
    """
    try:
        record = await call.server.runs.find(run_id)
    except RunNotFoundError:  # it is kept as a part of another only
        return RunStatus((await find_run(call, run_id)).status)
    if not sees_run(call.person, record.header.user):
        raise _not_found(run_id)
    return record.status


async def find_tree(call: Call, run_id: str) -> RunTree:
    """Return a run that the caller may see, and the runs inside it.

    Raises:
        RunNotFoundError: when the run does not exist.
    """
    tree = await _load_tree(call, run_id)
    if not sees_run(call.person, tree.run.user):
        raise _not_found(run_id)
    return tree


async def find_request(call: Call, run_id: str, request_id: str) -> PendingRequest:
    """Return a request that a run waits for, and that the caller may answer.

    Raises:
        RunNotFoundError: when there is no such run that the caller may see, or that needs a role of the caller.
        ApiError: when the run does not wait for that, or the caller lacks the role that it needs.
    """
    run = (await _load_tree(call, run_id)).run
    is_seen = sees_run(call.person, run.user)
    request = next((request for request in run.pending if request.id == request_id), None)
    if request is not None and not may_answer(call.person, request, sees_run=is_seen) and is_seen:
        raise ApiError(403, f"This needs the role {request.required_role!r}.")
    if not is_seen and (request is None or not may_answer(call.person, request, sees_run=False)):
        raise _not_found(run_id)
    if request is None or request.is_answered:
        raise ApiError(409, f"The run {run_id} does not wait for {request_id!r}.")
    return request


async def _load_tree(call: Call, run_id: str) -> RunTree:
    """Return a run and the runs inside it. A run that is kept as a part of another only is looked up there."""
    platform, root = call.server.platform, call.server.feed.find_root(run_id)
    try:
        tree = await platform.tree(run_id)
        call.server.feed.add_roots(run_id, [run.id for run in tree.walk() if root == run_id and run.id != run_id])
        return tree
    except RunNotFoundError:
        outer = None if root == run_id else await platform.tree(root)
        inner_tree = None if outer is None else _find_inside(outer, run_id)
        if outer is None or inner_tree is None:
            raise _not_found(run_id) from None
        return RunTree(replace(inner_tree.run, user=outer.run.user), inner_tree.children)


def _find_inside(tree: RunTree, run_id: str) -> RunTree | None:
    if tree.run.id == run_id:
        return tree
    return next(filter(None, (_find_inside(child, run_id) for child in tree.children)), None)


async def present_run(call: Call, run_id: str, *, has_answered: bool = False) -> RunForm:
    """Return a run as the caller sees it, with its result; without its words, if the caller may only answer it.

    Args:
        call: the call.
        run_id: id of the run.
        has_answered: true when the caller has just answered a request of the run.

    Raises:
        RunNotFoundError: when the run does not exist.
    """
    try:
        view = await call.server.platform.view_run(run_id)
    except RunNotFoundError:  # it is kept as a part of another only
        view = (await _load_tree(call, run_id)).run
    if sees_run(call.person, view.user):
        return show_run(view, call.viewer, await find_result(call, view))
    concealed = conceal_run(view, call.viewer)
    if not concealed.pending and not has_answered:
        raise _not_found(run_id)
    return concealed


async def find_result(call: Call, run: RunView) -> object:
    """Return the result of a run; `None` while it has none, or none that can be read."""
    if run.status != RunStatus.COMPLETED:
        return None
    try:
        return await call.server.platform.output(run.id)
    except (AgentNotFoundError, RunNotFoundError, StoredStateError):
        # The beginning of the output is in the record; another program of the store may have the agent.
        return None


def _not_found(run_id: str) -> RunNotFoundError:
    return RunNotFoundError(f"There is no run with the id {run_id!r}.")
