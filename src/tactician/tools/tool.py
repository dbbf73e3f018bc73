"""What a tool is."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from pydantic_core import to_json

from tactician.llm import ToolSpec
from tactician.runs import RunContext
from tactician.tools.traits import NO_TRAITS, ToolTraits


class Tool(ABC):
    """A schema plus an async call: something that a model can use. `traits` says what is special about it."""

    traits: ToolTraits = NO_TRAITS

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
            InvalidArgumentsError: when the arguments do not fit; then nothing was done.
            ToolError: with a message for the model.
        """


def as_text(value: object) -> str:
    """A tool's result as the model reads it: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return value
    return "done" if value is None else to_json(value, fallback=str).decode()


def snake_case(name: str, prefix: str = "") -> str:
    """`Code Writer` and `CodeWriter` as `code_writer`: with the prefix, a name that every provider takes for a tool."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    plain = re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")
    return f"{prefix}{plain or 'agent'}"[:64]
