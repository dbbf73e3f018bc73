"""Requests of waiting runs as interrupts, and what a client sends to resume them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Final, cast

from ag_ui.core import Interrupt, ResumeEntry
from pydantic import JsonValue

from tactician.errors import ResponseError
from tactician.frozen import frozen
from tactician.runs import PendingRequest
from tactician.runs.outcomes.suspension import Response
from tactician.serve.answers import decline_request, read_answer

_BETWEEN: Final = ":"
_REASONS: Final = {
    "approval": "tool_call",
    "tool": "tool_call",
    "form": "input_required",
    "confirmation": "confirmation",
}
_CONFIRMATION: Final[dict[str, JsonValue]] = {"type": "boolean"}


@frozen
class Resumption:
    """Request of a client to resume a waiting run.

    Attributes:
        run_id: id of the run.
        entries: the answers of the client, by the ids of requests.
    """

    run_id: str
    entries: Mapping[str, ResumeEntry]

    def read(
        self, pending: Iterable[PendingRequest], now: float, answered: Collection[str] = ()
    ) -> Mapping[str, Response]:
        """Return the responses to the requests of the run, without those that are answered otherwise.

        Raises:
            ResponseError: when the client does not answer all that the run waits for, or too late.
        """
        asked = {
            request.id: request
            for request in pending
            if request.is_for_people and not (request.is_answered or request.id in answered)
        }
        if unknown := self.entries.keys() - asked.keys():
            raise ResponseError(f"The run {self.run_id} does not wait for {', '.join(sorted(unknown))}.")
        if missing := asked.keys() - self.entries.keys():
            raise ResponseError(f"The run {self.run_id} also waits for {', '.join(sorted(missing))}: answer all of it.")
        if late := [request.id for request in asked.values() if request.is_overdue(now)]:
            raise ResponseError(f"The time for {', '.join(late)} is over.")
        return {name: _read(asked[name], entry) for name, entry in self.entries.items()}


def read_resumption(entries: Iterable[ResumeEntry]) -> Resumption:
    """Return what a client sends to resume a run, by the ids of the interrupts.

    Raises:
        ResponseError: when the ids do not belong to interrupts of a single run.
    """
    answered = [(entry, *entry.interrupt_id.partition(_BETWEEN)) for entry in entries]
    runs = {run_id for _, run_id, _, _ in answered}
    if len(runs) != 1 or not all(between for _, _, between, _ in answered):
        raise ResponseError("Each interruptId must belong to an interrupt, and all to the same run.")
    return Resumption(runs.pop(), {request_id: entry for entry, _, _, request_id in answered})


def create_interrupt(run_id: str, request: PendingRequest, tool_call_id: str | None, owner: str | None) -> Interrupt:
    """Return a request of a waiting run as an interrupt.

    Args:
        run_id: id of the run.
        request: the request.
        tool_call_id: id of the call of a tool that it is about, if any.
        owner: id of the subagent that asks, if any.
    """
    request = request.mask()
    deadline = request.deadline
    return Interrupt(
        id=f"{run_id}{_BETWEEN}{request.id}",
        reason=_REASONS[request.kind],
        message=request.prompt if request.problem is None else f"{request.prompt} ({request.problem})",
        tool_call_id=tool_call_id,
        response_schema=_build_schema(request),
        expires_at=None if deadline is None else datetime.fromtimestamp(deadline, UTC).isoformat(),
        subagent_run_id=owner,
        metadata={"tactician": {"run_id": run_id, "request": request.id, "role": request.required_role}},
    )


def _read(request: PendingRequest, entry: ResumeEntry) -> Response:
    if entry.status == "cancelled":
        return decline_request(request)
    return read_answer(request, cast("JsonValue", entry.payload))


def _build_schema(request: PendingRequest) -> dict[str, JsonValue] | None:
    arguments = cast("dict[str, JsonValue]", dict(request.schema or {}))
    match request.kind:
        case "approval":
            fields: dict[str, JsonValue] = {"approved": {"type": "boolean"}, "reason": {"type": "string"}}
            edited: dict[str, JsonValue] = {"editedArgs": arguments} if arguments else {}
            return {"type": "object", "properties": {**fields, **edited}, "required": ["approved"]}
        case "confirmation":
            return _CONFIRMATION
        case "tool":
            return None
    return arguments or None
