"""Scripts of skills: in a sandbox if possible, else after an approval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, TypeAlias

from tactician.clock import Clock
from tactician.errors import ToolError
from tactician.frozen import frozen
from tactician.skills.sandbox import (
    SKILL_FOLDER,
    ScriptLimits,
    build_sandboxed_command,
    find_python,
    is_sandbox_available,
)
from tactician.skills.skill import Skill
from tactician.tools.builtin.process_group import Program, ProgramResult, run_process_group
from tactician.tools.builtin.program_limits import build_program_environment

ScriptMode: TypeAlias = Literal["sandbox", "ask", "never"]
_MAX_ARGUMENTS: Final = 200
_MAX_SIZE: Final = 100_000
_MAX_INPUT: Final = 1_000_000
_MAX_SCRIPT: Final = 1_000_000


@frozen
class ScriptPolicy:
    """Rules for the scripts of skills.

    Attributes:
        mode: `"sandbox"` to run them without an approval in a sandbox, and after one where there is no sandbox; `"ask"`
            to ask always; `"never"` to run none.
        limits: their limits.
        folder: the folder in which they may write; a temporary folder, when `None`.
        required_role: role that a person needs to approve a script; anybody may, when `None`.
    """

    mode: ScriptMode = "sandbox"
    limits: ScriptLimits = field(default_factory=ScriptLimits)
    folder: Path | None = None
    required_role: str | None = None

    @property
    def needs_approval(self) -> bool:
        """True when a person has to approve each script."""
        return self.mode != "sandbox" or not is_sandbox_available()


async def run_skill_script(
    skill: Skill, path: str, arguments: Sequence[str], input: str, policy: ScriptPolicy, clock: Clock
) -> ProgramResult:
    """Run a script of a skill to its end: in a sandbox, or on a machine without sandboxes as its program.

    Raises:
        ToolError: when there is no such script, or it takes too long.
    """
    if len(arguments) > _MAX_ARGUMENTS or sum(map(len, arguments)) > _MAX_SIZE or len(input) > _MAX_INPUT:
        raise ToolError("The arguments or the input are too long.")
    head, size = skill.workspace.read(path, 0, _MAX_SCRIPT)  # refuses links, and what is not in the folder
    if size > _MAX_SCRIPT:
        raise ToolError(f"{path!r} is too long for a script.")
    interpreter = _find_interpreter(path, head)
    limits = policy.limits
    if is_sandbox_available():
        command = (*interpreter, f"{SKILL_FOLDER}/{path}", *arguments)
        sandboxed = build_sandboxed_command(command, skill.folder, _prepare(policy.folder), limits)
        return await run_process_group(Program(sandboxed, None, {}, input.encode(), path), limits, clock)
    with TemporaryDirectory(ignore_cleanup_errors=True) as gone:
        work = _prepare(policy.folder) or Path(gone)
        environment = build_program_environment(HOME=str(work), TMPDIR=str(work))
        command = (*interpreter, str(skill.folder / path), *arguments)
        return await run_process_group(Program(command, work, environment, input.encode(), path), limits, clock)


def _prepare(folder: Path | None) -> Path | None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _find_interpreter(path: str, head: bytes) -> tuple[str, ...]:
    """Return the program that runs a script, by its ending or its first line.

    Raises:
        ToolError: when neither says so.
    """
    match Path(path).suffix.lower():
        case ".py":
            return (find_python(), "-s", "-B")
        case ".sh" | ".bash":
            return ("bash",)
        case ".js" | ".mjs":
            return ("node",)
    if head.startswith(b"#!"):
        return tuple(head[2:].splitlines()[0].decode(errors="replace").split()[:4])
    raise ToolError(f"{path!r} is not a script: it must end in .py, .sh or .js, or begin with '#!'.")
