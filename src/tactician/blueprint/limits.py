"""How large a blueprint may be: it may come from anywhere."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is read and built at most.

    Attributes:
        size: characters of a file.
        depth: how deep objects and lists are nested in a file.
        values: objects, lists and values in a file, those that YAML's aliases repeat counted each time.
        nodes: agents and constellations, those of other files included.
    """

    size: int = 2_000_000
    depth: int = 128
    values: int = 200_000
    nodes: int = 5_000


DEFAULT_LIMITS = Limits()
