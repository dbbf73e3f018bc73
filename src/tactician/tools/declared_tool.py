"""Tool made of a schema, with an optional executor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from tactician.errors import ToolError
from tactician.llm import ToolCall
from tactician.llm.model import JsonSchema, ToolSpec
from tactician.runs import RunContext
from tactician.tools.artifacts import deliver_result
from tactician.tools.schema_check import SchemaCheck
from tactician.tools.tool import Tool, ToolOutput
from tactician.tools.traits import NO_TRAITS, ToolTraits

ToolExecutor: TypeAlias = Callable[[ToolCall], object | Awaitable[object]]
"""Runs whatever tool is called, and returns what it gave; it may be async."""
_ANYTHING: JsonSchema = {"type": "object", "properties": {}}


class DeclaredTool(Tool):
    """Tool made of a name, a description and the JSON schema of its arguments.

    Args:
        execute: the executor. Without it, and unless the traits say `client_side`, a call is an error for the model.
    """

    def __init__(
        self,
        name: str,
        description: str,
        parameters: JsonSchema | None = None,
        *,
        execute: ToolExecutor | None = None,
        traits: ToolTraits = NO_TRAITS,
    ) -> None:
        self._spec = ToolSpec(name, description, parameters or _ANYTHING)
        self._check = SchemaCheck(name, self._spec.parameters)
        self._execute = execute
        self.traits = traits

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return self._spec

    def with_executor(self, execute: ToolExecutor) -> DeclaredTool:
        """Return the tool with an executor."""
        spec, traits = self._spec, replace(self.traits, client_side=False)
        return DeclaredTool(spec.name, spec.description, spec.parameters, execute=execute, traits=traits)

    async def call(self, arguments: str, context: RunContext) -> str | ToolOutput:
        """Execute the tool.

        Raises:
            InvalidArgumentsError: when the arguments do not fit the schema.
            ConfigurationError: when the schema itself is not valid.
            ToolError: when there is no executor, or the executor fails.
        """
        if self._execute is None:
            raise ToolError(f"Nobody executes the tool {self.name!r}")
        self._check.check(arguments)
        call_id = context.run_id if context.checkpoint is None else context.checkpoint.path.rpartition("/")[2]
        try:
            result = self._execute(ToolCall(call_id, self.name, arguments))
            return deliver_result(await result if isinstance(result, Awaitable) else result, self.name, context)
        except ToolError:
            raise
        except Exception as error:
            raise ToolError(f"Error executing {self.name}: {error}") from error
