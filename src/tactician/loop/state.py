"""Where a conversation stands: all that is needed to go on with it, here or in another process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import to_json
from typing_extensions import TypedDict

from tactician.conversation import Conversation
from tactician.errors import StoredStateError
from tactician.llm import AssistantMessage, Message, ToolCall, ToolResult
from tactician.runs import RunContext, RunResult, RunStatus


class _SavedState(TypedDict):
    conversation: str
    begin: int
    turn: int
    calls: int
    rejections: int
    refusals: int
    restarts: int
    repeats: int
    last_call: str
    answers: dict[str, ToolResult]
    admitted: list[str]


class TurnState:
    """A conversation, and what was counted in it.

    Attributes:
        conversation: the messages.
        begin: how many messages there were when the run began, with its input.
        turn: requests to the model.
        calls: tool calls that were run.
        rejections: answers that were not valid.
        refusals: how often the model called tools although it was told to answer.
        restarts: how often the run began anew.
        answers: the results of those open calls that have one, by the calls' ids.
        admitted: the ids of those open calls that may be run, and are not counted again after a pause.
        cut_off: whether the model's last message broke off, because it was too long.
    """

    __slots__ = (
        "_last_call", "_repeats", "admitted", "answers", "begin", "calls", "conversation", "cut_off", "refusals",
        "rejections", "restarts", "turn",
    )  # fmt: skip

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.begin = len(conversation.messages)
        self.turn = self.calls = self.rejections = self.refusals = self.restarts = 0
        self.answers: dict[str, ToolResult] = {}
        self.admitted: set[str] = set()
        self.cut_off = False
        self._last_call = ""
        self._repeats = 0

    def begin_with(self, messages: Sequence[Message]) -> None:
        """Adds the input of the run."""
        self.conversation.extend(messages)
        self.begin = len(self.conversation.messages)

    def repeated(self, call: ToolCall) -> int:
        """Counts a call; how often it has come in a row with the same arguments."""
        signature = f"{call.name} {call.arguments}"
        self._repeats = self._repeats + 1 if signature == self._last_call else 1
        self._last_call = signature
        return self._repeats

    @property
    def unfinished(self) -> AssistantMessage | None:
        """The model's last message, when the run paused before it was dealt with."""
        if not self.turn:
            return None
        for message in reversed(self.conversation.messages):
            if isinstance(message, AssistantMessage):
                return message
            if not isinstance(message, ToolResult):
                return None
        return None

    @property
    def last_reply(self) -> AssistantMessage:
        """The model's last message."""
        replies = (m for m in reversed(self.conversation.messages) if isinstance(m, AssistantMessage))
        return next(replies, AssistantMessage())

    def results_of(self, message: AssistantMessage) -> list[ToolResult]:
        """The results of the message's calls, when all are in the conversation; else none."""
        if self.conversation.open_calls:
            return []
        results: dict[str, ToolResult] = {}
        for one in reversed(self.conversation.messages):
            if isinstance(one, AssistantMessage):
                break
            if isinstance(one, ToolResult):
                results[one.call_id] = one
        return [results[call.id] for call in message.tool_calls]

    def failed(self, context: RunContext) -> RunResult[None]:
        """The result of a run that has failed."""
        messages = tuple(self.conversation.messages)
        return RunResult(None, RunStatus.FAILED, messages, context.tally, run_id=context.run_id)

    def restart(self) -> None:
        """Forgets all that was said since the run began."""
        self.conversation.rewind(self.begin)
        self.turn = self.calls = self.rejections = self.refusals = 0
        self.answers.clear()
        self.admitted.clear()
        self._last_call, self._repeats = "", 0
        self.restarts += 1

    def saved(self) -> JsonValue:
        """All of it, as JSON."""
        saved = _SavedState(
            conversation=self.conversation.to_json(),
            begin=self.begin,
            turn=self.turn,
            calls=self.calls,
            rejections=self.rejections,
            refusals=self.refusals,
            restarts=self.restarts,
            repeats=self._repeats,
            last_call=self._last_call,
            answers=self.answers,
            admitted=sorted(self.admitted),
        )
        value: JsonValue = _adapter().dump_python(saved, mode="json")
        return value

    @classmethod
    def restored(cls, saved: JsonValue, conversation: Conversation | None = None) -> TurnState:
        """What was saved, with the caller's conversation as it was left then, if he has one.

        Raises:
            StoredStateError: when it is not the state of a conversation.
        """
        try:
            read = _adapter().validate_json(to_json(saved))
        except ValidationError as error:
            raise StoredStateError(f"The saved state of a conversation cannot be read: {error}") from error
        state = cls(Conversation.from_json(read["conversation"]) if conversation is None else conversation)
        state.begin, state.turn, state.calls = read["begin"], read["turn"], read["calls"]
        state.rejections, state.refusals, state.restarts = read["rejections"], read["refusals"], read["restarts"]
        state.answers, state.admitted = read["answers"], set(read["admitted"])
        state._last_call, state._repeats = read["last_call"], read["repeats"]
        return state


@cache
def _adapter() -> TypeAdapter[_SavedState]:
    return TypeAdapter(_SavedState)
