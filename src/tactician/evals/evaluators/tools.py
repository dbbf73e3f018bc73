"""Evaluators of the tools that a run called."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

from tactician.errors import ConfigurationError
from tactician.evals.context import EvalContext, judge_problems, read_context
from tactician.loop import ToolCalled
from tactician.suggestions import suggest_options

ToolMode: TypeAlias = Literal["superset", "strict", "unordered", "subset"]
ExpectedCall: TypeAlias = str | Sequence[Any]
_MODES = ("superset", "strict", "unordered", "subset")


@suggest_options
@dataclass(repr=False)
class ToolsCalled(Evaluator[Any, Any, Any]):
    """Assertion about the tools that the run, and the runs inside it, called.

    Attributes:
        tools: names of tools, or pairs of a name and the arguments that the call has at least:
            `("refund", {"order": 17})`.
        mode: `"superset"` when the run calls all of these, and may call more; `"strict"` when it calls these in this
            order, and no others; `"unordered"` for these in any order, and no others; `"subset"` when it calls nothing
            else.

    Raises:
        ConfigurationError: when the mode is unknown, or a tool is no name and no pair.
    """

    tools: Sequence[ExpectedCall]
    mode: ToolMode = "superset"

    def __post_init__(self) -> None:
        if self.mode not in _MODES:
            raise ConfigurationError(f"ToolsCalled: mode is {self.mode!r}; write one of {', '.join(_MODES)}")
        if isinstance(self.tools, str):
            raise ConfigurationError(f"ToolsCalled: tools is {self.tools!r}; write a list: [{self.tools!r}]")
        for each in self.tools:
            _split(each)

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> EvaluationReason:
        """Return whether the calls of the run fit."""
        return judge_problems(self._find_problems(list_tool_calls(read_context(ctx))))

    def _find_problems(self, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
        expected = [_split(each) for each in self.tools]
        if self.mode == "strict":
            if len(calls) != len(expected) or not all(map(_fits, calls, expected)):
                yield f"called {_show(calls)}, expected {_show(expected)} in this order"
            return
        missing, extra = _pair(calls, expected, often=self.mode != "subset")
        if missing and self.mode != "subset":
            yield f"did not call {_show(missing)}"
        if extra and self.mode != "superset":
            yield f"called {_show(extra)} too"


def list_tool_calls(context: EvalContext) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the calls of tools with their arguments, oldest first; a call that began twice is there once."""
    calls = {event.call.id or id(event): event.call for event in context.list_events(ToolCalled)}
    return [(call.name, _read(call.arguments)) for call in calls.values()]


def _read(arguments: str) -> Mapping[str, Any]:
    try:
        values = json.loads(arguments or "{}")
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _split(expected: ExpectedCall) -> tuple[str, Mapping[str, Any]]:
    if isinstance(expected, str):
        return expected, {}
    match expected:
        case [str(name), dict(arguments)]:
            return name, arguments
    raise ConfigurationError(f'ToolsCalled: {expected!r} is no tool; write "name" or ("name", {{"argument": value}})')


def _fits(call: tuple[str, Mapping[str, Any]], expected: tuple[str, Mapping[str, Any]]) -> bool:
    is_named = call[0] == expected[0]
    return is_named and all(name in call[1] and call[1][name] == value for name, value in expected[1].items())


def _pair(
    calls: Sequence[tuple[str, Mapping[str, Any]]], expected: Sequence[tuple[str, Mapping[str, Any]]], *, often: bool
) -> tuple[list[tuple[str, Mapping[str, Any]]], list[tuple[str, Mapping[str, Any]]]]:
    """Return what is expected and was not called, and what was called and is not expected.

    Args:
        calls: the calls.
        expected: what is expected; calls with the most arguments are looked for first, as fewer calls fit them.
        often: true when each is expected as often as it is named.
    """
    if not often:
        return [], [call for call in calls if not any(_fits(call, each) for each in expected)]
    rest, missing = list(calls), []
    for each in sorted(expected, key=lambda pair: -len(pair[1])):
        match = next((call for call in rest if _fits(call, each)), None)
        if match is None:
            missing.append(each)
        else:
            rest.remove(match)
    return missing, rest


def _show(calls: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    shown = [f"{name}({json.dumps(values, default=repr)})" if values else name for name, values in calls]
    counted = Counter(shown)
    return ", ".join(name if count == 1 else f"{name} ({count} times)" for name, count in counted.items()) or "nothing"
