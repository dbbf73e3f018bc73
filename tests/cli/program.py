"""Program that has loaded the command line, and forks a process for each command."""

from __future__ import annotations

import sys

import genai_prices

from tactician.cli import main
from tactician.stores import SqliteStore
from tests.support.forking import serve as serve_forks

LOADED = (SqliteStore, genai_prices)
"""Classes and modules that most commands load when they need them: loaded once, for all."""


def serve() -> None:
    """Carry out commands."""
    serve_forks(_run_command)


def _run_command(arguments: list[str]) -> None:
    sys.argv[1:] = arguments
    main()
