"""What the providers refuse of `POST /chat/completions`: their references, and the errors that their users report."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tactician.llm.wire.dialect import EFFORTS
from tests.support.rules import Body, Refused, check_strict_schema, listed, require

_FIELDS = frozenset(
    {"model", "messages", "temperature", "top_p", "tools", "tool_choice", "parallel_tool_calls"}
    | {"response_format", "stream", "stream_options"}
)
_MESSAGE_FIELDS = frozenset({"role", "content", "tool_calls", "tool_call_id"})
_CALL_FIELDS = frozenset({"id", "type", "function"})


@dataclass(frozen=True, slots=True)
class ChatRules:
    """What one provider takes.

    Attributes:
        limit: the name of the field that limits the answer.
        efforts: the values of `reasoning_effort`, by a pattern of the models' names.
        calm: the models that take sampling parameters; all, when empty.
        call_id: what the id of a call looks like.
        thinking_tools: the models that want their thinking back beside their calls.
        signed: the models that want the first call of each answer signed.
        fields: further fields that it knows.
        replayed: what it sends with an answer and takes back.
        stream_options: whether it knows them.
        strict_order: whether it refuses a message of the user after a result of a tool, and instructions after either.
    """

    limit: str = "max_tokens"
    efforts: tuple[tuple[str, frozenset[str]], ...] = ()
    calm: str = ""
    call_id: str = "(?s).+"
    roles: frozenset[str] = frozenset({"system", "user", "assistant", "tool"})
    parts: frozenset[str] = frozenset({"text", "image_url"})
    json_schema: bool = True
    strict_schemas: bool = False
    thinking_tools: str = ""
    signed: str = ""
    fields: frozenset[str] = frozenset()
    replayed: frozenset[str] = frozenset()
    stream_options: bool = True
    strict_order: bool = False

    def __call__(self, model: str, body: Body) -> None:
        """Raises `Refused` when the provider would refuse the request for the model."""
        for name in body:
            known = name in _FIELDS or name in self.fields or name in (self.limit, "reasoning_effort")
            require(known, f"{name}: Extra inputs are not permitted")
        self._check_options(model, body)
        self._check_tools(model, body)
        self._check_messages(model, body)
        if isinstance(form := body.get("response_format"), dict):
            require(self.json_schema, "This response_format type is unavailable now")
            definition = form["json_schema"]
            require(re.fullmatch(r"[\w-]{1,64}", definition["name"]), "response_format.json_schema.name")
            if self.strict_schemas and definition.get("strict"):
                check_strict_schema(definition["schema"])

    def _check_options(self, model: str, body: Body) -> None:
        if (effort := body.get("reasoning_effort")) is not None:
            known = next((some for pattern, some in self.efforts if re.match(pattern, model)), frozenset[str]())
            require(effort in known, f"Model {model} does not support parameter reasoningEffort {effort}.")
        if self.calm and not re.match(self.calm, model):
            require("temperature" not in body and "top_p" not in body, "Unsupported parameter: 'temperature'")
        require("stream_options" not in body or body.get("stream"), "stream_options needs stream")
        require("stream_options" not in body or self.stream_options, "stream_options: Extra inputs are not permitted")

    def _check_tools(self, model: str, body: Body) -> None:
        names = [tool["function"]["name"] for tool in listed(body.get("tools"))]  # type: ignore[index]
        choice = body.get("tool_choice", "auto")
        if choice == "auto":
            return
        require(names, "tool_choice is only allowed when tools are specified.")
        if self.thinking_tools and re.match(self.thinking_tools, model):
            require(choice == "none", f"{model} does not support this tool_choice")
        if isinstance(choice, dict):
            require(choice["function"]["name"] in names, "tool_choice is not one of the tools")
        else:
            require(choice in ("none", "required"), "Invalid tool_choice")

    def _check_messages(self, model: str, body: Body) -> None:
        waiting: list[object] = []
        before: object = None
        for message in listed(body["messages"]):
            self._check_names(message, _MESSAGE_FIELDS)
            role, content = message.get("role"), message.get("content")
            is_misplaced = (before, role) == ("tool", "user") or (role == "system" and before not in (None, "system"))
            require(not (self.strict_order and is_misplaced), f"Unexpected role '{role}' after role '{before}'")
            before = role
            require(role in self.roles, f"Unexpected role '{role}'")
            if role == "tool":
                require(message.get("tool_call_id") in waiting, "tool message without a tool call before it")
                waiting.remove(message.get("tool_call_id"))
                continue
            if waiting:
                raise Refused(f"An assistant message with 'tool_calls' must be followed by tool messages: {waiting}")
            for part in listed(content) if isinstance(content, list) else ():
                require(part.get("type") in self.parts, f"unknown content part {part.get('type')}")
            calls = listed(message.get("tool_calls"))
            require(isinstance(content, str | list) or calls, "content must not be null")
            waiting = [call["id"] for call in calls]
            self._check_thinking(model, message)
            for call in calls:
                self._check_call(model, message, call)
        require(not waiting, f"tool calls without an answer: {waiting}")
        ends_well = not self.strict_order or before in ("user", "tool")
        require(ends_well, f"Expected last role User or Tool for serving but got {before}")

    def _check_names(self, given: Body, known: frozenset[str]) -> None:
        for name in given:
            require(name in known or name in self.replayed, f"Invalid JSON payload received. Unknown name {name}")

    def _check_thinking(self, model: str, message: Body) -> None:
        calls = listed(message.get("tool_calls"))
        if self.signed and calls and re.match(self.signed, model):
            extra = calls[0].get("extra_content")
            signature = extra["google"]["thought_signature"] if isinstance(extra, dict) else ""
            require(isinstance(signature, str) and signature, "Function call is missing a thought_signature")
            require(signature != "of somebody else", "Corrupted thought signature.")
        for detail in listed(message.get("reasoning_details")):
            if "signature" in detail:
                text = detail.get("text") or detail.get("data")
                require(detail["signature"] == f"signed {text}", "Invalid `signature` in `thinking` block")

    def _check_call(self, model: str, message: Body, call: Body) -> None:
        self._check_names(call, _CALL_FIELDS)
        require(
            re.fullmatch(self.call_id, str(call["id"])), f"Tool call id was {call['id']} but must be {self.call_id}"
        )
        if self.thinking_tools and re.match(self.thinking_tools, model):
            told = isinstance(message.get("reasoning_content"), str)
            require(told, "The `reasoning_content` in the thinking mode must be passed back to the API.")


_LOW_HIGH = frozenset({"low", "high"})
_ANY = frozenset(EFFORTS)
_USUAL = frozenset({"low", "medium", "high"})

OPENAI = ChatRules(
    limit="max_completion_tokens",
    efforts=((r"gpt-5\.[1-9]", _USUAL | {"none"}), ("gpt-5|o[134]", _USUAL)),
    calm="gpt-4|chatgpt|my-",
    roles=frozenset({"system", "developer", "user", "assistant", "tool"}),
    parts=frozenset({"text", "image_url", "file"}),
    strict_schemas=True,
    fields=frozenset({"seed"}),
)
MISTRAL = ChatRules(
    efforts=(("mistral-small-(latest|2603)|mistral-medium-3-5", frozenset({"none", "high"})),),
    call_id="[a-zA-Z0-9]{9}",
    parts=frozenset({"text", "image_url", "document_url"}),
    fields=frozenset({"prompt_mode", "random_seed"}),
    stream_options=False,
    strict_order=True,
)
MISTRAL_AT_AZURE = replace(MISTRAL, fields=frozenset({"seed"}))
GROK = ChatRules(efforts=(("grok-3-mini", _LOW_HIGH), (r"grok-4\.3", _USUAL)), fields=frozenset({"seed"}))
DEEPSEEK = ChatRules(
    efforts=(("deepseek-v4", _LOW_HIGH | {"max"}),),
    parts=frozenset({"text"}),
    json_schema=False,
    thinking_tools="deepseek-(reasoner|v4)",
    fields=frozenset({"thinking"}),
    replayed=frozenset({"reasoning_content"}),
)
GEMINI = ChatRules(
    efforts=(
        (r"gemini-2\.5-flash", _USUAL | {"none"}),
        (r"gemini-2\.5-pro", _USUAL),
        ("gemini-3", _USUAL | {"minimal"}),
    ),
    signed="gemini-3",
    replayed=frozenset({"extra_content"}),
)
OPEN = ChatRules(
    efforts=((".", _ANY),),
    parts=frozenset({"text", "image_url", "file"}),
    fields=frozenset({"top_k", "seed", "plugins"}),
)
OPENROUTER = replace(OPEN, replayed=frozenset({"reasoning_details"}))
OPENAI_LIKE = replace(OPENAI, efforts=OPEN.efforts, fields=OPEN.fields, calm="")
