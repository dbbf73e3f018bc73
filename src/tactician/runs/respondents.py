"""People and programs that answer the requests of runs, and what they may answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Final

from tactician.errors import ResponseError
from tactician.frozen import frozen
from tactician.runs.suspension import PendingRequest, Response

_AUTHOR: Final = "by"
"""Field of an answer that names who gave it."""


@frozen
class Respondent:
    """Person or program that answers requests.

    Attributes:
        role: the role; a request with a required role takes no answer without it.
        name: the name, which an answer with a field `by` gets.
    """

    role: str | None = None
    name: str | None = None


NOBODY: Final = Respondent()


def admit_response(request: PendingRequest, response: Response, respondent: Respondent) -> Response:
    """Return a response, signed with the name of the respondent where it has a field `by`.

    Raises:
        ResponseError: when the request requires a role that the respondent does not have.
    """
    if request.required_role is not None and respondent.role != request.required_role:
        given = "none was given" if respondent.role is None else f"not {respondent.role!r}"
        problem = f"it needs an answer with the role {request.required_role!r}, {given}"
        raise ResponseError(f"{request.id}: {problem}: pass role={request.required_role!r} if you have it.")
    return response if respondent.name is None else _sign(request, response, respondent.name)


def admit_responses(
    responses: Mapping[str, Response], pending: Iterable[PendingRequest], respondent: Respondent | None
) -> dict[str, Response]:
    """Return responses to requests, each as `admit_response` returns it.

    Raises:
        ResponseError: when a request requires a role that the respondent does not have.
    """
    requests = {request.id: request for request in pending}
    return {name: admit_response(requests[name], one, respondent or NOBODY) for name, one in responses.items()}


def _sign(request: PendingRequest, response: Response, name: str) -> Response:
    properties = (request.schema or {}).get("properties")
    if not isinstance(properties, Mapping) or _AUTHOR not in properties:
        return response
    if isinstance(response, Mapping):
        return {_AUTHOR: name, **response}
    if not is_dataclass(response) or isinstance(response, type) or getattr(response, _AUTHOR, "") is not None:
        return response
    return replace(response, **{_AUTHOR: name}) if _AUTHOR in {field.name for field in fields(response)} else response
