"""Capabilities of other programs as tools, with the schemas of their providers."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Final, cast

from pydantic import JsonValue
from typing_extensions import override

from tactician.llm.model import JsonSchema, ToolSpec
from tactician.mesh.calls.remote_task import MeshCallOptions, RemoteTaskRunnable
from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages.cards import CapabilityCard
from tactician.runs import RunContext
from tactician.suggestions import suggest_options
from tactician.text import snake_case
from tactician.tools import Tool, ToolOutput
from tactician.tools.artifacts import deliver_result
from tactician.tools.provider import ToolProvider
from tactician.tools.schema_check import SchemaCheck

_TEXT: Final[JsonSchema] = {
    "type": "object",
    "properties": {"request": {"type": "string", "description": "All that the other side has to know."}},
    "required": ["request"],
    "additionalProperties": False,
}


@suggest_options
class RemoteTools(ToolProvider):
    """Provider of tools that are capabilities of a mesh, looked up anew for each run.

    Args:
        mesh: the connection.
        find: returns the cards of the capabilities.
        options: options of the calls.
        label: what the tools are, for people.
    """

    def __init__(
        self,
        mesh: MeshConnection,
        find: Callable[[], Coroutine[object, object, list[CapabilityCard]]],
        options: MeshCallOptions,
        label: str,
    ) -> None:
        self._mesh = mesh
        self._find = find
        self._options = options
        self._label = label

    def __repr__(self) -> str:
        return f"RemoteTools({self._label!r})"

    @override
    async def load_tools(self) -> tuple[Tool, ...]:
        """Return the capabilities as tools."""
        return tuple(RemoteTool(self._mesh, card, self._options) for card in await self._find())


class RemoteTool(Tool):
    """Capability of another program as a tool.

    Args:
        mesh: the connection.
        card: the card of the capability.
        options: options of the calls.
    """

    def __init__(self, mesh: MeshConnection, card: CapabilityCard, options: MeshCallOptions) -> None:
        name = snake_case(card.name)
        schema = card.input_schema if card.input_schema and card.input_schema.get("type") == "object" else None
        self._is_text = schema is None
        self._spec = ToolSpec(name, card.description or card.name, schema or _TEXT)
        self._check = SchemaCheck(name, self._spec.parameters)
        self._output_schema = cast("JsonSchema | None", card.output_schema)
        self._task = RemoteTaskRunnable(mesh, card.name, options, card.description)

    @property
    @override
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return self._spec

    @property
    @override
    def output_schema(self) -> JsonSchema | None:
        """The JSON schema of the output, if the provider declares it."""
        return self._output_schema

    @override
    async def call(self, arguments: str, context: RunContext) -> str | ToolOutput:
        """Ask for the work, and return its output as text.

        Raises:
            InvalidArgumentsError: when the arguments do not fit the schema.
            RequestRejectedError: when the node refuses the request.
            RequestFailedError: when its work fails.
            MeshUnavailableError: when no node accepts the request.
        """
        self._check.check(arguments)
        values = cast("dict[str, JsonValue]", json.loads(arguments or "{}"))
        result = await self._task.run(values["request"] if self._is_text else values, context=context)
        return deliver_result(result.output, self.name, context)
