"""Handoffs: another Runnable takes over the conversation and answers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Generic, TypeAlias

import pydantic
from typing_extensions import TypeVar

from tactician.conversation.history_repair import repair_history
from tactician.frozen import frozen
from tactician.grammar import add_article
from tactician.llm import AssistantMessage, Message, Text, ToolCall, ToolResult, UserMessage
from tactician.llm.messages import SystemMessage
from tactician.llm.model import ToolSpec
from tactician.loop.events import HandedOff
from tactician.loop.output import InvalidOutput, output_type
from tactician.runs import HandoffError, RunContext, Runnable, RunResult
from tactician.runs.runnable import need_member
from tactician.suggestions import suggest_options
from tactician.text import snake_case
from tactician.tools import Tool
from tactician.tools.function import create_arguments_error
from tactician.tools.traits import ToolTraits

T = TypeVar("T", default=object)
HistoryFilter: TypeAlias = Callable[[Sequence[Message]], Sequence[Message]]
"""Filter of the messages that the target of a handoff sees. Incomplete tool calls are repaired."""

_AWARENESS = "The conversation was handed over to you by {source}. Go on with it; the user does not need to know."


@frozen
class _Arguments:
    message: str | None = None


@suggest_options
class Handoff(Tool, Generic[T]):
    """Tool by which a model hands the conversation over. The run ends with the target's answer.

    Args:
        target: the Runnable that takes over.
        name: `transfer_to_` and the target's name, by default.
        description: the situation for a handoff; the target's description by default.
        propagated_output_type: the type of the target's answer, whatever the agent's own output type is.
        history: filter of the messages that the target sees; all by default.
        awareness: system message to the target about the handoff; `{source}` in it is the agent's
            name. With `None` there is no message.

    Raises:
        DeclarationError: when the target is not a Runnable.
    """

    traits = ToolTraits(ends_turn=True)

    def __init__(
        self,
        target: Runnable,
        name: str | None = None,
        description: str | None = None,
        *,
        propagated_output_type: type[T] | None = None,
        history: HistoryFilter | None = None,
        awareness: str | None = _AWARENESS,
    ) -> None:
        need_member("handoff", "target", target)
        self.target = target
        self.propagated_output_type = propagated_output_type
        self.history = history
        self.awareness = awareness
        message = {"type": "string", "description": "what the next agent needs to know besides the conversation"}
        self._spec = ToolSpec(
            name or snake_case(target.name, "transfer_to_"),
            description or f"Hand the conversation over to {target.name}: {target.description}",
            {"type": "object", "properties": {"message": message}, "additionalProperties": False},
        )

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return self._spec

    async def call(self, arguments: str, context: RunContext) -> str:
        """Accept the handoff; the turn loop performs it after all calls of the turn are answered.

        Raises:
            InvalidArgumentsError: when the message is not text.
        """
        self._read_message(arguments)
        return f"Handed over to {self.target.name}."

    def read_message(self, call: ToolCall) -> str | None:
        """Return the model's message to the target."""
        return self._read_message(call.arguments)

    def build_conversation(self, source: str, messages: Sequence[Message], message: str | None) -> tuple[Message, ...]:
        """Return the conversation for the target."""
        shown = messages if self.history is None else self.history(messages)
        preface = () if self.awareness is None else (SystemMessage(self.awareness.replace("{source}", source)),)
        request = () if message is None else (UserMessage(message),)
        return (*repair_history(shown), *preface, *request)

    def accept_output(self, result: RunResult[object]) -> object:
        """Return the target's answer, validated as the type that the handoff declares.

        Raises:
            HandoffError: when it is of another type.
        """
        expected, output = self.propagated_output_type, result.output
        if expected is None:
            return output
        try:
            return output_type(expected).accept(output)
        except InvalidOutput as error:
            name = getattr(expected, "__name__", str(expected))
            failed = RunResult(None, messages=result.messages, tally=result.tally, run_id=result.run_id)
            raise HandoffError(
                f"{self.name}: {self.target.name} did not give {add_article(name)}: {error}", failed
            ) from error

    def _read_message(self, arguments: str) -> str | None:
        try:
            return _adapter().validate_json(arguments or "{}").message
        except pydantic.ValidationError as error:
            raise create_arguments_error(error) from error


def handoff(
    target: Runnable,
    name: str | None = None,
    description: str | None = None,
    *,
    propagated_output_type: type[T] | None = None,
    history: HistoryFilter | None = None,
    awareness: str | None = _AWARENESS,
) -> Handoff[T]:
    """Create a handoff to another Runnable; see `Handoff`."""
    return Handoff(
        target,
        name,
        description,
        propagated_output_type=propagated_output_type,
        history=history,
        awareness=awareness,
    )


async def hand_over(
    handoff: Handoff[object], call: ToolCall, source: str, messages: Sequence[Message], context: RunContext
) -> RunResult[object]:
    """Run the target of a handoff, and return its answer as the result of the agent that hands over.

    Raises:
        HandoffError: when it is not of the type that the handoff promises.
    """
    target, message = handoff.target, handoff.read_message(call)
    context.emit(HandedOff, target=target.name, message=message)
    inside = context if handoff.propagated_output_type in (None, str) else context.as_internal()
    result = await target.run(handoff.build_conversation(source, messages, message), context=inside)
    return replace(
        result,
        output=handoff.accept_output(result),
        delegation_path=(source, *(result.delegation_path or (target.name,))),
        tally=context.tally,
        run_id=context.run_id,
    )


def without_tools(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages without tool calls and their results, as a history filter."""
    stripped = (_strip_tool_calls(message) for message in messages if not isinstance(message, ToolResult))
    return [message for message in stripped if message is not None]


def last_messages(count: int) -> HistoryFilter:
    """Return a history filter that keeps the last messages."""
    return lambda messages: messages[-count:] if count else ()


@cache
def _adapter() -> pydantic.TypeAdapter[_Arguments]:
    return pydantic.TypeAdapter(_Arguments)


def _strip_tool_calls(message: Message) -> Message | None:
    if not isinstance(message, AssistantMessage):
        return message
    return AssistantMessage((Text(message.text),)) if message.text else None
