"""Attempts at valid answers, as a project sets them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tactician.config import load_settings

if TYPE_CHECKING:
    from tactician.config import AttemptSettings


class AnswerAttempts:
    """Number of attempts at valid answers and the waits between them, for all runs of a platform.

    Args:
        settings: the settings; by default, those in `tactician.toml`.

    Raises:
        ConfigurationError: when the settings are not valid.
    """

    def __init__(self, settings: AttemptSettings | None = None) -> None:
        self.settings = load_settings().platform.data_binding if settings is None else settings
