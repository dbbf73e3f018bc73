"""`{{variables}}` in the instructions of an agent."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tactician.errors import MissingPromptVariable

_VARIABLE = re.compile(r"\{\{\s*([a-zA-Z_]\w*)\s*\}\}", re.ASCII)


def find_variables(template: str) -> tuple[str, ...]:
    """The names of the variables in a template, each once, in the order in which they come."""
    return tuple(dict.fromkeys(_VARIABLE.findall(template)))


def render_variables(
    template: str, variables: Mapping[str, object], *, agent_id: str, argument: str = "variables"
) -> str:
    """The template with values in the place of its variables, in one pass: what is in a value stays as it is.

    Args:
        template: the text.
        variables: the values.
        agent_id: whose instructions they are.
        argument: the argument in which values are given.

    Raises:
        MissingPromptVariable: when a variable has no value, or `None`.
    """

    def find_value(match: re.Match[str]) -> str:
        if (value := variables.get(match[1])) is None:
            raise MissingPromptVariable(agent_id, match[1], tuple(variables), argument)
        return str(value)

    return _VARIABLE.sub(find_value, template)
