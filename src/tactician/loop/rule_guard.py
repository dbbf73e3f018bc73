"""Rules of an agent over its tool calls: which calls may start, and what the model still owes at the end."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tactician.errors import DeclarationError
from tactician.llm import ToolCall, ToolResult
from tactician.loop.events import ToolRefused
from tactician.planning.ruling.calls import RuleGuard, find_call_mistakes, find_shared_mistakes, select_rules
from tactician.runs import RunContext
from tactician.tools import Tool
from tactician.tools.arguments import repair_arguments
from tactician.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from tactician.loop.state import TurnState
    from tactician.planning.rules import Rule


def start_guard(own: tuple[Rule, ...], shared: tuple[Rule, ...], tools: Toolbox, state: TurnState, now: float) -> None:
    """Set the guard of a run under the rules of its agent, and those of its platform that speak of its tools.

    Raises:
        DeclarationError: when a rule names no tool, or a condition no argument.
    """
    names, arguments = tools.names, list_arguments(tools)
    chosen = select_rules(shared, names)
    mistakes = [*find_call_mistakes(own, names, arguments, is_complete=True)]
    if mistakes := [*mistakes, *find_shared_mistakes(chosen, names, arguments)]:
        raise DeclarationError("rules", mistakes)
    if rules := tuple(dict.fromkeys((*own, *chosen))):
        state.guard = RuleGuard(rules, now, state.saved_guard)


def list_arguments(tools: Iterable[Tool]) -> dict[str, Collection[str] | None]:
    """Return the names of the arguments of tools; `None` for a tool that takes any."""
    schemas = {tool.name: tool.spec.parameters for tool in tools}
    return {name: _list_properties(schema) for name, schema in schemas.items()}


def _list_properties(schema: Mapping[str, object]) -> Collection[str] | None:
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, Mapping) and not schema.get("additionalProperties") else None


def canonicalize_arguments(call: ToolCall) -> ToolCall:
    """Return a call whose arguments are written anew, so that the tool reads them as the rules have."""
    try:
        return replace(call, arguments=json.dumps(call.parse_arguments()))
    except ValueError:
        repaired = repair_arguments(call.arguments)
        return call if repaired is None else replace(call, arguments=repaired)


def refuse_call(guard: RuleGuard, call: ToolCall, names: Collection[str], context: RunContext) -> ToolResult | None:
    """Return the result of a call that would break a rule; `None` for a call that may start."""
    try:
        arguments = call.parse_arguments()
    except ValueError:
        arguments = {}
    if not (rules := guard.find_refusals(call.name, arguments, names, context.clock.time())):
        return None
    texts = tuple(map(str, rules))
    context.emit(ToolRefused, call=call, rules=texts)
    broken = "the rule " + texts[0] if len(texts) == 1 else "the rules " + ", ".join(texts)
    return ToolResult(call.id, call.name, f"{call.name} was not started, as it would break {broken}.", is_error=True)


def describe_debt(guard: RuleGuard, now: float) -> str | None:
    """Return what is owed before the run may end, for the model; `None` when nothing is."""
    owed = [str(rule) for rule in guard.find_owed(now)]
    return f"these rules are not met yet: {', '.join(owed)}. Call the tools that they ask for" if owed else None
