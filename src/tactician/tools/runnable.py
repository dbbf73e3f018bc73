"""Runnables as tools."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError

from tactician.llm import ToolSpec
from tactician.runs import Input, RunContext, Runnable
from tactician.tools.function import create_arguments_error
from tactician.tools.tool import Tool, as_text, snake_case


class RunnableTool(Tool):
    """Runnable that a model can call."""

    def __init__(self, runnable: Runnable, name: str | None = None, description: str | None = None) -> None:
        self._runnable = runnable
        schema = {
            "type": "object",
            "properties": {"request": {"type": "string", "description": "what is to be done, in full"}},
            "required": ["request"],
            "additionalProperties": False,
        }
        self._spec = ToolSpec(name or snake_case(runnable.name), description or runnable.description, schema)

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return self._spec

    @property
    def runnable(self) -> Runnable:
        """The Runnable."""
        return self._runnable

    def read(self, arguments: str) -> Input:
        """Parse the arguments, and return the input of the Runnable.

        Raises:
            InvalidArgumentsError: when `request` is missing.
        """
        try:
            return _Request.model_validate_json(arguments).request
        except ValidationError as error:
            raise create_arguments_error(error) from error

    async def call(self, arguments: str, context: RunContext) -> str:
        """Run the Runnable, as a child of the calling run.

        Raises:
            InvalidArgumentsError: when `request` is missing.
        """
        return as_text((await self._runnable.run(self.read(arguments), context=context)).output)


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")
    request: str
