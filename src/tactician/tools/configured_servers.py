"""Tool groups of the MCP servers in `tactician.toml`, and those that common servers make up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from typing_extensions import override

from tactician.late_imports import Port
from tactician.tools.groups import CoreToolGroups, ToolGroup, ToolGroupPermission
from tactician.tools.provider import ToolProvider
from tactician.tools.selection import matches_name
from tactician.tools.tool import Tool

if TYPE_CHECKING:
    from tactician.config.settings import McpServerSettings

CreateServer: TypeAlias = "Callable[[str, McpServerSettings], ToolProvider]"
SERVERS: Final[Port[CreateServer]] = Port("mcp servers")
_GATEWAY = "docker-mcp"


class _CommonGroup(NamedTuple):
    """Group whose tools common servers have, each by itself or Docker's gateway for all of them."""

    description: str
    servers: tuple[str, ...]
    patterns: tuple[str, ...]


_COMMON: Final[Mapping[str, _CommonGroup]] = {
    CoreToolGroups.WEB: _CommonGroup(
        "Search the web, fetch pages, look up articles",
        ("brave-search-mcp", "fetch-mcp", "wikipedia-mcp"),
        ("brave_web_search", "fetch*", "*wikipedia*", "get_article", "get_summary"),
    ),
    CoreToolGroups.MAPS: _CommonGroup("Find places and routes", ("google-maps-mcp",), ("maps_*",)),
    CoreToolGroups.BROWSER_AUTOMATION: _CommonGroup(
        "Open pages in a browser, take pictures, fill in forms", ("puppeteer-mcp",), ("puppeteer_*", "browser_*")
    ),
    CoreToolGroups.GITHUB: _CommonGroup(
        "Read and write issues, pull requests and comments",
        ("github-mcp",),
        ("*issue*", "*pull_request*", "*comment*"),
    ),
}


class ConfiguredServer(ToolProvider):
    """MCP server in `tactician.toml`, which is created when its tools are needed.

    Args:
        name: name of its table.
        settings: the table.
    """

    def __init__(self, name: str, settings: McpServerSettings) -> None:
        self._name = name
        self._settings = settings
        self._server: ToolProvider | None = None

    def __repr__(self) -> str:
        return f"[mcp.{self._name}]"

    @override
    async def load_tools(self) -> tuple[Tool, ...]:
        if self._server is None:
            self._server = SERVERS.load()(self._name, self._settings)
        return await self._server.load_tools()

    @override
    async def aclose(self) -> None:
        if self._server is not None:
            await self._server.aclose()


class _Part(ToolProvider):
    """The tools of a provider whose names match any of some patterns."""

    def __init__(self, provider: ToolProvider, patterns: tuple[str, ...]) -> None:
        self._provider = provider
        self._patterns = patterns

    @override
    async def load_tools(self) -> tuple[Tool, ...]:
        tools = await self._provider.load_tools()
        return tuple(tool for tool in tools if matches_name(tool.name, self._patterns))

    @override
    async def aclose(self) -> None:
        await self._provider.aclose()


def create_server_groups(settings: Mapping[str, McpServerSettings]) -> dict[str, ToolGroup]:
    """Create a tool group for each configured server, of its name."""
    return {
        name: ToolGroup(
            name,
            ConfiguredServer(name, server),
            description=server.description,
            provider="MCP",
            permissions=map(ToolGroupPermission, server.permissions),
        )
        for name, server in settings.items()
    }


def create_common_groups(servers: Mapping[str, ToolGroup]) -> dict[str, ToolGroup]:
    """Create the common tool groups whose servers are configured."""
    groups: dict[str, ToolGroup] = {}
    for name, common in _COMMON.items():
        if parts := list(_list_parts(common, servers)):
            groups[name] = ToolGroup(name, parts, description=common.description, provider="MCP")
    return groups


def _list_parts(common: _CommonGroup, servers: Mapping[str, ToolGroup]) -> Iterator[ToolProvider]:
    """Yield the servers of a group; of Docker's gateway, which has the tools of others too, only where no other is."""
    server_list = [servers[name] for name in common.servers if name in servers]
    yield from server_list
    if not server_list and _GATEWAY in servers:
        yield _Part(servers[_GATEWAY], common.patterns)
