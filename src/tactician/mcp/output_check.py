"""Checks of the structured content that tools give, by their output schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tactician.errors import ConfigurationError
from tactician.mcp.errors import McpError
from tactician.tools.schema_check import SchemaCheck

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult
    from mcp_types import Tool as ListedTool


class OutputChecks:
    """Checks of structured content in bounded time. What takes longer is passed on unchecked."""

    def __init__(self) -> None:
        self._checks: dict[str, SchemaCheck] = {}

    def set_tools(self, listed: Iterable[ListedTool]) -> None:
        """Take the schemas of the tools that a server lists now."""
        schemas = {tool.name: tool.output_schema for tool in listed}
        self._checks = {name: SchemaCheck(name, schema) for name, schema in schemas.items() if schema is not None}

    async def check(self, name: str, result: CallToolResult) -> None:
        """Check the result of a tool.

        Raises:
            McpError: when it does not fit the schema, or the schema is not valid.
        """
        if (check := self._checks.get(name)) is None:
            return
        if result.structured_content is None and "structured_content" not in result.model_fields_set:
            raise McpError(f"{name} has an output schema, but gave no structured content.")
        try:
            problems = check.find_problems(result.structured_content)
        except ConfigurationError as error:
            raise McpError(f"{name} has an output schema that is not valid: {error}") from error
        if problems:
            raise McpError(f"{name} gave structured content that does not fit its schema: {'; '.join(problems)}")

    def install(self, client: Client) -> None:
        """Check the results of a client by these checks: the SDK's own have no bounds."""
        client.session.validate_tool_result = self.check  # type: ignore[method-assign]
