"""Defaults of settings that hold in every program, where nothing is set and the models of settings are not loaded."""

from __future__ import annotations

from typing import Final

REMEMBERED_PROCESSES: Final = 1_000
REMEMBERED_MESSAGES: Final = 20_000
