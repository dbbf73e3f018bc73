"""`{{variables}}` in the instructions of an agent."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tactician.errors import MissingPromptVariable

_VARIABLE = re.compile(r"\{\{\s*([a-zA-Z_]\w*)\s*\}\}", re.ASCII)


def find_variables(template: str) -> tuple[str, ...]:
    """Return the names of the variables in a template, each once, in order of appearance."""
    return tuple(dict.fromkeys(_VARIABLE.findall(template)))


def render_variables(
    template: str, variables: Mapping[str, object], *, agent_id: str, argument: str = "variables"
) -> str:
    """Return the template with values for its variables, in a single pass: text in values is not expanded.

    Args:
        template: the text.
        variables: the values.
        agent_id: the id of the agent with these instructions.
        argument: the name of the argument that has the values.

    Raises:
        MissingPromptVariable: when a variable has no value, or `None`.
    """

    def find_value(match: re.Match[str]) -> str:
        if (value := variables.get(match[1])) is None:
            raise MissingPromptVariable(agent_id, match[1], tuple(variables), argument)
        return str(value)

    return _VARIABLE.sub(find_value, template)
