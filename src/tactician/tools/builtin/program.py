"""Programs, started without a shell and without the keys of this process."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self

from typing_extensions import override

from tactician.amounts import need_amount
from tactician.errors import ConfigurationError, ToolError
from tactician.runs import RunContext
from tactician.text import replace_surrogates
from tactician.tools.builtin.configurable import ConfigurableTool
from tactician.tools.builtin.process_group import Program, ProgramResult, run_process_group
from tactician.tools.builtin.program_limits import ProgramLimits, build_program_environment
from tactician.tools.function import tool
from tactician.tools.tool import Tool
from tactician.tools.traits import ToolTraits

_MAX_ARGUMENTS: Final = 1_000
_MAX_SIZE: Final = 100_000
_MAX_INPUT: Final = 1_000_000
_SHORTEST: Final = 0.001


@dataclass(frozen=True)
class ProgramRunner(ConfigurableTool):
    """Tool that runs a program: `run_program`. Each call needs an approval by default.

    Attributes:
        folder: the folder in which programs start; the current folder by default. It does not confine them.
        environment: further environment variables. No `repr` shows them.
        timeout: seconds that a program may run. Then it is killed, with all that it has started.
        max_output: bytes of each output that are kept.
    """

    traits: ToolTraits = field(default=ToolTraits(needs_approval=True), repr=False)
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 60.0
    max_output: int = 50_000

    def __post_init__(self) -> None:
        need_amount("ProgramRunner.timeout", self.timeout, least=_SHORTEST)
        need_amount("ProgramRunner.max_output", self.max_output, whole=True)

    def within(self, folder: str | os.PathLike[str]) -> Self:
        """Return the tool for programs that start in a folder. A program can still reach what this process can."""
        return replace(self, folder=Path(folder).absolute())

    def with_environment(self, variables: Mapping[str, str]) -> Self:
        """Return the tool with further environment variables for programs.

        Otherwise they get only those for paths, language and time zone, and so no keys.
        """
        return replace(self, environment={**self.environment, **variables})

    def with_limits(self, *, timeout: float | None = None, max_output: int | None = None) -> Self:
        """Return the tool with other limits.

        Args:
            timeout: seconds that a program may run.
            max_output: bytes of each output that are kept.
        """
        return replace(
            self,
            timeout=self.timeout if timeout is None else timeout,
            max_output=self.max_output if max_output is None else max_output,
        )

    @tool(name="run_program")
    async def run(self, context: RunContext, arguments: list[str], input: str = "") -> ProgramResult:
        """Run a program without a shell: no pipes, no wildcards, no variables.

        Args:
            context: the context of the run
            arguments: the program and its arguments, such as ["git", "log", "-3"]
            input: text for its standard input
        """
        _check(arguments, input)
        if self.folder is not None and not self.folder.is_dir():
            raise ConfigurationError(f"run_program: {self.folder} is not a folder.")
        variables = build_program_environment(**self.environment)
        program = Program(arguments, self.folder, variables, replace_surrogates(input).encode())
        return await run_process_group(program, ProgramLimits(self.timeout, self.max_output), context.clock)

    @property
    @override
    def _function(self) -> Tool:
        return self.run


def _check(arguments: Sequence[str], input: str) -> None:
    """Check what is to be run.

    Raises:
        ToolError: when it is not valid.
        ConfigurationError: on a platform without process groups.
    """
    if not hasattr(os, "killpg"):
        raise ConfigurationError("This platform has no process groups, which run_program needs to end programs.")
    if not arguments or not arguments[0].strip():
        raise ToolError("The arguments are empty: the first one is the program.")
    if len(arguments) > _MAX_ARGUMENTS or sum(map(len, arguments)) > _MAX_SIZE or len(input) > _MAX_INPUT:
        raise ToolError("The arguments or the input are too long.")


run_program: Final = ProgramRunner()
