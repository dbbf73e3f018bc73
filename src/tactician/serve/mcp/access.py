"""Access to a server over HTTP: tokens, and the hosts and origins that may call it."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.request_state import RequestStateSecurity
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl

from tactician.errors import ConfigurationError
from tactician.people.tokens import check_token

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_SHORTEST_SECRET: Final = 32
_NO_ISSUER: Final = AnyHttpUrl("http://localhost")


class SharedToken(TokenVerifier):
    """Verifier of a single token that all clients share."""

    def __init__(self, token: str) -> None:
        check_token(token)
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return who has the token; nobody, when it is another token."""
        if not hmac.compare_digest(token.encode(), self._token):
            return None
        return AccessToken(token=token, client_id="shared-token", scopes=[])


def create_user(name: str) -> AuthenticatedUser:
    """Return the user of the SDK for a person whom the server knows already: sessions belong to their users."""
    return AuthenticatedUser(AccessToken(token="", client_id=name, scopes=[], subject=name))


def create_auth(verifier: TokenVerifier | None, auth: AuthSettings | None) -> AuthSettings | None:
    """Return the settings of authorization; without an authorization server, nobody issues the tokens.

    Raises:
        ConfigurationError: when there is an authorization server, and nothing verifies its tokens.
    """
    if auth is not None and verifier is None:
        raise ConfigurationError("An authorization server for MCP needs a token_verifier, which checks its tokens.")
    if verifier is None or auth is not None:
        return auth
    return AuthSettings(issuer_url=_NO_ISSUER, resource_server_url=None)


def create_seal(secret: str | None) -> RequestStateSecurity:
    """Return what seals the state of a call that asks; without a secret, only this program opens it again.

    Raises:
        ConfigurationError: when the secret is too short.
    """
    if secret is None:
        return RequestStateSecurity.ephemeral()
    try:
        return RequestStateSecurity(keys=[secret])
    except ValueError:  # whose message is about keys of the SDK
        raise ConfigurationError(
            f"The secret of an MCP server must have at least {_SHORTEST_SECRET} characters, such as from "
            'python -c "import secrets; print(secrets.token_hex(32))".'
        ) from None


def create_security(
    host: str, allowed_hosts: Sequence[str], allowed_origins: Sequence[str], *, has_tokens: bool
) -> TransportSecuritySettings | None:
    """Return the hosts and origins that requests may name; only this machine's, by default.

    Raises:
        ConfigurationError: when other machines may call, and no token or no host is set.
    """
    if host in LOOPBACK and not allowed_hosts:
        return None  # the SDK allows the names of this machine only
    if not has_tokens:
        raise ConfigurationError(f"Publishing over MCP on {host} lets other machines call: set a token.")
    if not allowed_hosts:
        raise ConfigurationError(
            f"Publishing over MCP on {host}: name the hosts that clients call, as in allowed_hosts=['agents.acme.com']."
        )
    return TransportSecuritySettings(allowed_hosts=list(allowed_hosts), allowed_origins=list(allowed_origins))
