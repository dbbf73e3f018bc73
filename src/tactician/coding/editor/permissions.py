"""Permissions: what an agent asks before it changes a file or runs a command, as a question of the editor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from acp.schema import AllowedOutcome, PermissionOption, RequestPermissionResponse, ToolCallUpdate

from tactician.coding.editor.updates import UpdateWriter
from tactician.llm import ToolCall
from tactician.runs import PendingRequest, approve, reject
from tactician.runs.outcomes.suspension import Approval

AskEditor: TypeAlias = Callable[[ToolCallUpdate, list[PermissionOption]], Awaitable[RequestPermissionResponse]]
_ONCE: Final = PermissionOption(option_id="allow", name="Allow", kind="allow_once")
_NEVER: Final = PermissionOption(option_id="reject", name="Reject", kind="reject_once")
_UNANSWERED: Final = "The editor can only ask whether something is allowed. Go on without this answer."


class Permissions:
    """Permissions of a session: asked for, or given for the rest of it.

    Args:
        ask: asks the editor.
        updates: the updates of the session, which name the calls.
    """

    def __init__(self, ask: AskEditor, updates: UpdateWriter) -> None:
        self._ask = ask
        self._updates = updates
        self._allowed: set[str] = set()

    async def answer(self, request: PendingRequest) -> Approval | None:
        """Return the answer to a request of the agent; `None` when the user has cancelled instead.

        A question that is not about a permission gets none: the protocol has no way to put it to the user. Neither does
        a request for people with a role: the protocol does not say who the user is.
        """
        if request.required_role is not None:
            return reject(f"This needs the role {request.required_role!r}, which nobody has in an editor.")
        if request.kind not in ("approval", "confirmation"):
            return reject(_UNANSWERED)
        call = request.call
        if call is not None and call.name in self._allowed:
            return approve()
        reply = await self._ask(self._describe(request, call), _list_options(call))
        if not isinstance(outcome := reply.outcome, AllowedOutcome):
            return None
        if call is not None and outcome.option_id == _name_always(call):
            self._allowed.add(call.name)
            return approve()
        return approve() if outcome.option_id == _ONCE.option_id else reject("The user has rejected it.")

    def _describe(self, request: PendingRequest, call: ToolCall | None) -> ToolCallUpdate:
        if call is None:
            return ToolCallUpdate(tool_call_id=request.id, title=request.mask().prompt, kind="other", status="pending")
        return ToolCallUpdate(tool_call_id=self._updates.name_call(call), status="pending")


def _list_options(call: ToolCall | None) -> list[PermissionOption]:
    if call is None:
        return [_ONCE, _NEVER]
    words = f"Always allow {call.name.replace('_', ' ')}"
    return [_ONCE, PermissionOption(option_id=_name_always(call), name=words, kind="allow_always"), _NEVER]


def _name_always(call: ToolCall) -> str:
    return f"always:{call.name}"
