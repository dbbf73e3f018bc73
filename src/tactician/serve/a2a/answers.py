"""Questions of runs as messages, and messages as answers to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from a2a.utils.errors import InvalidParamsError
from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from tactician.a2a import A2aMessage
from tactician.a2a.messages import A2aData, A2aPart
from tactician.a2a.questions import REQUEST_ID, REQUESTS
from tactician.llm import Text
from tactician.runs import PendingRequest, approve, reject
from tactician.runs.outcomes.suspension import Response
from tactician.serve.a2a.settings import A2aSettings

_YES = frozenset({"yes", "y", "true", "ok", "okay", "approve", "approved"})
_NO = frozenset({"no", "n", "false", "reject", "rejected", "deny"})


def list_questions(pending: Iterable[PendingRequest], settings: A2aSettings) -> tuple[PendingRequest, ...]:
    """Return the requests that the other side may answer: those for a role are for people of this program.

    So are approvals, unless the settings say otherwise: who sends a task does not decide what may be done here.
    """
    return tuple(
        request
        for request in pending
        if request.is_for_people
        and not request.is_answered
        and request.required_role is None
        and (request.kind != "approval" or settings.lets_callers_approve)
    )


def create_question(questions: Sequence[PendingRequest]) -> tuple[A2aPart, ...]:
    """Return the parts of a message that asks: the prompts as text, and the requests with their forms as data."""
    requests = cast("JsonValue", [_describe(request) for request in questions])
    return (Text("\n".join(_format(request) for request in questions)), A2aData({REQUESTS: requests}))


def read_answer(message: A2aMessage, questions: Sequence[PendingRequest]) -> tuple[str, Response]:
    """Return which request a message answers, and the answer.

    Raises:
        InvalidParamsError: when there is no such request, or the answer has to be yes or no.
    """
    request_id = message.metadata.get(REQUEST_ID)
    chosen = [request for request in questions if request_id in (None, request.id)]
    if not chosen:
        question_ids = ", ".join(request.id for request in questions)
        raise InvalidParamsError(f"The task does not ask {request_id!r}; it asks: {question_ids}.")
    request = chosen[0]
    if request.kind in ("confirmation", "approval"):
        return request.id, _read_decision(message)
    return request.id, _read_value(message)


def _read_value(message: A2aMessage) -> Response:
    match message.data:
        case {"granted": False, **rest}:
            return reject(str(rest.get("reason", "")))
    return message.data if message.has_data else message.text


def _read_decision(message: A2aMessage) -> Response:
    match message.data:
        case bool(granted):
            return granted
        case {"granted": bool(granted), **rest} | {"value": bool(granted), **rest}:
            return approve() if granted else reject(str(rest.get("reason", "")))
    word = message.text.strip().rstrip(".!").lower()
    if word in _YES or word in _NO:
        return word in _YES
    raise InvalidParamsError("The task asks for a decision: answer with yes or no.")


def _describe(request: PendingRequest) -> dict[str, object]:
    request = request.mask()
    facts = {
        "id": request.id,
        "kind": request.kind,
        "prompt": request.prompt,
        "schema": to_jsonable_python(request.schema),
        "problem": request.problem,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _format(request: PendingRequest) -> str:
    request = request.mask()
    return request.prompt if request.problem is None else f"{request.prompt} ({request.problem})"
