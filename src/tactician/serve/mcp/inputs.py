"""Requests of runs as requests of the protocol: forms for people, calls of the client's model, and its roots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, cast

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY
from pydantic import JsonValue
from pydantic_core import from_json

from tactician.context_format import write_json
from tactician.errors import ResponseError
from tactician.runs import PendingRequest
from tactician.runs.outcomes.suspension import Response
from tactician.serve.answers import decline_request, read_answer
from tactician.serve.mcp.client_model import ROOTS, SAMPLING

_PLAIN: Final = frozenset({"string", "number", "integer", "boolean"})
_KEPT: Final = (
    *("type", "title", "description", "default", "format", "enum", "enumNames", "oneOf", "items"),
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
)
_ANSWER: Final = "answer"
_MOST_SHOWN: Final = 2_000
_APPROVAL: Final[dict[str, object]] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "title": "Approve"},
        "reason": {"type": "string", "title": "Reason", "description": "why not, for the agent"},
    },
    "required": ["approved"],
}
_CONFIRMATION: Final[dict[str, object]] = {
    "type": "object",
    "properties": {"confirmed": {"type": "boolean", "title": "Yes"}},
    "required": ["confirmed"],
}
_TOOL: Final[dict[str, object]] = {
    "type": "object",
    "properties": {_ANSWER: {"type": "string", "title": "Result", "description": "what the tool gave"}},
    "required": [_ANSWER],
}
Input: TypeAlias = types.CreateMessageResult | types.CreateMessageResultWithTools | types.ListRootsResult
InputAnswer: TypeAlias = Input | types.ElicitResult


def build_elicitation(request: PendingRequest) -> types.ElicitRequestFormParams:
    """Return the form of a request."""
    return types.ElicitRequestFormParams(message=_write_message(request), requested_schema=_build_schema(request))


def read_elicitation(request: PendingRequest, result: types.ElicitResult) -> Response:
    """Return what a person answered, as the response to the request. A person who declined has rejected it.

    Raises:
        ResponseError: when it is not JSON, where the form asked for JSON.
    """
    if result.action != "accept":
        return decline_request(request)
    content: Mapping[str, JsonValue] = cast("Mapping[str, JsonValue]", result.content or {})
    if request.kind in ("form", "tool"):
        flat = _flatten(request) if request.kind == "form" else None
        return dict(content) if flat is not None else _read_answer(request, content.get(_ANSWER))
    return read_answer(request, dict(content))


def _read_answer(request: PendingRequest, answer: JsonValue) -> Response:
    if request.kind == "tool" or not isinstance(answer, str):
        return answer
    try:
        return cast("JsonValue", from_json(answer))
    except ValueError as error:
        if (request.schema or {}).get("type") == "string":
            return answer
        raise ResponseError(f"{request.id}: the answer must be JSON: {error}") from error


def _write_message(request: PendingRequest) -> str:
    request = request.mask()
    problem = request.problem and f"The last answer was not valid: {request.problem}"
    place = request.path and f"Asked by {' / '.join(request.path)}."
    needed = ""
    if request.kind == "form" and _flatten(request) is None:
        needed = f"Write JSON in this shape: {write_json(request.schema)[:_MOST_SHOWN]}"
    return "\n".join(part for part in (request.prompt, problem, needed, place) if part)


def _build_schema(request: PendingRequest) -> dict[str, object]:
    match request.kind:
        case "approval":
            return _APPROVAL
        case "confirmation":
            return _CONFIRMATION
        case "tool":
            return _TOOL
    if (flat := _flatten(request)) is not None:
        return flat
    field = {"type": "string", "title": "Answer", "description": "JSON"}
    return {"type": "object", "properties": {_ANSWER: field}, "required": [_ANSWER]}


def _flatten(request: PendingRequest) -> dict[str, object] | None:
    """Return the schema of a form as MCP has it; `None` when a field is neither text, number, yes or no, nor choice."""
    schema = request.schema or {}
    properties, definitions = schema.get("properties"), schema.get("$defs", {})
    if schema.get("type") != "object" or not isinstance(properties, dict) or not isinstance(definitions, dict):
        return None
    fields: dict[str, object] = {}
    for name, field in properties.items():
        if (plain := _flatten_field(field, definitions)) is None:
            return None
        fields[str(name)] = plain
    return {"type": "object", "properties": fields, "required": schema.get("required", [])}


def _flatten_field(field: Mapping[str, object], definitions: Mapping[str, object]) -> dict[str, object] | None:
    resolved = _resolve(field, definitions)
    options = resolved.get("anyOf")
    if isinstance(options, list):
        values = [option for option in options if option.get("type") != "null"]
        if len(values) != 1:
            return None
        resolved = {**resolved, **_resolve(values[0], definitions)}
    plain = {name: resolved[name] for name in _KEPT if resolved.get(name) is not None}
    return plain if _is_plain(plain) else None


def _resolve(field: Mapping[str, object], definitions: Mapping[str, object]) -> dict[str, object]:
    reference = field.get("$ref")
    definition = definitions.get(reference.removeprefix("#/$defs/")) if isinstance(reference, str) else None
    return {**definition, **field} if isinstance(definition, dict) else dict(field)


def _is_plain(field: Mapping[str, object]) -> bool:
    if field.get("type") == "array":  # of choices
        items = field.get("items")
        return isinstance(items, dict) and ("enum" in items or "anyOf" in items)
    if "enum" in field or "oneOf" in field:
        return field.get("type") == "string"
    return field.get("type") in _PLAIN


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
