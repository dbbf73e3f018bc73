"""The command `tactician`, and what a file of agents uses to add commands to its shell."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.cli.entry import main as main
    from tactician.cli.shell_commands import ShellOption as ShellOption
    from tactician.cli.shell_commands import shell_command as shell_command
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.cli.entry": "main",
            "tactician.cli.shell_commands": "ShellOption shell_command",
        },
    )
