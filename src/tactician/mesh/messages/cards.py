"""Cards: what a node publishes of itself and of its capabilities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue, StringConstraints

from tactician.mesh.messages.message import (
    MAX_NAMES,
    Amount,
    Count,
    MeshMessage,
    MessagePart,
    Moment,
    Name,
    Names,
    Text,
)

Address = Annotated[str, StringConstraints(max_length=2_000)]
CapabilityKind = Literal["task", "tool"]


class CapabilityCard(MessagePart):
    """Capability as its node publishes it.

    Attributes:
        name: its name.
        kind: `"task"` for a whole process, `"tool"` for a single call.
        description: its purpose.
        tags: words to find it by.
        input_schema: JSON schema of typed input; text is always possible for a task.
        output_schema: JSON schema of the output, if it is declared.
        version: its version.
        is_enabled: false while it takes no requests.
        is_idempotent: true when doing the work twice does no harm.
        price: US dollars that a request usually costs, if measured.
    """

    name: Name
    kind: CapabilityKind
    description: Text = ""
    tags: Names = ()
    input_schema: dict[str, JsonValue] | None = None
    output_schema: dict[str, JsonValue] | None = None
    version: Name | None = None
    is_enabled: bool = True
    is_idempotent: bool = False
    price: Amount | None = None


class ScheduleCard(MessagePart):
    """Schedule as its node publishes it.

    Attributes:
        name: its name.
        timetable: its moments in words, such as `"0 7 * * mon-fri Europe/Berlin"`.
        next_at: time of the next tick.
        last_tick: the last tick that was seen; `None` before the node has begun.
        publish_to: topic of the results.
    """

    name: Name
    timetable: Text
    next_at: Moment
    last_tick: Moment | None = None
    publish_to: Name | None = None


class NodeCard(MeshMessage):
    """Card of an instance of a node. It is published every 10 seconds, and is forgotten after 30.

    Attributes:
        node: name of the node.
        instance: id of the instance, which is a process of the node.
        realm: group of nodes under the same administration.
        state: state of the instance.
        capabilities: what it offers.
        queue_depth: number of requests that wait.
        running: number of requests that it works on.
        max_concurrent: number of requests that it works on at once.
        queue_limit: number of requests that may wait.
        seconds_per_request: measured time from the start of a request to its end; `None` before the first.
        is_shareable: true when nodes of other realms may ask.
        address: address for direct connections, if any.
        sent_at: time by the clock of the node.
        ttl: seconds for which the card is valid.
        tiers: names of the model tiers that may be chosen.
        schedules: work that the node begins by itself.
        topics: patterns of the topics whose events it works on.
    """

    EVENT: ClassVar[str] = "card"

    node: Name
    instance: Name
    realm: Name = "default"
    state: Literal["STARTING", "READY", "DRAINING", "STOPPED"]
    capabilities: Annotated[tuple[CapabilityCard, ...], Field(max_length=500)] = ()
    queue_depth: Count = 0
    running: Count = 0
    max_concurrent: Count = 1
    queue_limit: Count | None = None
    seconds_per_request: Amount | None = None
    is_shareable: bool = False
    address: Address | None = None
    sent_at: Moment
    ttl: Amount = 30.0
    tiers: Names = ()
    schedules: Annotated[tuple[ScheduleCard, ...], Field(max_length=MAX_NAMES)] = ()
    topics: Names = ()

    def is_reached(self, target: str) -> bool:
        """Return whether a directive for a target is for the node, or for what it offers."""
        if target in (self.node, f"realm:{self.realm}"):
            return True
        return any(
            target == f"capability:{each.name}" or target in {f"tag:{tag}" for tag in each.tags}
            for each in self.capabilities
        )


def list_targets(cards: Iterable[NodeCard]) -> list[str]:
    """Return the targets that directives for these nodes may have."""
    targets = set[str]()
    for card in cards:
        targets |= {card.node, f"realm:{card.realm}"}
        for each in card.capabilities:
            targets |= {f"capability:{each.name}", *(f"tag:{tag}" for tag in each.tags)}
    return sorted(targets)


class CardQuery(MeshMessage):
    """Question who is there: every node publishes its card at once.

    Attributes:
        sender: the node or client that asks.
    """

    EVENT: ClassVar[str] = "who"

    sender: Name = Field(validation_alias="from", serialization_alias="from")
