"""OAuth with the credentials of a program: the token for a server comes from an authorization server."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken


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
