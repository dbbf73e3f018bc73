"""Every conversation with tools runs here."""

from tactician.loop.output import InvalidOutput, OutputType, output_type
from tactician.loop.turns import (
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_MAX_TURNS,
    DEFAULT_POLICY,
    NO_TOOLS,
    TurnLoop,
    TurnPolicy,
)

__all__ = [
    "TurnLoop",
    "TurnPolicy",
    "DEFAULT_POLICY",
    "DEFAULT_MAX_TURNS",
    "DEFAULT_MAX_ATTEMPTS",
    "NO_TOOLS",
    "OutputType",
    "output_type",
    "InvalidOutput",
]
