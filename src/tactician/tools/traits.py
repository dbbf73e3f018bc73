"""Special behaviour of tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tactician.errors import DeclarationError
from tactician.frozen import frozen

NeedsApproval: TypeAlias = bool | Callable[[Mapping[str, Any]], bool]
"""True to wait for an approval of each call, or a function that decides by the arguments."""


@frozen(kw_only=True)
class ToolTraits:
    """Special behaviour of a tool in the turn loop.

    Attributes:
        needs_approval: wait for an approval of each call; a function decides by the arguments.
        required_role: role that a person needs to approve a call; anybody may, when `None`.
        client_side: wait for the caller to call the tool.
        ends_turn: end the run with a call, with the model's text or else the tool's result as the answer.
        return_direct: end the run with a call, with the tool's result as the answer.
        repeatable: allow repeated calls with the same arguments, as in polling.
        group: the group that must be enabled for a model to see it; `None` and `"default"` always are.
        timeout: seconds that a call may take; the agent's own limit, when `None`.
        calls_tools: give the tool a `ToolInvoker`, so that it can call other tools as the model does.
    """

    needs_approval: NeedsApproval = False
    required_role: str | None = None
    client_side: bool = False
    ends_turn: bool = False
    return_direct: bool = False
    repeatable: bool = False
    group: str | None = None
    timeout: float | None = None
    calls_tools: bool = False

    def __post_init__(self) -> None:
        """Check the role.

        Raises:
            DeclarationError: when it is blank, or no call needs an approval.
        """
        if self.required_role is not None and not self.required_role.strip():
            raise DeclarationError("required_role", ["it is blank: name the role, or leave it out"])
        if self.required_role is not None and self.needs_approval is False:
            role = f"required_role={self.required_role!r}"
            raise DeclarationError("required_role", [f"no call needs an approval: write needs_approval=True, {role}"])

    @property
    def ends_run(self) -> bool:
        """`True` when a call ends the run."""
        return self.ends_turn or self.return_direct

    def is_approval_needed(self, arguments: Mapping[str, object]) -> bool:
        """Return whether a call with these arguments needs an approval."""
        needs = self.needs_approval
        return needs(arguments) if callable(needs) else needs


NO_TRAITS = ToolTraits()
