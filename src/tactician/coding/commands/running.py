"""Commands of a project, bounded in time and output."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tactician.clock import Clock
from tactician.coding.commands.policy import CommandPolicy
from tactician.coding.commands.sandbox import build_workspace_command
from tactician.coding.workspaces.opened import OpenWorkspace
from tactician.errors import ToolError
from tactician.frozen import frozen
from tactician.text import replace_surrogates
from tactician.tools.builtin.process_group import Program, run_process_group
from tactician.tools.builtin.program_limits import ProgramLimits, build_program_environment

_MAX_COMMAND: Final = 20_000
_KEPT: Final = 4_000_000
_MAX_FILE: Final = 2_000_000_000


@frozen
class CommandResult:
    """Result of a command.

    Attributes:
        command: the command.
        exit_code: 0 when it succeeded; negative, when a signal ended it.
        output: both outputs, in the order in which they were written.
    """

    command: str
    exit_code: int
    output: str

    def show(self, longest: int) -> str:
        """Return the result for a model, with the beginning and the end of a long output."""
        output = self.output.strip("\n")
        if len(output) > longest:
            begin, end = longest // 3, longest - longest // 3
            cut = len(output) - longest
            output = f"{output[:begin]}\n[... {cut:,} characters are left out ...]\n{output[-end:]}"
        return f"{output or '(no output)'}\n[exit code {self.exit_code}]"


async def run_command(
    command: str, workspace: OpenWorkspace, policy: CommandPolicy, clock: Clock, *, folder: str = "."
) -> CommandResult:
    """Run a command of the shell in a workspace.

    Args:
        command: the command.
        workspace: the workspace.
        policy: the rules for commands.
        clock: the time.
        folder: the folder in which it starts, relative to the workspace.

    Raises:
        ToolError: when no command may run, or it takes too long.
    """
    if policy.mode == "never":
        raise ToolError("No commands may be run in this workspace.")
    if not command.strip() or len(command) > _MAX_COMMAND or "\0" in command:
        raise ToolError("The command is empty, too long, or has a null character in it.")
    place = find_folder(workspace.path, folder)
    arguments = ("bash", "-c", f"exec 2>&1\n{replace_surrogates(command)}")
    limits = ProgramLimits(policy.timeout, _KEPT, file_size=_MAX_FILE)
    if policy.uses_sandbox:
        sandboxed = build_workspace_command(arguments, place, workspace, policy)
        program = Program(sandboxed, None, {"PATH": "/usr/bin:/bin"}, b"", command)
    else:
        program = Program(arguments, place, build_program_environment(TERM="dumb", CI="1"), b"", command)
    done = await run_process_group(program, limits, clock)
    return CommandResult(command, done.exit_code, done.output + done.errors)


def find_folder(root: Path, folder: str) -> Path:
    """Return a folder in a workspace.

    Raises:
        ToolError: when it is not there, or leads out of the workspace.
    """
    place = (root / folder).resolve()
    if not place.is_relative_to(root.resolve()) or not place.is_dir():
        raise ToolError(f"{folder!r} is not a folder in the workspace.")
    return place
