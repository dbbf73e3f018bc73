"""Resources and prompts of servers, as references and instructions of agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from typing_extensions import override

from tactician.errors import ToolError
from tactician.llm import Message
from tactician.llm.messages import join_text
from tactician.loggers import get_logger
from tactician.mcp.errors import McpError
from tactician.prompts import LlmReference
from tactician.prompts.sources import InstructionSource
from tactician.runs import RunContext
from tactician.text import replace_surrogates
from tactician.tools import ToolOutput, tool
from tactician.tools.selection import matches_name
from tactician.tools.toolbox import ToolLike

if TYPE_CHECKING:
    from mcp_types import Resource, ResourceTemplate

_MOST_LISTED = 100
_LONGEST_LINE = 500
EVERYTHING: Final = ("*",)
_logger = get_logger(__name__)


class ResourceReader(Protocol):
    """Server whose resources can be read."""

    @property
    def name(self) -> str:
        """The name of the server."""
        ...

    async def read_resource(self, uri: str) -> ToolOutput:
        """Return the content of a resource."""
        ...


class ResourceLister(ResourceReader, Protocol):
    """Server whose resources can be listed and read."""

    async def load_reference(self, *patterns: str, name: str | None = None) -> McpReference:
        """Return the resources as a reference."""
        ...


class PromptReader(Protocol):
    """Server whose prompts can be read."""

    async def load_prompt(self, name: str, /, **arguments: str) -> tuple[Message, ...]:
        """Return a prompt as messages."""
        ...


class McpReference(LlmReference):
    """Resources of a server: a list of them for the model, and a tool that reads them.

    Args:
        name: the name of the reference.
        description: the description; the description of the server by default.
        listed: the resources, and templates of URIs.
        server: the server.
        patterns: patterns of the URIs that may be read.

    Attributes:
        own_description: the description, where it is not the server's.
    """

    late_kind: ClassVar[str] = "mcp"

    def __init__(
        self,
        name: str,
        description: str,
        listed: Sequence[Resource | ResourceTemplate],
        server: ResourceReader,
        patterns: Sequence[str] = EVERYTHING,
    ) -> None:
        self.name = name
        self.description = description
        shown = [_describe(item) for item in listed if matches_name(_get_uri(item), patterns)]
        more = [f"and {len(shown) - _MOST_LISTED} more"] if len(shown) > _MOST_LISTED else []
        self.notes = "\n".join(("Resources:", *shown[:_MOST_LISTED], *more)) if shown else ""
        self.server = server
        self.patterns = tuple(patterns)
        self.own_description = ""

    @property
    @override
    def tools(self) -> Sequence[ToolLike]:
        return (self.read_resource,)

    @tool
    async def read_resource(self, uri: str) -> ToolOutput:
        """Read a resource.

        Args:
            uri: the URI of the resource.
        """
        if not matches_name(uri, self.patterns):
            raise ToolError(f"{uri} is not among the resources of {self.name}")
        try:
            return await self.server.read_resource(uri)
        except McpError as error:
            raise ToolError(str(error)) from error


class ListedLater(McpReference):
    """Resources of a server, which are listed when they are first needed.

    Args:
        name: the name of the reference.
        description: the description; the description of the server, when it is empty.
        server: the server.
        patterns: patterns of the URIs that may be read.
    """

    def __init__(
        self, name: str, description: str, server: ResourceLister, patterns: Sequence[str] = EVERYTHING
    ) -> None:
        super().__init__(name, description or f"Resources of the MCP server {server.name}", (), server, patterns)
        self.own_description = description
        self._lister = server
        self._is_listed = False

    @override
    async def contribute(self, context: RunContext) -> str:
        if not self._is_listed:
            await self._list()
        return self.contribution()

    async def _list(self) -> None:
        """Load the list. While the server cannot be reached, the model has the tool without the list."""
        try:
            loaded = await self._lister.load_reference(*self.patterns, name=self.name)
        except McpError as error:
            _logger.warning("%s", error)
            return
        self.notes, self._is_listed = loaded.notes, True
        self.description = self.own_description or loaded.description


@dataclass(frozen=True)
class McpPrompt(InstructionSource):
    """Prompt of a server as the instructions of an agent, which are loaded when a run begins.

    Attributes:
        server: the server.
        name: the name of the prompt.
        arguments: the arguments.
    """

    server: PromptReader
    name: str
    arguments: tuple[tuple[str, str], ...] = ()

    @property
    @override
    def text(self) -> None:
        return None

    @override
    async def resolve(self) -> str:
        return join_text(await self.server.load_prompt(self.name, **dict(self.arguments)))


def _get_uri(listed: Resource | ResourceTemplate) -> str:
    return str(getattr(listed, "uri", None) or getattr(listed, "uri_template", ""))


def _describe(listed: Resource | ResourceTemplate) -> str:
    text = f"- {_get_uri(listed)}: {listed.title or listed.name}"
    if listed.description:
        text = f"{text}: {listed.description}"
    return replace_surrogates(" ".join(text.split()))[:_LONGEST_LINE]
