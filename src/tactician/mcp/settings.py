"""Servers as `tactician.toml` describes them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tactician.config.settings import McpOAuthSettings, McpServerSettings
from tactician.documents.variables import Variable, substitute_variables
from tactician.errors import ConfigurationError
from tactician.mcp.options import McpOptions
from tactician.mcp.selection import SelectedTools, ServerTools
from tactician.mcp.server import McpServer
from tactician.mcp.tool_selection import ToolSelection
from tactician.mcp.transports import HttpTransport
from tactician.tools.configured_servers import SERVERS

if TYPE_CHECKING:
    import httpx2
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

_EVERYTHING: Final = ToolSelection()


def create_oauth(url: str, *, client_id: str, client_secret: str, issuer: str, scope: str | None) -> httpx2.Auth:
    """Return what asks the authorization server for a token, and sends the token with each request to a URL.

    Args:
        url: the URL of the server.
        client_id: the id of the program at the authorization server.
        client_secret: its secret, which goes to that server only.
        issuer: the URL of the authorization server.
        scope: the scopes to ask for, with spaces between them; those that the server names by default.

    Raises:
        ValueError: when the issuer is no HTTP address.
    """
    from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider

    return ClientCredentialsOAuthProvider(
        url, _TokenMemory(), client_id=client_id, client_secret=client_secret, scope=scope, issuer=issuer
    )


class _TokenMemory:
    """Storage of a token for as long as the program runs."""

    def __init__(self) -> None:
        self._token: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._token

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._token = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Do nothing: the settings have the client."""


def create_server(name: str, settings: McpServerSettings) -> ServerTools:
    """Create the server that a table describes, with the environment's variables.

    Raises:
        ConfigurationError: when a variable is not set that has no default.
    """
    server = connect_server(name, settings)
    selection = ToolSelection(
        settings.tools,
        settings.exclude,
        settings.prefix,
        settings.approval,
        required_role=settings.approval_role,
    )
    return server if selection == _EVERYTHING else SelectedTools(server, selection)


def connect_server(name: str, settings: McpServerSettings) -> McpServer:
    """Create the server that a table describes, with all of its tools.

    Raises:
        ConfigurationError: when a variable is not set that has no default.
    """
    reader = _VariableReader(name)
    options = McpOptions(
        name=name,
        timeout=settings.timeout,
        sampling=settings.sampling,
        max_samples=settings.max_samples,
        repeats_calls=settings.repeats_calls,
    )
    if settings.command is not None:
        return McpServer.stdio(
            reader.fill(settings.command, "command"),
            *(reader.fill(argument, "args") for argument in settings.args),
            env=reader.fill_all(settings.env, "env"),
            cwd=None if settings.cwd is None else reader.fill(settings.cwd, "cwd"),
            **options,
        )
    url, headers = reader.fill(settings.url or "", "url"), reader.fill_all(settings.headers, "headers")
    transport = HttpTransport(url, headers, is_sse=settings.transport == "sse")
    if settings.oauth is not None:
        transport = _with_oauth(transport, settings.oauth, reader)
    return McpServer(transport, **options)


def _with_oauth(transport: HttpTransport, settings: McpOAuthSettings, reader: _VariableReader) -> HttpTransport:
    """Return the transport with tokens of an authorization server.

    Raises:
        ConfigurationError: when a variable is not set, or the issuer is no address.
    """
    secret = reader.fill(settings.client_secret, "oauth.client_secret")
    try:
        auth = create_oauth(
            transport.url,
            client_id=reader.fill(settings.client_id, "oauth.client_id"),
            client_secret=secret,
            issuer=reader.fill(settings.issuer, "oauth.issuer"),
            scope=None if settings.scope is None else reader.fill(settings.scope, "oauth.scope"),
        )
    except ValueError as error:
        raise ConfigurationError(f"tactician.toml: {reader.place}.oauth: {error}") from None
    return replace(transport, auth=auth, secrets=(secret,))


SERVERS.bind(create_server)


class _VariableReader:
    """Reader of the variables in the settings of a server."""

    def __init__(self, server: str) -> None:
        self.place = f"mcp.{server}"

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
                f"tactician.toml: {self.place}.{setting}: {problem}. Set the environment variable, or write "
                "${NAME:-default}."
            )

        return substitute_variables(text, find)

    def fill_all(self, texts: Mapping[str, str], setting: str) -> dict[str, str]:
        """Return texts by name with the values of their variables."""
        return {name: self.fill(text, f"{setting}.{name}") for name, text in texts.items()}
