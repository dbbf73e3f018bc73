"""Decisions of people on tool calls, and the responses of callers that run tools themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pydantic
from pydantic_core import to_json

from tactician.llm import ToolCall, ToolResult
from tactician.loop.model_call import name_request
from tactician.runs import PendingRequest, RunContext
from tactician.runs.outcomes.suspension import Approval, PendingKind, ReportedError, Suspended
from tactician.runs.requests.answers import StoredAnswer
from tactician.tools import Tool
from tactician.tools.tool import describe_result
from tactician.tools.traits import NO_TRAITS


def apply_decision(call: ToolCall, tool: Tool | None, context: RunContext) -> ToolCall | ToolResult:
    """Return the call to run, or its result when a response replaces or rejects it.

    Raises:
        Suspended: when nobody has decided yet.
    """
    traits = NO_TRAITS if tool is None else tool.traits
    asks = not traits.client_side and traits.needs_approval and traits.is_approval_needed(_parse_arguments(call))
    if tool is None or not (traits.client_side or asks):
        return call
    request_id = name_request(call, context)
    if request_id not in context.responses:
        shown = f"{call.name}({call.arguments})"
        kind: PendingKind = "approval" if asks else "tool"
        prompt = tool.describe_approval(call) if asks else f"Call {shown}, and say what it gives."
        raise Suspended(
            PendingRequest(
                request_id,
                kind,
                prompt,
                call,
                context.path,
                tool.spec.parameters,
                required_role=traits.required_role if asks else None,
            )
        )
    response = context.responses[request_id]
    if asks and isinstance(response, bool | dict):
        response = _parse_approval(response)
    if isinstance(response, Approval) and asks:
        return _apply_approval(call, response)
    if isinstance(response, Exception):
        reported = isinstance(response, ReportedError)
        text = str(response) if reported else f"{type(response).__name__}: {response}"
        return ToolResult(call.id, call.name, text, is_error=True)
    text = response.text if isinstance(response, StoredAnswer) else describe_result(response)
    return ToolResult(call.id, call.name, text)


def _parse_approval(response: bool | dict[str, object]) -> object:
    """Return the decision in a response, also from stored JSON; else the response itself."""
    if isinstance(response, bool):
        return Approval(response)
    try:
        return pydantic.TypeAdapter(Approval).validate_python(response) if "granted" in response else response
    except pydantic.ValidationError:
        return response


def _apply_approval(call: ToolCall, decision: Approval) -> ToolCall | ToolResult:
    if not decision.granted:
        why = f": {decision.reason}" if decision.reason else "."
        return ToolResult(call.id, call.name, f"Not run: the call was rejected{why}", is_error=True)
    if decision.arguments is None:
        return call
    return replace(call, arguments=to_json(decision.arguments).decode())


def _parse_arguments(call: ToolCall) -> Mapping[str, object]:
    try:
        return call.parse_arguments()
    except ValueError:
        return {}
