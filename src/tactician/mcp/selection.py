"""Tools of a server, all or a selection of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from typing_extensions import override

from tactician.mcp.tool_selection import ToolSelection
from tactician.mcp.tools import McpTool, select_tools
from tactician.tools import Tool
from tactician.tools.provider import ToolProvider
from tactician.tools.selection import NamingStrategy


class ServerTools(ToolProvider):
    """Tools of a server, all or a selection of them."""

    @abstractmethod
    def _select(self, change: Callable[[ToolSelection], ToolSelection]) -> ServerTools:
        """Return another selection of the same tools."""

    def only(self, *patterns: str) -> ServerTools:
        """Return only the tools of these names on the server, which may be patterns such as `read_*`."""
        return self._select(lambda own: replace(own, only=patterns))

    def without(self, *patterns: str) -> ServerTools:
        """Return the tools without these names on the server, which may be patterns."""
        return self._select(lambda own: replace(own, but=(*own.but, *patterns)))

    def named(self, naming: NamingStrategy) -> ServerTools:
        """Return the tools under other names for the model: with a prefix, or as a function of the name says."""
        return self._select(lambda own: replace(own, naming=naming))

    def with_approval(self, *patterns: str, required_role: str | None = None) -> ServerTools:
        """Return the tools, of which calls of tools with these names on the server wait for an approval.

        Args:
            *patterns: names on the server, which may be patterns; all by default.
            required_role: role that a person needs to approve any of these calls; the role of an earlier selection, or
                anybody, when `None`.
        """
        return self._select(
            lambda own: replace(
                own,
                approved=(*own.approved, *(patterns or ("*",))),
                required_role=required_role or own.required_role,
            )
        )

    def with_output_type(self, kind: object, *patterns: str) -> ServerTools:
        """Return the tools, of which tools with these names on the server give the program objects of a type.

        Args:
            kind: type of their structured output, which is validated: a pydantic model, a dataclass, a list ...
            *patterns: names on the server, which may be patterns.
        """
        return self._select(lambda own: replace(own, types=(*own.types, *((pattern, kind) for pattern in patterns))))


class ToolLister(Protocol):
    """Server that lists its tools."""

    @property
    def name(self) -> str:
        """The name for messages."""
        ...

    async def list_tools(self) -> tuple[McpTool, ...]:
        """Return the tools under their names on the server."""
        ...

    async def aclose(self) -> None:
        """Close the connection."""
        ...


class SelectedTools(ServerTools):
    """Selection of the tools of a server."""

    def __init__(self, server: ToolLister, selection: ToolSelection) -> None:
        self._server = server
        self._selection = selection

    def __repr__(self) -> str:
        return repr(self._server)

    @override
    async def load_tools(self) -> tuple[Tool, ...]:
        return select_tools(await self._server.list_tools(), self._server.name, self._selection)

    @override
    async def aclose(self) -> None:
        await self._server.aclose()

    @override
    def _select(self, change: Callable[[ToolSelection], ToolSelection]) -> ServerTools:
        return SelectedTools(self._server, change(self._selection))
