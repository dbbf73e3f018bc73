"""Program that has loaded the command line, and forks a process for each command."""

from __future__ import annotations

import sys

from tactician.cli import main
from tests.support.forking import load_tactician
from tests.support.forking import serve as serve_forks


def serve() -> None:
    """Carry out commands."""
    load_tactician()
    serve_forks(_run_command)


def _run_command(arguments: list[str]) -> None:
    sys.argv[1:] = arguments
    main()
