"""Addresses that are public: not of this machine, this network, or a cloud's metadata service."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

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


async def find_public_address(host: str, port: int) -> str | None:
    """Return an address of a host to connect to; `None` when not all of its addresses are public.

    Raises:
        OSError: when the host has no address.
    """
    entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(entry[4][0]) for entry in entries]
    return addresses[0] if addresses and all(map(is_public, addresses)) else None


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
