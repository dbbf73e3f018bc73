"""Protocol of tools."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Self

from tactician.context_format import write_json
from tactician.frozen import frozen
from tactician.llm import Document, Image, ToolCall, ToolResult
from tactician.llm.model import JsonSchema, ToolSpec
from tactician.runs import RunContext
from tactician.text import replace_surrogates
from tactician.tools.traits import NO_TRAITS, ToolTraits


@frozen
class ToolOutput:
    """Output of a tool for the model.

    Attributes:
        text: the text.
        images: pictures, which the model sees after the text.
        documents: files for callers that take files, such as clients of MCP. The model has the text instead.
    """

    text: str
    images: tuple[Image, ...] = ()
    documents: tuple[Document, ...] = ()


class Tool(ABC):
    """Schema with an async call that a model can use. `traits` describe its special behaviour."""

    traits: ToolTraits = NO_TRAITS

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    @abstractmethod
    def spec(self) -> ToolSpec:
        """The tool as a model sees it. Built once."""

    @property
    def name(self) -> str:
        """The name for the model."""
        return self.spec.name

    @property
    def description(self) -> str:
        """The purpose."""
        return self.spec.description

    @property
    def output_schema(self) -> JsonSchema | None:
        """The JSON schema of the data that the tool gives; `None` when it gives text, or nothing is known."""
        return None

    def for_scripts(self) -> Self:
        """Return the tool as scripts call it: its output is data as JSON wherever it has data."""
        return self

    @abstractmethod
    async def call(self, arguments: str, context: RunContext) -> str | ToolOutput:
        """Call the tool with arguments as JSON text, and return text for the model, or text with pictures.

        Raises:
            InvalidArgumentsError: when the arguments do not fit; then nothing was done.
            ToolError: with a message for the model.
        """


def create_result(call: ToolCall, output: str | ToolOutput) -> ToolResult:
    """Create the result of a call from the output of its tool."""
    if isinstance(output, ToolOutput):
        return ToolResult(call.id, call.name, output.text, images=output.images)
    return ToolResult(call.id, call.name, output)


def as_text(value: object) -> str:
    """Return a value as text: text unchanged, `None` as Python writes it, other values as JSON."""
    if isinstance(value, str):
        return value if value.isascii() else replace_surrogates(value)
    return "None" if value is None else write_json(value)


def describe_result(value: object) -> str:
    """Return the result of a tool or an agent as text for readers: "done" for `None`, as they need words."""
    return "done" if value is None else as_text(value)


def is_tool_name(name: str) -> bool:
    """Return whether every provider takes the name of a tool."""
    return re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) is not None
