"""Settings of remote agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final
from urllib.parse import urlsplit

from typing_extensions import TypedDict

from tactician.a2a.errors import RemoteCardError
from tactician.amounts import need_amount
from tactician.environment import read_environment
from tactician.errors import ConfigurationError
from tactician.frozen import frozen

_CARD: Final = "/.well-known/agent-card.json"


class RemoteOptions(TypedDict, total=False):
    """Options of a remote agent.

    Attributes:
        skill: id of the skill to use, where a Tactician server offers several.
        headers: headers of each request to the origin of the address, and of calls over gRPC to its host, such as
            `{"Authorization": "Bearer ..."}`.
        api_key_env: environment variable with a token, which goes to the origin of the address as a bearer token.
        environment: the environment; the environment of this process by default.
        verify_key: public key, in PEM form, that the card has to be signed with; no check by default.
        timeout: seconds that the task may take, without the time in which it waits for input; 600 by default. The card
            may take as long, but at most 60 seconds.
        idle: seconds without a byte after which a connection is given up, and the task is looked up again; 60 by
            default.
        max_bytes: bytes of a response, and of all parts of the result; 20 million by default.
        allow_private: true to reach private addresses that the card names. The address itself may be private.
    """

    skill: str | None
    headers: Mapping[str, str]
    api_key_env: str | None
    environment: Mapping[str, str] | None
    verify_key: str | None
    timeout: float
    idle: float
    max_bytes: int
    allow_private: bool


@frozen
class RemoteSettings:
    """Address of the card of a remote agent, and its options; see `RemoteOptions`.

    Raises:
        ConfigurationError: when a number is out of range.
    """

    url: str
    skill: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_key_env: str | None = None
    environment: Mapping[str, str] | None = field(default=None, repr=False, compare=False)
    verify_key: str | None = field(default=None, repr=False)
    timeout: float = 600.0
    idle: float = 60.0
    max_bytes: int = 20_000_000
    allow_private: bool = False

    def __post_init__(self) -> None:
        for name in ("timeout", "idle", "max_bytes"):
            need_amount(f"RemoteAgent.{name}", getattr(self, name))

    def create_headers(self) -> Mapping[str, str]:
        """Return the headers of a request to the origin of the address.

        Raises:
            ConfigurationError: when the variable with the token is not set.
        """
        if self.api_key_env is None:
            return self.headers
        if not (token := read_environment(self.environment).get(self.api_key_env, "").strip()):
            raise ConfigurationError(f"{self.api_key_env} is not set: it has the token for {self.url}.")
        return {**self.headers, "Authorization": f"Bearer {token}"}


def complete_url(url: str) -> str:
    """Return the address of a card, also for the address of a server.

    Raises:
        RemoteCardError: when it is not an HTTP address.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise RemoteCardError(
            "The address of an agent card begins with http:// or https://, and has no password in it."
        )
    return url if parts.path.endswith(".json") else f"{url.rstrip('/')}{_CARD}"
