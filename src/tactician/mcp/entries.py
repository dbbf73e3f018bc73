"""Resources of MCP servers as entries of files. The servers come from `tactician.toml`, by their names there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from tactician.config.loading import load_settings
from tactician.errors import ConfigurationError
from tactician.mcp.references import EVERYTHING, ListedLater, McpReference
from tactician.mcp.settings import connect_server
from tactician.prompts import LlmReference
from tactician.references.late_kinds import LATE_KINDS, LateKind, WritePath
from tactician.suggestions import did_you_mean


def create_mcp_reference(
    server: str,
    name: str | None = None,
    description: str = "",
    patterns: Annotated[Sequence[str], Field(min_length=1)] = EVERYTHING,
) -> McpReference:
    """Return the reference of an entry. The server is asked for its resources when a run begins.

    Args:
        server: the name of the server in `tactician.toml`.
        name: the name of the reference; the name of the server by default.
        description: the description; the description of the server by default.
        patterns: patterns of the URIs that the model may read.

    Raises:
        ConfigurationError: when there is no such server.
    """
    servers = load_settings().mcp
    if (settings := servers.get(server)) is None:
        hint = did_you_mean(server, servers)
        raise ConfigurationError(
            f"there is no server {server!r}: describe it in tactician.toml as [mcp.{server}]{hint}"
        )
    return ListedLater(name or server, description or settings.description, connect_server(server, settings), patterns)


def describe_mcp_reference(reference: LlmReference, write_path: WritePath) -> dict[str, object] | None:
    """Return the fields of the entry that creates a reference to the same resources.

    Raises:
        ConfigurationError: when the server is not in `tactician.toml`.
    """
    if not isinstance(reference, McpReference):
        return None
    server = reference.server.name
    if server not in load_settings().mcp:
        raise ConfigurationError(f"the server {server!r} is not in tactician.toml: describe it there as [mcp.{server}]")
    return {
        "server": server,
        "name": None if reference.name == server else reference.name,
        "description": reference.own_description or None,
        "patterns": None if tuple(reference.patterns) == EVERYTHING else list(reference.patterns),
    }


LATE_KINDS["mcp"].bind(LateKind(create_mcp_reference, describe_mcp_reference))
