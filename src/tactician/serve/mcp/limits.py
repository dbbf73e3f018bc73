"""Limits of what a client may send, and of what it gets."""

from __future__ import annotations

from typing import Final

MOST_ARGUMENTS: Final = 1_000_000
"""Characters of the arguments of a call, as JSON."""
MOST_RESULT: Final = 1_000_000
"""Characters of the text of a result."""
MOST_ROUNDS: Final = 20
"""Times that a call asks its client, in a row."""
PAGE: Final = 100
"""Entries of a list that a client gets at once."""
REMEMBERED: Final = 1_000
"""Runs of which the tool is remembered, and clients that hear of changes."""
MOST_SUBSCRIPTIONS: Final = 1_000
"""Resources of whose changes a client of the old era hears."""
