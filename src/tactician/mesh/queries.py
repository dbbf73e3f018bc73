"""Queries for capabilities of a mesh."""

from __future__ import annotations

import json

from pydantic import JsonValue

from tactician.errors import InvalidArgumentsError
from tactician.frozen import frozen
from tactician.mesh.messages.cards import CapabilityCard
from tactician.tools.schema_check import SchemaCheck


@frozen(kw_only=True)
class CapabilityQuery:
    """Query for capabilities.

    Attributes:
        name: name of the capability; any, when `None`.
        tags: tags that a capability must have, all of them.
        any_tags: tags of which a capability must have any.
        kind: `"task"` or `"tool"`; both, when `None`.
        version: its version; any, when `None`.
        accepts: JSON object that its input schema must take; a capability without a schema takes text only.
    """

    name: str | None = None
    tags: frozenset[str] = frozenset()
    any_tags: frozenset[str] = frozenset()
    kind: str | None = None
    version: str | None = None
    accepts: JsonValue = None

    def matches(self, card: CapabilityCard) -> bool:
        """Return whether a capability is what the query asks for."""
        return (
            self.name in (None, card.name)
            and self.tags <= {*card.tags}
            and (not self.any_tags or not self.any_tags.isdisjoint(card.tags))
            and self.kind in (None, card.kind)
            and self.version in (None, card.version)
            and (self.accepts is None or _takes(card, self.accepts))
        )


def _takes(card: CapabilityCard, value: JsonValue) -> bool:
    if card.input_schema is None:
        return isinstance(value, str)
    try:
        SchemaCheck(card.name, card.input_schema).check(json.dumps(value))
    except InvalidArgumentsError:
        return False
    return True
