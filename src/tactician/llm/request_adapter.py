"""Adaptation of requests to models that lack a feature, so that the turn loop need not know.

A request asks for tools or an output schema. `adapt_request` rewrites it for a model that lacks either:

- no tool calling: the model writes JSON, under a schema, that is either a call or the answer; earlier calls are words;
- no schema-constrained output, but tools: the answer is the arguments of a tool;
- neither: the schema goes into the prompt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from pydantic_core import from_json, to_json

from tactician.llm.messages import AssistantMessage, Message, SystemMessage, Text, ToolCall, ToolResult, UserMessage
from tactician.llm.model import Features, JsonSchema, ModelRequest, ModelResponse, OutputSpec, ToolSpec
from tactician.llm.schema import close_schema, format_schema_instructions, hoist_definitions, is_strict

RestoreResponse: TypeAlias = Callable[[ModelResponse], ModelResponse]

ANSWER_TOOL = "final_answer"
_MOST_REPEATS = 2


def adapt_request(request: ModelRequest, features: Features) -> tuple[ModelRequest, RestoreResponse | None]:
    """Return the request as the model accepts it, and a function that restores its response.

    The function is `None` if the model has all features that the request needs.
    """
    if request.tools and not features.tools:
        chosen = _with_choice(request)
        adapted, restore = adapt_request(chosen, features)
        return adapted, _chain(restore, lambda response: _restore_choice(request, response))
    if not features.tools and any(map(_has_tools, request.messages)):  # another model's calls, as after a handoff
        request = replace(request, messages=tuple(_without_tools(request.messages)))
    if request.output is not None and not features.json_schema:
        if request.tools and request.tool_choice not in ("auto", "none"):
            return replace(request, output=None), None  # the model must call a tool now, and cannot answer yet
        if features.tools:
            name = _answer_tool_name(request)
            return _with_answer_tool(request, request.output, name), lambda response: _restore_answer(response, name)
        return _with_schema_in_prompt(request, request.output), None
    return request, None


def _chain(first: RestoreResponse | None, second: RestoreResponse) -> RestoreResponse:
    return second if first is None else lambda response: second(first(response))


# A model without tool calling: a choice, written as JSON.


def _with_choice(request: ModelRequest) -> ModelRequest:
    return replace(
        request,
        messages=_with_instructions(_without_tools(request.messages), _choice_instructions(request)),
        tools=(),
        tool_choice="auto",
        output=_choice_output(request),
    )


def _choice_output(request: ModelRequest) -> OutputSpec:
    definitions: dict[str, object] = {}
    branches: list[object] = []
    for tool in _callable_tools(request):
        parameters = hoist_definitions(close_schema(tool.parameters), f"{tool.name}.", definitions)
        branches.append(_object({"tool": {"const": tool.name}, "arguments": parameters}))
    if request.tool_choice in ("auto", "none") or not branches:
        answer = request.output.schema if request.output is not None else {"type": "string"}
        branches.append(_object({"answer": hoist_definitions(answer, "", definitions)}))
    schema: dict[str, object] = {"anyOf": branches} if len(branches) > 1 else dict(_as_mapping(branches[0]))
    if definitions:
        schema["$defs"] = definitions
    return OutputSpec("next_step", schema, strict=is_strict(schema))


def _object(properties: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _callable_tools(request: ModelRequest) -> Iterable[ToolSpec]:
    """Return the tools that may be called now. A small model can repeat a call for ever: then it has to answer."""
    if request.tool_choice == "none":
        return ()
    counts = Counter((call.name, call.arguments) for call in _calls(_since_the_last_question(request.messages)))
    if counts and max(counts.values()) >= _MOST_REPEATS:
        return ()
    if request.tool_choice in ("auto", "required"):
        return request.tools
    return (tool for tool in request.tools if tool.name == request.tool_choice)


def _calls(messages: Iterable[Message]) -> Iterable[ToolCall]:
    return (call for m in messages if isinstance(m, AssistantMessage) for call in m.tool_calls)


def _since_the_last_question(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    asked = max((n for n, message in enumerate(messages) if isinstance(message, UserMessage)), default=0)
    return messages[asked:]


def _choice_instructions(request: ModelRequest) -> str:
    tools = "\n".join(f"- {tool.name}{_signature(tool.parameters)}: {tool.description}" for tool in request.tools)
    return (
        f"You can use these tools:\n{tools}\n"
        'To use one, write {"tool": its name, "arguments": {...}}. You will then see its result.\n'
        'When you know enough, write {"answer": your answer}.'
    )


def _signature(parameters: JsonSchema) -> str:
    properties = _as_mapping(parameters.get("properties") or {})
    return f"({', '.join(properties)})"


def _has_tools(message: Message) -> bool:
    return isinstance(message, ToolResult) or (isinstance(message, AssistantMessage) and bool(message.tool_calls))


def _without_tools(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the conversation with calls and results in words: a small model would imitate calls in JSON for ever."""
    calls: tuple[ToolCall, ...] = ()
    for message in messages:
        if isinstance(message, ToolResult):
            text = f"{_whose(message, calls)} is: {message.content}\nIf that is enough, give the answer."
            yield UserMessage((Text(text), *message.images) if message.images else text)
        elif isinstance(message, AssistantMessage) and message.tool_calls:
            calls = message.tool_calls
            yield AssistantMessage((Text("\n".join(f"I used {c.name} with {c.arguments}." for c in calls)),))
        else:
            yield message


def _whose(result: ToolResult, calls: tuple[ToolCall, ...]) -> str:
    """Return the name of a result: among several, the result needs the call that it belongs to."""
    call = next((call for call in calls if call.id == result.call_id), None)
    return "Its result" if len(calls) < 2 or call is None else f"The result of {call.name} with {call.arguments}"


def _restore_choice(request: ModelRequest, response: ModelResponse) -> ModelResponse:
    cut_off = request.output is None and response.finish_reason == "length"
    try:
        choice = _as_mapping(from_json(response.message.text, allow_partial="trailing-strings" if cut_off else "off"))
    except ValueError:
        return response
    if "tool" in choice and not cut_off:
        call_id = f"call_{sum(1 for _ in _calls(request.messages)) + 1}"
        arguments = to_json(choice.get("arguments") or {}).decode()
        call = ToolCall(call_id, str(choice["tool"]), arguments)
        return replace(response, message=_replace_text(response, call), finish_reason="tool_calls")
    if "answer" not in choice:
        return response
    answer = choice["answer"]
    text = answer if request.output is None and isinstance(answer, str) else to_json(answer).decode()
    return replace(response, message=_replace_text(response, Text(text)))


def _replace_text(response: ModelResponse, part: Text | ToolCall) -> AssistantMessage:
    """Return the message with this in place of its text and calls; its thinking stays."""
    kept = (part for part in response.message.parts if not isinstance(part, Text | ToolCall))
    return AssistantMessage((*kept, part))


# A model with tools, but without a schema for its answer: the answer is a call.


def _answer_tool_name(request: ModelRequest) -> str:
    """Return `ANSWER_TOOL`, with a number if the request has a tool of this name."""
    taken = {tool.name for tool in request.tools}
    names = (ANSWER_TOOL, *(f"{ANSWER_TOOL}_{number}" for number in range(2, len(taken) + 2)))
    return next(name for name in names if name not in taken)


def _with_answer_tool(request: ModelRequest, output: OutputSpec, name: str) -> ModelRequest:
    tool = ToolSpec(name, "Give the final answer with this, once you know it.", output.schema)
    choice = "required" if request.tools and request.tool_choice != "none" else name
    return replace(request, tools=(*request.tools, tool), tool_choice=choice, output=None)


def _restore_answer(response: ModelResponse, name: str) -> ModelResponse:
    for call in response.message.tool_calls:
        if call.name == name:
            reason = "stop" if response.finish_reason == "tool_calls" else response.finish_reason
            return replace(response, message=_replace_text(response, Text(call.arguments)), finish_reason=reason)
    return response


# A model with neither: the schema goes into the prompt.


def _with_schema_in_prompt(request: ModelRequest, output: OutputSpec) -> ModelRequest:
    messages = _with_instructions(request.messages, format_schema_instructions(output.schema))
    return replace(request, messages=messages, output=None)


def _with_instructions(messages: Iterable[Message], instructions: str) -> tuple[Message, ...]:
    first, *rest = messages
    if isinstance(first, SystemMessage):
        return (SystemMessage(f"{first.text}\n\n{instructions}"), *rest)
    return (SystemMessage(instructions), first, *rest)


def _as_mapping(value: object) -> Mapping[str, object]:
    if isinstance(value, dict):
        return value
    raise ValueError("a JSON object is needed")
