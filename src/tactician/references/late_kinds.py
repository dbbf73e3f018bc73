"""Kinds of references whose classes are in packages above this one: libraries, agent skills, and MCP servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from tactician.frozen import frozen
from tactician.late_imports import Port
from tactician.prompts import LlmReference

WritePath: TypeAlias = Callable[[Path], str]
"""Function that returns a path as entries have it."""


@frozen
class LateKind:
    """Kind of references of a package above this one.

    Attributes:
        create: function that is called with the fields of an entry, and returns the reference.
        describe: function that returns the fields of the entry of a reference, without those that are `None`; or `None`
            for a reference of another class. It raises a `ConfigurationError` when no entry can have all of it.
    """

    create: Callable[..., LlmReference]
    describe: Callable[[LlmReference, WritePath], Mapping[str, object] | None]


LATE_KINDS: Final[Mapping[str, Port[LateKind]]] = {
    "library": Port("references to libraries"),
    "skills": Port("references to skills"),
    "mcp": Port("references to servers"),
}
