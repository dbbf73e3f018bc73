"""Agents that work on their own until they say that they are done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from tactician.amounts import Count, Delay, Positive
from tactician.errors import DeclarationError, InvalidArgumentsError
from tactician.frozen import frozen
from tactician.llm.model import JsonSchema, ToolSpec
from tactician.loop.output import InvalidOutput, OutputType
from tactician.runs import RunContext
from tactician.tools import Tool
from tactician.tools.traits import ToolTraits

if TYPE_CHECKING:
    from tactician.conversation import WindowStrategy

T = TypeVar("T")
TASK_OVER = "task_over"
_NOTHING: JsonSchema = {"type": "object", "properties": {}, "additionalProperties": False}
_ENDS = ToolTraits(ends_turn=True)
_DEFAULT_GROUP = "default"


@frozen(kw_only=True)
class Autonomous:
    """Policy of an agent that works on its own: it calls tools and thinks aloud until a tool ends the turn.

    An agent without a visible tool that ends the turn gets `task_over`, whose arguments are its answer.

    Attributes:
        max_iterations: requests to the model; no limit, when `None`.
        end_turn_on_plain_reply: take a reply without tool calls as the answer; else the model is asked to continue.
        enabled_tool_groups: tool groups that the model sees besides tools without a group; all, when `None`.
        max_tool_output_tokens: length at which a tool's result is cut off; no limit when `None`.
        compact_after: first iteration in which old tool results are hidden from the model.
        keep_last: number of latest iterations whose tool results are never hidden.
        max_conversation_tokens: length above which the oldest messages are hidden.
        min_iteration_interval: seconds between the beginnings of two iterations, at least.
        infinite: never offer `task_over`: only a limit, an error or a cancellation ends the run.
        retries: number of restarts when `max_iterations` was not sufficient.

    Raises:
        DeclarationError: when a number is not possible.
    """

    max_iterations: Positive | None = 25
    end_turn_on_plain_reply: bool = False
    enabled_tool_groups: frozenset[str] | set[str] | None = None
    max_tool_output_tokens: Positive | None = None
    compact_after: Count | None = None
    keep_last: Positive = 1
    max_conversation_tokens: Positive | None = None
    min_iteration_interval: Delay | None = None
    infinite: bool = False
    retries: Count = 1

    def __post_init__(self) -> None:
        checks = (
            (_is_limit(self.max_iterations, 1), "max_iterations must be at least 1, or None"),
            (_is_limit(self.max_tool_output_tokens, 1), "max_tool_output_tokens must be at least 1, or None"),
            (_is_limit(self.compact_after, 0), "compact_after must be at least 0, or None"),
            (_is_whole(self.keep_last, 1), "keep_last must be at least 1"),
            (_is_limit(self.max_conversation_tokens, 1), "max_conversation_tokens must be at least 1, or None"),
            (_is_seconds(self.min_iteration_interval), "min_iteration_interval must be seconds from 0 up, or None"),
            (_is_whole(self.retries, 0), "retries cannot be negative"),
            (not isinstance(self.enabled_tool_groups, str), "enabled_tool_groups must be a set of names"),
        )
        if problems := [problem for holds, problem in checks if not holds]:
            raise DeclarationError("Autonomous", problems)

    def build_strategy(self, window: WindowStrategy | None) -> WindowStrategy | None:
        """Return the agent's window strategy, after the limits of this policy."""
        from tactician.conversation import CompactToolResults, SlidingWindow, chain

        compaction = None
        if self.compact_after is not None:
            compaction = CompactToolResults(after=self.compact_after, keep_last=self.keep_last)
        limit = self.max_conversation_tokens
        strategies = (compaction, None if limit is None else SlidingWindow(limit), window)
        return chain(*(strategy for strategy in strategies if strategy is not None))

    def is_visible(self, tool: Tool) -> bool:
        """Return whether the model sees the tool."""
        enabled, group = self.enabled_tool_groups, tool.traits.group
        return enabled is None or not group or group == _DEFAULT_GROUP or group in enabled


def _is_whole(value: object, least: int) -> bool:
    """Return whether a setting is a whole number from `least` up."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_limit(value: object, least: int) -> bool:
    return value is None or _is_whole(value, least)


def _is_seconds(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and value >= 0)


class TaskOver(Tool, Generic[T]):
    """Tool by which an autonomous agent ends its run, with its answer as the arguments."""

    traits = _ENDS

    def __init__(self, output: OutputType[T]) -> None:
        self._output = output
        schema = _NOTHING if output.spec is None else output.spec.schema
        self._spec = ToolSpec(TASK_OVER, "Call this when the task is done, with the final result.", schema)

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return self._spec

    async def call(self, arguments: str, context: RunContext) -> str:
        """Accept an answer.

        Raises:
            InvalidArgumentsError: when it is not valid.
        """
        try:
            self._output.parse(arguments)
        except InvalidOutput as error:
            raise InvalidArgumentsError(f"This is not a valid {self._output.name}: {error}") from error
        return "done"
