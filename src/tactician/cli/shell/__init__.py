"""The shell: a session with agents in the terminal."""

from tactician.cli.shell.history import ShellHistory
from tactician.cli.shell.interrupts import ignore_interrupts
from tactician.cli.shell.lines import FileLines, LineReader, TerminalLines, open_lines
from tactician.cli.shell.program import shell
from tactician.cli.shell.session import ShellSession

__all__ = [
    "FileLines",
    "LineReader",
    "ShellHistory",
    "ShellSession",
    "TerminalLines",
    "ignore_interrupts",
    "open_lines",
    "shell",
]
