"""Options of the clients of Kafka, from the address of a mesh."""

from __future__ import annotations

from hashlib import sha256
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from tactician.errors import ConfigurationError
from tactician.mesh.transports.transport import escape_name

TOPICS: Final = "tactician.topics"
"""Topic of Kafka for all topics of a mesh; the key of a record is the name of its topic."""
PRIVATE_QUEUES: Final = "tactician.private"
"""Topic of Kafka for the replies to processes; the key of a record is its queue, which decides its partition."""
_LONGEST_NAME: Final = 200
_QUERY: Final = {"sasl": "sasl.mechanisms", "ca": "ssl.ca.location", "certificate": "ssl.certificate.location"}
_QUERY_KEYS: Final = {**_QUERY, "key": "ssl.key.location"}
PRODUCER: Final = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 1,
    "message.max.bytes": 1_040_000,
    "message.timeout.ms": 30_000,
}
"""A record is sent once all replicas in sync have it, and is stored once when it is sent twice."""
CONSUMER: Final = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "fetch.wait.max.ms": 100,
    "session.timeout.ms": 6_000,
    "heartbeat.interval.ms": 1_000,
    "allow.auto.create.topics": False,
}


def read_options(url: str) -> dict[str, str | int]:
    """Return the options that all clients have.

    Args:
        url: such as `kafka://host:9092,host:9093`, or `kafkas://user:password@host:9092?sasl=SCRAM-SHA-512` with TLS.

    Raises:
        ConfigurationError: when the URL is not valid.
    """
    parts = urlsplit(url)
    credentials, _, brokers = parts.netloc.rpartition("@")
    query = dict(parse_qsl(parts.query))
    if not brokers or parts.path not in ("", "/") or not query.keys() <= _QUERY_KEYS.keys():
        raise ConfigurationError(
            "The address of Kafka has the form kafka://host:9092,host:9092, with kafkas:// for TLS, and the options "
            f"{', '.join(_QUERY_KEYS)}."
        )
    user, _, password = credentials.partition(":")
    transport = "SSL" if parts.scheme == "kafkas" else "PLAINTEXT"
    options: dict[str, str | int] = {
        "bootstrap.servers": brokers,
        "security.protocol": f"SASL_{transport}" if user else transport,
        "reconnect.backoff.max.ms": 1_000,
        "socket.connection.setup.timeout.ms": 3_000,
        "log_level": 3,
        **{_QUERY_KEYS[name]: value for name, value in query.items()},
    }
    if user:
        signs_in = {"sasl.username": unquote(user), "sasl.password": unquote(password)}
        options = {"sasl.mechanisms": "PLAIN", **options, **signs_in}
    return options


def name_queue(queue: str) -> str:
    """Return the name of the topic of a queue, which has at most 249 characters; the end of a long name is a hash."""
    name = escape_name(queue)
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 33]}-{sha256(queue.encode()).hexdigest()[:32]}"
    return f"tactician.queue.{name}"
