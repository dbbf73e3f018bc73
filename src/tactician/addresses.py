"""Network addresses: which of them are public or of this machine, and sockets of servers at those of this machine."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from socket import AF_INET, AF_INET6, create_server, socket
from typing import Final

from tactician.errors import ConfigurationError

_BACKLOG: Final = 2048
_NAT64: Final = IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = IPv6Network("::/96")
_CLOUDS: Final = (IPv4Network("192.0.0.0/24"), IPv4Network("168.63.129.16/32"))
"""Services of Oracle's and Microsoft's clouds for their machines, at addresses that count as public."""


def is_public(address: str) -> bool:
    """Return whether an IP address is reachable for everyone, with all IPv4 addresses that it carries."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(_is_public(part) for part in (parsed, *_find_embedded(parsed)))


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


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address) and _is_translated(address):
        return True  # the embedded address decides
    if isinstance(address, IPv4Address) and any(address in network for network in _CLOUDS):
        return False
    if isinstance(address, IPv6Address) and address.is_site_local:
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _is_translated(address: IPv6Address) -> bool:
    return address.ipv4_mapped is not None or address in _NAT64


def _find_embedded(address: IPv4Address | IPv6Address) -> list[IPv4Address]:
    """Return the IPv4 addresses that an IPv6 address carries, to which a gateway or the system may connect."""
    if isinstance(address, IPv4Address):
        return []
    carried = (address.ipv4_mapped, address.sixtofour, *(address.teredo or ()))
    embedded = [part for part in carried if part is not None]
    if address in _NAT64 or address in _COMPATIBLE:
        embedded.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return embedded
