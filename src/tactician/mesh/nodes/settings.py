"""Settings of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import timedelta
from typing import TypedDict

from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.stores import DocumentStore


class NodeOptions(TypedDict, total=False):
    """Options of a node.

    Attributes:
        max_concurrent: number of requests that the instance works on at once; 10 by default.
        queue_limit: number of requests that may wait; 1000 by default.
        shareable: true when nodes of other realms may ask.
        tiers: names of models by the names of tiers.
        lease: time after which a message of an instance that has died goes to another instance; 30 seconds by default.
        shares_store: true when losing this machine does not lose the store: then a message is acknowledged once its
            run is saved, and else after the reply. By default, true for PostgreSQL.
        allows_private_webhooks: true when replies may be posted to addresses that are not public.
    """

    max_concurrent: int
    queue_limit: int
    shareable: bool
    tiers: Mapping[str, str] | None
    lease: timedelta
    shares_store: bool | None
    allows_private_webhooks: bool


@frozen(kw_only=True)
class NodeSettings:
    """Options of a node, with their defaults. See `NodeOptions` for the attributes.

    Raises:
        ConfigurationError: when a number is too small.
    """

    max_concurrent: int = 10
    queue_limit: int = 1000
    shareable: bool = False
    tiers: Mapping[str, str] | None = field(default=None)
    lease: timedelta = timedelta(seconds=30)
    shares_store: bool | None = None
    allows_private_webhooks: bool = False

    def __post_init__(self) -> None:
        if self.max_concurrent < 1 or self.queue_limit < 0:
            raise ConfigurationError("A node needs a max_concurrent of at least 1, and a queue_limit of at least 0.")
        if self.lease <= timedelta(0):
            raise ConfigurationError("The lease of a node is longer than 0 seconds.")

    def find_sharing(self, store: DocumentStore) -> bool:
        """Return whether a run that is saved in a store outlasts this machine."""
        return type(store).__name__ == "PostgresStore" if self.shares_store is None else self.shares_store
