"""Sockets of servers: where they listen, and who reaches them there."""

from __future__ import annotations

from ipaddress import ip_address
from socket import AF_INET, AF_INET6, create_server, socket
from typing import Final

from tactician.errors import ConfigurationError

_BACKLOG: Final = 2048


def is_loopback(host: str) -> bool:
    """Return whether only programs of this machine reach a host."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int) -> socket:
    """Return a socket that listens for connections; at port 0, at any port that is free.

    Raises:
        ConfigurationError: when the address cannot be used, as when another program uses it.
    """
    try:
        return create_server((host, port), family=AF_INET6 if ":" in host else AF_INET, backlog=_BACKLOG)
    except OSError as error:
        reason = str(error.strerror or error).partition(" (while ")[0]
        raise ConfigurationError(f"{host}:{port} cannot be used: {reason}. Choose another port or host.") from error


def write_url(listening: socket) -> str:
    """Return the address of a socket as a URL."""
    address, port = listening.getsockname()[:2]
    return f"http://{f'[{address}]' if ':' in address else address}:{port}"
