"""What OpenAI refuses of `POST /responses`: its API reference, and the errors that its users report."""

from __future__ import annotations

import re

from tests.support.rules import Body, Refused, check_strict_schema, listed, require

_FIELDS = frozenset(
    {"model", "input", "instructions", "store", "include", "tools", "tool_choice", "parallel_tool_calls", "text"}
    | {"reasoning", "max_output_tokens", "temperature", "top_p", "stream"}
)
_REASONS = re.compile(r"o[134]|gpt-5(?!.*chat)")
_SAMPLES_WHEN_CALM = re.compile(r"gpt-5\.[1-4](?!.*(codex|chat|pro))")
_EFFORTS = {
    "o": {"low", "medium", "high"},
    "gpt-5": {"minimal", "low", "medium", "high"},
    "gpt-5.1": {"none", "low", "medium", "high"},
    "gpt-5.2": {"none", "low", "medium", "high", "xhigh"},
    "gpt-5.4": {"none", "low", "medium", "high", "xhigh"},
}
FOREIGN = "foreign"
"""How encrypted thinking begins that another organisation's model wrote."""
_MESSAGE_FIELDS = frozenset({"type", "role", "content", "phase"})
_PARTS = {
    "user": {"input_text", "input_image", "input_file"},
    "assistant": {"output_text", "refusal"},
    "system": {"input_text"},
    "developer": {"input_text"},
}


def check_responses(model: str, body: Body) -> None:
    """Raises `Refused` when OpenAI would refuse the request for the model."""
    for name in body:
        require(name in _FIELDS, f"Unknown parameter: '{name}'.")
    require(body.get("input"), "Missing required parameter: 'input'.")
    _check_options(model, body)
    _check_input(model, body)
    _check_tools(body)
    text = body.get("text")
    if isinstance(text, dict) and isinstance(form := text.get("format"), dict):
        require(form["type"] == "json_schema" and re.fullmatch(r"[\w-]{1,64}", form["name"]), "text.format")
        if form.get("strict"):
            check_strict_schema(form["schema"])


def _check_options(model: str, body: Body) -> None:
    reasons = _REASONS.match(model) is not None
    told = body.get("reasoning")
    effort = told.get("effort") if isinstance(told, dict) else None
    require(reasons or told is None, "Unsupported parameter: 'reasoning.effort' is not supported with this model.")
    if effort is not None:
        family = max((name for name in _EFFORTS if model.startswith(name)), key=len)
        require(effort in _EFFORTS[family], f"Unsupported value: '{effort}' is not supported with the '{model}' model.")
    may_sample = not reasons or (_SAMPLES_WHEN_CALM.match(model) and effort in (None, "none"))
    for name in ("temperature", "top_p"):
        require(may_sample or name not in body, f"Unsupported parameter: '{name}' is not supported with this model.")
    encrypted = "reasoning.encrypted_content" in (body.get("include") or [])  # type: ignore[operator]
    require(reasons or not encrypted, "Encrypted content is not supported with this model.")
    limit = body.get("max_output_tokens", 16)
    require(isinstance(limit, int) and limit >= 16, "Invalid 'max_output_tokens': integer below minimum value.")


def _check_input(model: str, body: Body) -> None:
    open_calls: set[object] = set()
    for item in listed(body["input"]):
        kind = item.get("type")
        if kind == "message":
            require(item.keys() <= _MESSAGE_FIELDS, f"Unknown parameter: {item.keys() - _MESSAGE_FIELDS}.")
            phases = {None, "commentary", "final_answer"} if item["role"] == "assistant" else {None}
            require(item.get("phase") in phases, f"Invalid value: '{item.get('phase')}'.")
            for part in listed(item["content"]):
                allowed = _PARTS[str(item["role"])]
                require(part.get("type") in allowed, f"Invalid value: '{part.get('type')}'.")
        elif kind == "function_call":
            require(isinstance(item.get("call_id"), str) and isinstance(item.get("arguments"), str), "function_call")
            open_calls.add(item["call_id"])
        elif kind == "function_call_output":
            require(item["call_id"] in open_calls, f"No tool call found for function call output {item['call_id']}.")
            open_calls.discard(item["call_id"])
        elif kind == "reasoning":
            require(_REASONS.match(model), "Reasoning input items can only be provided to a reasoning model.")
            require(item.get("encrypted_content"), f"Item '{item.get('id')}' not found: `store` is set to false.", 404)
            if str(item["encrypted_content"]).startswith(FOREIGN):
                raise Refused("The encrypted content could not be verified.", code="invalid_encrypted_content")
        else:
            require(kind in ("web_search_call", "code_interpreter_call"), f"Invalid value: '{kind}'.")
    if open_calls:
        raise Refused(f"No tool output found for function call {open_calls.pop()}.")


def _check_tools(body: Body) -> None:
    names = []
    for tool in listed(body.get("tools")):
        if tool.get("type") == "function":
            require({"type", "name", "parameters"} <= tool.keys(), "Missing required parameter: 'tools[0].name'.")
            names.append(tool["name"])
            # What is not said to be loose is strict in this API.
            if tool.get("strict", True):
                check_strict_schema(tool["parameters"])
        elif tool.get("type") == "code_interpreter":
            require("container" in tool, "Missing required parameter: 'tools[0].container'.")
        else:
            require(tool.get("type") == "web_search", f"Invalid value: '{tool.get('type')}'.")
    choice = body.get("tool_choice", "auto")
    if isinstance(choice, dict):
        require(choice.get("type") == "function" and choice.get("name") in names, "Tool choice not found in tools.")
    else:
        require(choice in ("auto", "none", "required"), "Invalid value for 'tool_choice'.")
        require(choice == "auto" or body.get("tools"), "tool_choice is only allowed when tools are specified.")
