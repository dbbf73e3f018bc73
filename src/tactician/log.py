"""Log of what runs do, by the standard library: a line for each event, without prompts, answers, arguments and keys."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from tactician.config.loading import find_settings
from tactician.errors import ConfigurationError
from tactician.events import Event, subscribe_everywhere
from tactician.personalities import PLAIN, get_personality
from tactician.secrets import mask_secrets
from tactician.text import escape_controls

LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]
LOGGER: Final = "tactician.log"
"""Name of the logger."""
_FORMAT: Final = "%(asctime)s %(levelname)-7s %(message)s"
_LEVELS: Final = {name: logging.getLevelNamesMapping()[name.upper()] for name in ("debug", "info", "warning", "error")}
_LONGEST: Final = 500
_PLAIN: Final = "plain"
_logger = logging.getLogger(LOGGER)
_personality = PLAIN


def enable(level: LogLevel = "info", *, personality: str | None = None) -> Callable[[], None]:
    """Log the events of all runs of the program from now on, each with the path of its run.

    At the level `"info"` these are runs, plans, actions, tools and what fails; at `"debug"`, model calls and decisions
    too. Where the program has not configured `logging`, the lines go to standard error.

    Args:
        level: lowest level that is logged. The last call counts.
        personality: voice that tells of processes and actions, such as `"starwars"`, with the facts behind; by
            default, `personality` of `[platform]` in `tactician.toml`. The last call counts.

    Returns:
        The function that ends it.

    Raises:
        ConfigurationError: when there is no such level or personality.
    """
    global _personality
    if level not in _LEVELS:
        raise ConfigurationError(f"There is no level {level!r}: choose from {', '.join(_LEVELS)}.")
    _personality = get_personality(personality or _find_usual_personality())
    _logger.setLevel(_LEVELS[level])
    if not _logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(_FORMAT))
        _logger.addHandler(handler)
    return subscribe_everywhere(log_event)


def log_event(event: Event) -> None:
    """Log an event: `Platform(on_event=log_event)` logs the events of a single platform only."""
    level = event.level
    if _logger.isEnabledFor(level):
        text = mask_secrets(_describe(event))
        line = " ".join((text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…").split())
        place = " / ".join(event.path)
        _logger.log(level, "%s", escape_controls(f"{place}: {line}" if place else line))


def _find_usual_personality() -> str:
    """Return the personality that the settings name; the plain one without any."""
    settings = find_settings()
    return (None if settings is None else settings.platform.personality) or _PLAIN


def _describe(event: Event) -> str:
    """Return the line of an event: the facts, in brackets behind the words of a personality."""
    text = event.describe()
    if _personality is PLAIN or (moment := event.describe_moment()) is None:
        return text
    return f"{_personality.phrase(moment)} ({text})"
