"""The command `tactician`."""

from tactician.cli.app import main

__all__ = ["main"]
