"""What a tool is."""

from __future__ import annotations

from abc import ABC, abstractmethod

from pydantic_core import to_json

from tactician.llm import ToolSpec
from tactician.runs import RunContext


class Tool(ABC):
    """A schema plus an async call: something that a model can use."""

    @property
    @abstractmethod
    def spec(self) -> ToolSpec:
        """The tool as a model sees it. Built once."""

    @property
    def name(self) -> str:
        """The name that the model calls it by."""
        return self.spec.name

    @property
    def description(self) -> str:
        """What it is for."""
        return self.spec.description

    @abstractmethod
    async def call(self, arguments: str, context: RunContext) -> str:
        """Runs the tool with arguments as JSON text and returns what the model is to read.

        Raises:
            ToolError: with a message for the model, when the arguments are not valid.
        """


def as_text(value: object) -> str:
    """A tool's result as the model reads it: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return value
    return "done" if value is None else to_json(value, fallback=str).decode()
