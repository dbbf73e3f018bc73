"""Personality of the progress display."""

from __future__ import annotations

from tactician.config.loading import load_settings
from tactician.personalities import PLAIN, Personality, get_personality


def find_personality(name: str | None) -> Personality:
    """Return the personality with a name; by default the one in `tactician.toml`, else the plain personality.

    Raises:
        ConfigurationError: when no personality has the name.
    """
    name = name or load_settings().platform.personality
    return get_personality(name) if name else PLAIN
