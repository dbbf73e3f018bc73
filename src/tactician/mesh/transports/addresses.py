"""Addresses of transports: a URL chooses the transport."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.errors import ConfigurationError
from tactician.extras import require_extra
from tactician.mesh.transports.documents import StoreTransport
from tactician.mesh.transports.memory import MemoryTransport
from tactician.mesh.transports.signals import LocalSignals, PostgresSignals
from tactician.mesh.transports.transport import Transport
from tactician.stores import DocumentStore, open_store
from tactician.stores.address import store_path
from tactician.suggestions import did_you_mean

SCHEMES: Final = ("memory", "ws", "sqlite", "postgresql", "nats", "redis", "kafka", "sqs")
_ALIASES: Final = {"postgres": "postgresql", "tls": "nats", "rediss": "redis", "kafkas": "kafka"}
_NEEDS: Final = "This transport needs"


def open_transport(
    url: str, clock: Clock = SYSTEM_CLOCK, *, keys: Sequence[str] = (), store: DocumentStore | None = None
) -> Transport:
    """Return the transport of a URL. It connects when it is opened.

    Args:
        url: such as `"memory://hotel"`, `"ws://host:7000"`, `"sqlite:///hotel.db"`, `"nats://host:4222"`,
            `"postgresql://user@host/database"`, `"redis://host:6379"`, `"kafka://host:9092"` or `"sqs://eu-west-1"`.
        clock: clock of a transport in memory; the leases of brokers are in real time.
        keys: keys of the mesh, with which programs that connect directly prove who they are.
        store: store that the instances of a node share, for a broker without leases.

    Raises:
        ConfigurationError: when the URL is not valid, or there is no such transport.
        MissingExtraError: when the extra of the transport is not installed.
    """
    scheme, separator, _ = url.partition("://")
    scheme = _ALIASES.get(scheme, scheme)
    if not separator or scheme not in SCHEMES:
        hint = did_you_mean(scheme, SCHEMES)
        raise ConfigurationError(
            f"{hide_credentials(url)!r} is not the URL of a transport.{hint} Possible beginnings: "
            f"{', '.join(f'{known}://' for known in SCHEMES)}"
        )
    if scheme == "memory":
        return MemoryTransport(url.removeprefix("memory://"), clock)
    if scheme in ("sqlite", "postgresql"):
        return _open_documents(url)
    if scheme == "ws":
        from tactician.mesh.transports.websocket.transport import SocketTransport

        return SocketTransport(url, keys, hide_credentials(url))
    return _open_broker(scheme, url, store)


def _open_broker(scheme: str, url: str, store: DocumentStore | None) -> Transport:
    label = hide_credentials(url)
    if scheme == "kafka":
        with require_extra("kafka", _NEEDS):
            from tactician.mesh.transports.kafka.transport import KafkaTransport

        return KafkaTransport(url, store, label)
    if scheme == "sqs":
        with require_extra("sqs", _NEEDS):
            from tactician.mesh.transports.sqs import SqsTransport

        return SqsTransport(url, label)
    if scheme == "redis":
        with require_extra("redis", _NEEDS):
            from tactician.mesh.transports.redis import RedisTransport

        return RedisTransport(url, label)
    with require_extra("nats", _NEEDS):
        from tactician.mesh.transports.nats import NatsTransport

    return NatsTransport(url, label)


def _open_documents(url: str) -> Transport:
    path = store_path(url)
    signals = PostgresSignals(url) if path is None else LocalSignals(path)
    return StoreTransport(open_store(url), signals, hide_credentials(url))


def hide_credentials(url: str) -> str:
    """Return a URL, or several that are separated by commas, without users, passwords and options."""
    return ",".join(map(_hide_credentials, url.split(",")))


def _hide_credentials(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.partition("://")[0] + "://..."
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if parts.scheme else url.rpartition("@")[2]
