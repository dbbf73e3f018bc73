"""What has to be there before a process can start."""

from __future__ import annotations

from tactician.errors import ConfigurationError
from tactician.process.spec import PlannedAgentSpec
from tactician.runs import RunContext
from tactician.tools import ToolGroups, unknown_groups


def need_tool_groups(agent: PlannedAgentSpec, context: RunContext) -> None:
    """Nothing, when all tool groups are there that actions of the agent use.

    Raises:
        ConfigurationError: with all actions whose groups are missing.
    """
    known = context.services.find(ToolGroups)
    missing = [(action.name, group) for action in agent.actions for group in action.tool_groups if group not in known]
    if missing:
        needs = "; ".join(f"the action {action!r} needs the tool group {group!r}" for action, group in missing)
        what = unknown_groups((group for _, group in missing), known)
        raise ConfigurationError(f"{agent.name} cannot start: {needs}. {what}")
