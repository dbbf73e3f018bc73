"""Resources and prompts of servers, as references and instructions of agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from typing_extensions import override

from tactician.errors import ToolError
from tactician.llm import Message, join_text
from tactician.mcp.errors import McpError
from tactician.prompts import InstructionSource, LlmReference
from tactician.text import replace_surrogates
from tactician.tools import ToolLike, ToolOutput, matches_name, tool

if TYPE_CHECKING:
    from mcp_types import Resource, ResourceTemplate

_MOST_LISTED = 100
_LONGEST_LINE = 500
_EVERYTHING: Final = ("*",)


class ResourceReader(Protocol):
    """Server whose resources can be read."""

    async def read_resource(self, uri: str) -> ToolOutput:
        """Return the content of a resource."""
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
        description: the description; that of the server by default.
        listed: the resources, and templates of URIs.
        server: the server.
        patterns: patterns of the URIs that may be read.
    """

    def __init__(
        self,
        name: str,
        description: str,
        listed: Sequence[Resource | ResourceTemplate],
        server: ResourceReader,
        patterns: Sequence[str] = _EVERYTHING,
    ) -> None:
        self.name = name
        self.description = description
        shown = [_describe(item) for item in listed if matches_name(_get_uri(item), patterns)]
        more = [f"and {len(shown) - _MOST_LISTED} more"] if len(shown) > _MOST_LISTED else []
        self.notes = "\n".join(("Resources:", *shown[:_MOST_LISTED], *more)) if shown else ""
        self._server = server
        self._patterns = tuple(patterns)

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
        if not matches_name(uri, self._patterns):
            raise ToolError(f"{uri} is not among the resources of {self.name}")
        try:
            return await self._server.read_resource(uri)
        except McpError as error:
            raise ToolError(str(error)) from error


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
