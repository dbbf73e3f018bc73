"""Capabilities of other programs as tools, with the schemas of their providers."""

from __future__ import annotations

import json
from typing import Final, cast

from pydantic import JsonValue
from typing_extensions import override

from tactician.llm.model import JsonSchema, ToolSpec
from tactician.mesh.calls.options import MeshCallOptions
from tactician.mesh.calls.remote_task import RemoteTaskRunnable
from tactician.mesh.calls.requester import Requester
from tactician.mesh.connection import MeshConnection
from tactician.mesh.messages.cards import CapabilityCard
from tactician.mesh.queries import CapabilityQuery
from tactician.mesh.sources import MeshSource
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
        source: the mesh, or where a run finds it.
        query: the capabilities.
        options: options of the calls.

    Attributes:
        source: the same.
        query: the same.
        options: the same.
    """

    def __init__(self, source: MeshSource, query: CapabilityQuery, options: MeshCallOptions) -> None:
        self.source = source
        self.query = query
        self.options = options

    def __repr__(self) -> str:
        query = self.query
        return f"RemoteTools({query.name or ', '.join(sorted(query.tags | query.any_tags)) or 'all'!r})"

    @override
    async def load_tools(self) -> tuple[Tool, ...]:
        """Return the capabilities as tools.

        Raises:
            MeshUnavailableError: when no node offers the named capability.
        """
        mesh = self.source.resolve(RunContext.around())
        cards = await (self._list(mesh) if self.query.name is None else self._find(mesh, self.query.name))
        return tuple(RemoteTool(self.source, card, self.options) for card in cards)

    async def _list(self, mesh: MeshConnection) -> list[CapabilityCard]:
        """Return a version of each capability: with several, the version of the soonest node."""
        cards: dict[str, CapabilityCard] = {}
        for card in await mesh.find_capabilities(self.query):
            cards.setdefault(card.name, card)
        return list(cards.values())

    async def _find(self, mesh: MeshConnection, name: str) -> list[CapabilityCard]:
        node = self.options.on or (await Requester(mesh).find_target(name, None)).node  # a card is needed anyway
        offerings = await mesh.directory.find(mesh.realm, name, node)
        return [offering.capability for offering in offerings[:1]]


class RemoteTool(Tool):
    """Capability of another program as a tool.

    Args:
        source: the mesh, or where a run finds it.
        card: the card of the capability.
        options: options of the calls.
    """

    def __init__(self, source: MeshSource, card: CapabilityCard, options: MeshCallOptions) -> None:
        name = snake_case(card.name)
        schema = card.input_schema if card.input_schema and card.input_schema.get("type") == "object" else None
        self._is_text = schema is None
        self._spec = ToolSpec(name, card.description or card.name, schema or _TEXT)
        self._check = SchemaCheck(name, self._spec.parameters)
        self._output_schema = cast("JsonSchema | None", card.output_schema)
        self._task = RemoteTaskRunnable(source, card.name, options, card.description)

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
