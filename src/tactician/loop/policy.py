"""Policy of the turn loop."""

from __future__ import annotations

from dataclasses import dataclass

from tactician.conversation import WindowStrategy
from tactician.loop.autonomy import Autonomous
from tactician.loop.guards import NO_GUARDS, Guards

DEFAULT_MAX_TURNS = 10
DEFAULT_MAX_REPEATS = 3


@dataclass(frozen=True, kw_only=True)
class TurnPolicy:
    """Limits of a conversation, and the other settings of an agent for its turns.

    Attributes:
        max_turns: requests in which the model may use tools. After them the model is asked to answer, at most three
            times.
        max_attempts: number of attempts at a valid object before the run fails; those of the project, when `None`.
        max_tool_calls: number of tool calls in all; no limit, when `None`.
        max_repeats: number of equal calls in a row from which on the call is not run any more; no limit, when `None`.
        parallel_tools: run the tool calls of a turn concurrently.
        tool_timeout: seconds for a tool call; no limit, when `None`.
        max_tool_output_tokens: length at which a result is cut off, at about four characters a token; no limit, when
            `None`.
        max_tool_output_chars: the same length in characters; the shorter one counts.
        window: the part of a long conversation that the model sees; all, when `None`.
        guards: the guardrails.
        autonomy: policy of an autonomous agent; when `None`, the first reply without tool calls is the answer.
    """

    max_turns: int = DEFAULT_MAX_TURNS
    max_attempts: int | None = None
    max_tool_calls: int | None = None
    max_repeats: int | None = DEFAULT_MAX_REPEATS
    parallel_tools: bool = True
    tool_timeout: float | None = None
    max_tool_output_tokens: int | None = None
    max_tool_output_chars: int | None = None
    window: WindowStrategy | None = None
    guards: Guards = NO_GUARDS
    autonomy: Autonomous | None = None

    @property
    def tool_output_limit(self) -> int | None:
        """The limit of a tool's output in tokens: that of the agent, or of its autonomy."""
        if self.max_tool_output_tokens is None and self.autonomy is not None:
            return self.autonomy.max_tool_output_tokens
        return self.max_tool_output_tokens


DEFAULT_POLICY = TurnPolicy()
