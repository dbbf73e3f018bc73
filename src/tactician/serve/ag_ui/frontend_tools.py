"""Tools of the application: offered to the agent, and answered with messages of the next run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, cast

from ag_ui.core import AssistantMessage, RunAgentInput, TextPart, ToolMessage, UserMessage
from ag_ui.core import Tool as FrontendTool

from tactician.frozen import frozen
from tactician.llm.model import JsonSchema, ToolSpec
from tactician.runs import PendingRequest
from tactician.runs.outcomes.suspension import ReportedError, Response
from tactician.serve.ag_ui.subagents import find_run_id, name_request_call
from tactician.serve.problems import ApiError

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MOST: Final = 100
_LONGEST: Final = 4000
_NO_ARGUMENTS: Final[JsonSchema] = {"type": "object", "properties": {}}


@frozen
class ToolAnswers:
    """Results of tools that the application has called.

    Attributes:
        run_id: id of the run whose calls they answer.
        messages: the results, by the ids of the calls for the client.
    """

    run_id: str
    messages: Mapping[str, ToolMessage]

    def read(self, pending: Iterable[PendingRequest]) -> Mapping[str, Response]:
        """Return the responses to those requests of the run that are answered, by their ids."""
        asked = {request.id: name_request_call(self.run_id, request) for request in pending if request.kind == "tool"}
        messages = {request_id: self.messages.get(name or "") for request_id, name in asked.items()}
        return {request_id: _read(message) for request_id, message in messages.items() if message is not None}


def read_tools(tools: Iterable[FrontendTool]) -> tuple[ToolSpec, ...]:
    """Return the tools of an application, as the model sees them.

    Raises:
        ApiError: when a model could not be given one of them.
    """
    specs = tuple(map(_read_tool, tools))
    if len({spec.name for spec in specs}) < len(specs):
        raise ApiError(422, "tools: Two tools have the same name.")
    if len(specs) > _MOST:
        raise ApiError(422, f"tools: There must not be more than {_MOST}.")
    return specs


def find_answers(request: RunAgentInput) -> ToolAnswers | None:
    """Return the results of tools after the last message of the user, as far as they are of a single run."""
    results: dict[str, ToolMessage] = {}
    for message in reversed(request.messages):
        if isinstance(message, UserMessage):
            break
        if isinstance(message, ToolMessage):
            results[message.tool_call_id] = message
    if not results:
        return None
    run_id = find_run_id(next(iter(results)))
    return ToolAnswers(run_id, {name: message for name, message in results.items() if find_run_id(name) == run_id})


def find_left_run(request: RunAgentInput) -> str | None:
    """Return the id of the run whose latest calls the conversation may have left behind without a result."""
    for message in reversed(request.messages):
        if isinstance(message, AssistantMessage) and message.tool_calls:
            return find_run_id(message.tool_calls[-1].id)
    return None


def _read_tool(tool: FrontendTool) -> ToolSpec:
    parameters = tool.parameters or _NO_ARGUMENTS
    if not _NAME.fullmatch(tool.name):
        raise ApiError(422, f"tools: {tool.name[:100]!r} is not a name of 1 to 64 letters, digits, _ and -.")
    if not isinstance(parameters, Mapping) or parameters.get("type", "object") != "object":
        raise ApiError(422, f"tools: The parameters of {tool.name} must be the JSON schema of an object.")
    if len(tool.description) > _LONGEST:
        raise ApiError(422, f"tools: The description of {tool.name} is longer than {_LONGEST} characters.")
    return ToolSpec(tool.name, tool.description, cast("JsonSchema", {"type": "object", **parameters}))


def _read(message: ToolMessage) -> Response:
    return ReportedError(message.error) if message.error else read_text(message)


def read_text(message: ToolMessage) -> str:
    """Return the text of a result; models get no other parts of it."""
    if isinstance(message.content, str):
        return message.content
    return "".join(part.text for part in message.content if isinstance(part, TextPart))
