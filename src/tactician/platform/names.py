"""Names that a platform gives to what is its own."""

from __future__ import annotations

from typing import Final

GOALS: Final = "goals"
"""Name of the tool group of all exported goals."""
REQUESTS: Final = "service"
"""Name of all runs that answer requests."""
