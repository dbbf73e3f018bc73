"""Special behaviour of tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tactician.frozen import frozen

NeedsApproval: TypeAlias = bool | Callable[[Mapping[str, object]], bool]


@frozen(kw_only=True)
class ToolTraits:
    """Special behaviour of a tool in the turn loop.

    Attributes:
        needs_approval: wait for an approval of each call; a function decides by the arguments.
        client_side: wait for the caller to call the tool.
        ends_turn: end the run with a call, with the model's text or else the tool's result as the answer.
        return_direct: end the run with a call, with the tool's result as the answer.
        repeatable: allow repeated calls with the same arguments, as in polling.
        group: the group that must be enabled for a model to see it; `None` and `"default"` always are.
        timeout: seconds that a call may take; the agent's own limit, when `None`.
        calls_tools: give the tool a `ToolInvoker`, so that it can call other tools as the model does.
    """

    needs_approval: NeedsApproval = False
    client_side: bool = False
    ends_turn: bool = False
    return_direct: bool = False
    repeatable: bool = False
    group: str | None = None
    timeout: float | None = None
    calls_tools: bool = False

    @property
    def ends_run(self) -> bool:
        """`True` when a call ends the run."""
        return self.ends_turn or self.return_direct

    def is_approval_needed(self, arguments: Mapping[str, object]) -> bool:
        """Return whether a call with these arguments needs an approval."""
        needs = self.needs_approval
        return needs(arguments) if callable(needs) else needs


NO_TRAITS = ToolTraits()
