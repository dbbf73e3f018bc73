"""Addresses that tools for the web may reach."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.addresses import is_public

PRIVATE = [
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
    *(
        "169.254.169.254",
        "169.254.170.2",
        "100.64.0.1",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "198.18.0.1",
        "240.0.0.1",
    ),
    *("255.255.255.255", "224.0.0.1", "239.255.255.250", "192.0.2.1", "203.0.113.9"),
    *(
        "::1",
        "::",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "2001:db8::1",
        "fec0::1",
        "feff::1",
    ),
    *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1"),
    *("64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:7f00:1::", "64:ff9b:1::1"),
    *("", "localhost", "1.2.3", "0x7f.1", "::g"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_not_everyone_reaches_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_an_address_that_everyone_reaches_is_public(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses(v=4).map(IPv4Address))
def test_an_address_inside_of_another_one_decides(address: IPv4Address) -> None:
    number = int(address)
    wrapped = [
        IPv6Address(0xFFFF << 32 | number),
        IPv6Address(int(IPv6Address("64:ff9b::")) | number),
    ]
    assert {is_public(str(one)) for one in wrapped} == {is_public(str(address))}
    assert not is_public(str(IPv6Address((0x2002 << 112) | (number << 80)))) or is_public(str(address))
