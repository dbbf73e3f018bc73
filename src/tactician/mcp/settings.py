"""Servers as `tactician.toml` describes them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from tactician.config import McpServerSettings
from tactician.documents import Variable, substitute_variables
from tactician.errors import ConfigurationError
from tactician.mcp.naming import ToolSelection
from tactician.mcp.options import McpOptions
from tactician.mcp.selection import SelectedTools, ServerTools
from tactician.mcp.server import McpServer
from tactician.tools import SERVERS

_EVERYTHING: Final = ToolSelection()


def create_server(name: str, settings: McpServerSettings) -> ServerTools:
    """Create the server that a table describes, with the environment's variables.

    Raises:
        ConfigurationError: when a variable is not set that has no default.
    """
    server = connect_server(name, settings)
    selection = ToolSelection(settings.tools, settings.exclude, settings.prefix, settings.approval)
    return server if selection == _EVERYTHING else SelectedTools(server, selection)


def connect_server(name: str, settings: McpServerSettings) -> McpServer:
    """Create the server that a table describes, with all of its tools.

    Raises:
        ConfigurationError: when a variable is not set that has no default.
    """
    reader = _VariableReader(name)
    options = McpOptions(name=name, timeout=settings.timeout, sampling=settings.sampling)
    if settings.command is not None:
        return McpServer.stdio(
            reader.fill(settings.command, "command"),
            *(reader.fill(argument, "args") for argument in settings.args),
            env=reader.fill_all(settings.env, "env"),
            cwd=None if settings.cwd is None else reader.fill(settings.cwd, "cwd"),
            **options,
        )
    connect = McpServer.sse if settings.transport == "sse" else McpServer.http
    url = reader.fill(settings.url or "", "url")
    return connect(url, headers=reader.fill_all(settings.headers, "headers"), **options)


SERVERS.bind(create_server)


class _VariableReader:
    """Reader of the variables in the settings of a server."""

    def __init__(self, server: str) -> None:
        self._server = server

    def fill(self, text: str, setting: str) -> str:
        """Return a text with the values of its variables.

        Raises:
            ConfigurationError: when a variable is not set that has no default.
        """

        def find(variable: Variable) -> str:
            value = os.environ.get(variable.name) or variable.default
            if value is not None and variable.name:
                return value
            problem = f"{variable.name} is not set" if variable.name else f"{variable.text!r} is not a variable"
            raise ConfigurationError(
                f"tactician.toml: mcp.{self._server}.{setting}: {problem}. Set the environment variable, or write "
                "${NAME:-default}."
            )

        return substitute_variables(text, find)

    def fill_all(self, texts: Mapping[str, str], setting: str) -> dict[str, str]:
        """Return texts by name with the values of their variables."""
        return {name: self.fill(text, f"{setting}.{name}") for name, text in texts.items()}
