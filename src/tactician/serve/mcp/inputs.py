"""Requests of runs as requests of the protocol: forms for people, calls of the client's model, and its roots."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY
from pydantic import JsonValue

from tactician.runs import PendingRequest
from tactician.runs.outcomes.suspension import Response
from tactician.serve.mcp.client_model import ROOTS, SAMPLING
from tactician.serve.mcp.forms import build_elicitation, read_elicitation

Input: TypeAlias = types.CreateMessageResult | types.CreateMessageResultWithTools | types.ListRootsResult
InputAnswer: TypeAlias = Input | types.ElicitResult


def find_method(request: PendingRequest) -> str:
    """Return the method by which the client answers a request."""
    asked = request.client_request
    return "elicitation/create" if asked is None else str(asked.get("method"))


def build_input(request: PendingRequest) -> types.InputRequest:
    """Return the request for the client."""
    match find_method(request):
        case method if method == SAMPLING:
            params = (request.client_request or {}).get("params")
            return types.CreateMessageRequest(params=types.CreateMessageRequestParams.model_validate(params))
        case method if method == ROOTS:
            return types.ListRootsRequest()
    return types.ElicitRequest(params=build_elicitation(request))


def name_inputs(requests: Iterable[PendingRequest]) -> dict[str, PendingRequest]:
    """Return requests by their keys: the key that the program gave, else the id."""
    named: dict[str, PendingRequest] = {}
    for request in requests:
        named[request.key if request.key and request.key not in named else request.id] = request
    return named


def read_input(request: PendingRequest, answer: InputAnswer) -> Response:
    """Return the answer of a client as the response to a request.

    Raises:
        ResponseError: when it does not have the form of the request.
    """
    if isinstance(answer, types.ElicitResult):
        return read_elicitation(request, answer)
    if isinstance(answer, types.ListRootsResult):
        roots: list[JsonValue] = [{"uri": str(root.uri), "name": root.name} for root in answer.roots]
        return roots
    blocks = answer.content if isinstance(answer.content, list) else [answer.content]
    return "\n".join(block.text for block in blocks if isinstance(block, types.TextContent))


def fits(request: PendingRequest, answer: InputAnswer) -> bool:
    """Return whether an answer is one to a request of this kind."""
    match find_method(request):
        case method if method == SAMPLING:
            return isinstance(answer, types.CreateMessageResult | types.CreateMessageResultWithTools)
        case method if method == ROOTS:
            return isinstance(answer, types.ListRootsResult)
    return isinstance(answer, types.ElicitResult)


def is_closed(answer: InputAnswer) -> bool:
    """Return whether the person has closed the form without an answer."""
    return isinstance(answer, types.ElicitResult) and answer.action == "cancel"


def create_capability_error(requests: Iterable[PendingRequest]) -> MCPError:
    """Return the error for a client that cannot do what requests need."""
    names = {SAMPLING: "sampling", ROOTS: "roots"}
    missing: dict[str, JsonValue] = {names.get(find_method(request), "elicitation"): {} for request in requests}
    message = f"This needs a client with {' and '.join(missing)}."
    return MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, message, {"requiredCapabilities": missing})
