"""Rules for the commands of a coding agent."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias, get_args

from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.skills import is_sandbox_available

CommandMode: TypeAlias = Literal["sandbox", "ask", "trusted", "never"]


@frozen(kw_only=True)
class CommandPolicy:
    """Rules for commands: of the shell, of builds and of tests.

    Attributes:
        mode: `"sandbox"` to run them in a sandbox without approvals, and after an approval of each command where there
            is no sandbox; `"ask"` to ask for an approval of each; `"trusted"` to run them as programs of this machine
            without asking; `"never"` to run none.
        network: true to let commands in the sandbox use the network.
        timeout: seconds that a command may run.
        max_output: characters of an output that a model sees.
        readable: further folders that the sandbox shows, such as the folder of a toolchain.

    Raises:
        ConfigurationError: when there is no such mode, or the time or the size is not positive.
    """

    mode: CommandMode = "sandbox"
    network: bool = False
    timeout: float = 300.0
    max_output: int = 12_000
    readable: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a mode that does not exist: it would be neither sandboxed nor approved."""
        if self.mode not in get_args(CommandMode):
            modes = ", ".join(map(repr, get_args(CommandMode)))
            raise ConfigurationError(f"CommandPolicy.mode is {self.mode!r}; it must be one of {modes}")
        limits: dict[str, object] = {"timeout": self.timeout, "max_output": self.max_output}
        for name, value in limits.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ConfigurationError(f"CommandPolicy.{name} is {value!r}; it must be a number > 0")

    @property
    def uses_sandbox(self) -> bool:
        """True when commands run in a sandbox."""
        return self.mode in ("sandbox", "ask") and is_sandbox_available()

    @property
    def needs_approval(self) -> bool:
        """True when a person has to approve each command of a model."""
        return self.mode == "ask" or (self.mode == "sandbox" and not is_sandbox_available())

    @property
    def may_measure(self) -> bool:
        """True when tests may be run without asking, to measure the work."""
        return self.mode == "trusted" or (self.mode == "sandbox" and is_sandbox_available())
