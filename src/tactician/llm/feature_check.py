"""Checks of requests for features that an instance does not have, before they are sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from tactician.errors import UnsupportedFeatureError
from tactician.frozen import frozen
from tactician.llm.messages import Document, Image, Message, Text, ToolResult, UserMessage
from tactician.llm.model import Features, ModelRequest
from tactician.llm.request_adapter import RestoreResponse, adapt_request
from tactician.loggers import get_logger

OnUnsupported: TypeAlias = Literal["throw", "warn", "ignore"]

_FOR_PARTS: dict[type, str] = {Image: "vision", Document: "documents"}
_logger = get_logger(__name__)


@frozen
class FeatureCheck:
    """Features of an instance, and the reaction to a request that needs more.

    Features have the names that a custom provider's specification gives them: `function_calling`,
    `structured_output`, `reasoning`, `vision`, `documents`, `web_search`, `code_interpreter`.

    Attributes:
        instance: the instance's name in messages.
        supported: the features of the instance.
        mode: `"throw"` raises an error. `"warn"` leaves unsupported features out and logs that; `"ignore"` does not
            log. `adapt_request` replaces tools and output schemas that are left out of the body.
        native_tools_remedy: what makes native tools available, for the error; empty where nothing does.
    """

    instance: str
    supported: frozenset[str]
    mode: OnUnsupported = "throw"
    native_tools_remedy: str = ""

    def __call__(self, request: ModelRequest) -> tuple[ModelRequest, RestoreResponse | None]:
        """Return the request as the instance accepts it, and a function that restores its response.

        Raises:
            UnsupportedFeatureError: when the mode is `"throw"` and a feature is not supported.
        """
        missing = find_missing_features(request, self.supported)
        if not missing:
            return request, None
        for feature in sorted(missing):
            if self.mode == "throw":
                remedy = self.native_tools_remedy if feature in request.options.native_tools else ""
                raise UnsupportedFeatureError(self.instance, feature, self.supported, remedy=remedy)
            if self.mode == "warn":
                feature_names = ", ".join(sorted(self.supported)) or "none"
                _logger.warning(
                    "%s does not support %s (it supports: %s); left out", self.instance, feature, feature_names
                )
        tools, json_schema = "function_calling" in self.supported, "structured_output" in self.supported
        return adapt_request(_without(request, missing), Features(tools=tools, json_schema=json_schema))


def find_missing_features(request: ModelRequest, supported: frozenset[str]) -> set[str]:
    """Return the unsupported features that a request needs."""
    options = request.options
    missing = {name for name in options.native_tools if name not in supported} if options.native_tools else set()
    if request.tools and "function_calling" not in supported:
        missing.add("function_calling")
    if request.output is not None and "structured_output" not in supported:
        missing.add("structured_output")
    if options.reasoning_effort not in (None, "none") and "reasoning" not in supported:
        missing.add("reasoning")
    if "vision" not in supported or "documents" not in supported:
        missing.update(_find_parts(request) - supported)
    return missing


def _find_parts(request: ModelRequest) -> set[str]:
    """Return the features that the images and documents of a request need."""
    parts = (part for message in request.messages for part in _list_parts(message))
    return {_FOR_PARTS[type(part)] for part in parts if type(part) in _FOR_PARTS}


def _list_parts(message: Message) -> Sequence[object]:
    if isinstance(message, ToolResult):
        return message.images
    return message.content if isinstance(message, UserMessage) and not isinstance(message.content, str) else ()


def _without(request: ModelRequest, missing: set[str]) -> ModelRequest:
    """Return the request without the features that `adapt_request` cannot replace."""
    options = request.options
    kept = tuple(name for name in options.native_tools if name not in missing)
    effort = None if "reasoning" in missing else options.reasoning_effort
    messages = request.messages
    if left_out := tuple(kind for kind, feature in _FOR_PARTS.items() if feature in missing):
        messages = tuple(_readable(message, left_out) for message in messages)
    return replace(request, messages=messages, options=replace(options, native_tools=kept, reasoning_effort=effort))


def _readable(message: Message, left_out: tuple[type, ...]) -> Message:
    if isinstance(message, ToolResult):
        return replace(message, images=()) if message.images and Image in left_out else message
    if not isinstance(message, UserMessage):
        return message
    parts = tuple(part for part in message.parts if not isinstance(part, left_out))
    return UserMessage(parts or (Text(""),))
