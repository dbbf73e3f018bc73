"""Answers of people to the requests of runs, as their programs send them."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from tactician.errors import ResponseError
from tactician.runs import PendingRequest, approve, reject
from tactician.runs.outcomes.suspension import Response


def read_answer(request: PendingRequest, answer: JsonValue) -> Response:
    """Return an answer in JSON as the response to a request.

    An approval is `{"approved": true}`, with other arguments as `editedArgs`, or `{"approved": false}` with a `reason`;
    a confirmation is `{"confirmed": true}`. Both may also be `true` or `false`.

    Raises:
        ResponseError: when the arguments are not an object.
    """
    if request.kind == "approval" and isinstance(answer, dict):
        if answer.get("approved", answer.get("granted")) is not True:
            return reject(str(answer.get("reason") or ""))
        return approve(_find_arguments(request, answer))
    if request.kind == "confirmation" and isinstance(answer, dict):
        return answer.get("confirmed", answer.get("value", answer.get("approved"))) is True
    return answer


def decline_request(request: PendingRequest) -> Response:
    """Return the response of a person who does not answer a request."""
    return RuntimeError("the person declined to call it") if request.kind == "tool" else reject("the person declined")


def _find_arguments(request: PendingRequest, answer: Mapping[str, JsonValue]) -> Mapping[str, object] | None:
    arguments = answer.get("editedArgs")
    if arguments is not None and not isinstance(arguments, dict):
        raise ResponseError(f"{request.id}: editedArgs must be an object with the arguments of the tool.")
    return arguments
