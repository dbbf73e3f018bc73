"""Start of the command `tactician`, which Ctrl-C may interrupt before everything is imported."""

from __future__ import annotations

import sys
from typing import Final

_INTERRUPTED: Final = 130


def main() -> None:
    """Run the command line. Ctrl-C ends it with a word instead of a traceback, also while modules are imported."""
    try:
        from tactician.cli.app import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(_INTERRUPTED)
