"""State of a conversation in a run, sufficient to continue it in any process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeVar

import pydantic
from typing_extensions import TypedDict

from tactician.conversation import Conversation, RunPart, count_equal
from tactician.errors import StoredStateError
from tactician.llm import AssistantMessage, Message, ToolCall, ToolResult, messages_from_data, messages_to_data
from tactician.runs import Changes, Data, Live, RunContext, RunResult, RunStatus, revive

T = TypeVar("T")


class _Counts(TypedDict):
    """Counters of a run.

    `kept` is the number of messages that were in the caller's conversation before; `None`, when they are saved too.
    `input` is the number of those that are saved up to the end of the input, `answer` the place among them of an answer
    of the model that is not dealt with.
    """

    kept: int | None
    input: int
    answer: int | None
    is_last_word: bool
    turn: int
    calls: int
    rejections: int
    refusals: int
    restarts: int
    repeats: int
    last_call: str
    admitted: list[str]
    cut_off: bool
    is_accepted: bool
    is_handed_over: bool


class TurnState:
    """Conversation of a run, with its counters.

    Attributes:
        conversation: the messages.
        answer: the model's last message, until it is handled.
        is_last_word: true when the model may call no more tools.
        turn: requests to the model.
        calls: tool calls that were run.
        rejections: answers that were not valid.
        refusals: number of times that the model called tools although it had to answer.
        restarts: number of restarts of the run.
        answers: the results so far of the open calls, by the calls' ids.
        admitted: the ids of open calls that may be run, and are not counted again after a suspension.
        cut_off: true when the model's last message was too long and broke off.
        is_accepted: true when the last answer has passed the output guardrails, which a resumed run does not call
            again.
        is_handed_over: true when the conversation has the answer of the target of a handoff.
    """

    __slots__ = (
        "_input", "_kept", "_last_call", "_part", "_repeats", "_revision", "_saved", "admitted", "answer", "answers",
        "calls", "conversation", "cut_off", "is_accepted", "is_handed_over", "is_last_word", "refusals", "rejections",
        "restarts", "turn",
    )  # fmt: skip

    def __init__(
        self, conversation: Conversation, *, part: RunPart | None = None, is_kept: bool = False, input: int = 0
    ) -> None:
        self.conversation = conversation
        self._part = part
        self._kept = len(conversation) if is_kept else None
        self._saved = self._kept or 0
        self._input = input
        self._revision = conversation.revision
        self.answer: AssistantMessage | None = None
        self.is_last_word = False
        self.turn = self.calls = self.rejections = self.refusals = self.restarts = 0
        self.answers: dict[str, ToolResult] = {}
        self.admitted: set[str] = set()
        self.cut_off = self.is_accepted = self.is_handed_over = False
        self._last_call = ""
        self._repeats = 0

    def begin_with(self, messages: Sequence[Message]) -> None:
        """Add the input of the run."""
        self.conversation.extend(messages)
        self._input = len(self.conversation) - self._first

    @property
    def begin(self) -> int:
        """The number of messages when the run began, with its input."""
        return self._first + self._input

    @property
    def _first(self) -> int:
        """The position of the first message that is saved. In a part of the conversation it moves with the part."""
        return self._kept or 0 if self._part is None else self._part.begin

    def count_repeats(self, call: ToolCall) -> int:
        """Count a call, and return how often in a row it came with the same arguments."""
        signature = f"{call.name} {call.arguments}"
        self._repeats = self._repeats + 1 if signature == self._last_call else 1
        self._last_call = signature
        return self._repeats

    @property
    def last_reply(self) -> AssistantMessage:
        """The last message of the model."""
        replies = (m for m in reversed(self.conversation.messages) if isinstance(m, AssistantMessage))
        return next(replies, AssistantMessage())

    def find_results(self, message: AssistantMessage) -> list[ToolResult]:
        """Return the results of the message's calls when all are in the conversation; else nothing."""
        if self.conversation.ends_with(message) or self.conversation.open_calls:
            return []
        messages = self.conversation.messages
        after = messages[self._place_of(message) + 1 :]
        results = {message.call_id: message for message in after if isinstance(message, ToolResult)}
        return [results[call.id] for call in message.tool_calls]

    def _place_of(self, message: AssistantMessage) -> int:
        messages = self.conversation.messages
        return next(place for place in range(len(messages) - 1, -1, -1) if messages[place] is message)

    def create_result(self, output: T, context: RunContext) -> RunResult[T]:
        """Return the result of a completed run."""
        messages = self.conversation.to_tuple()
        return RunResult(output, messages=messages, tally=context.tally, run_id=context.run_id, is_cut_off=self.cut_off)

    def create_failed_result(self, context: RunContext) -> RunResult[None]:
        """Return the result of a failed run."""
        messages = self.conversation.to_tuple()
        return RunResult(None, RunStatus.FAILED, messages, context.tally, run_id=context.run_id)

    def restart(self) -> None:
        """Forget all messages since the run began."""
        self.conversation.rewind(self.begin)
        self.turn = self.calls = self.rejections = self.refusals = 0
        self.answers.clear()
        self.admitted.clear()
        self.answer = None
        self.is_accepted = False
        self._last_call, self._repeats = "", 0
        self.restarts += 1

    def to_data(self) -> Data:
        """Return the whole state as data of a checkpoint."""
        messages = self.conversation.messages[self._first :]
        return {"messages": list(map(_keep, messages)), "answers": self._answers, "counts": self._counts}

    def take_changes(self) -> Changes:
        """Return the changes since the last call: new messages, and all counters."""
        conversation = self.conversation
        same = conversation.find_change_since(self._revision)
        self._revision = conversation.revision
        changed: Data = {"answers": self._answers, "counts": self._counts}
        if same < self._saved:  # messages were removed
            self._saved = len(conversation)
            return Changes(changed | {"messages": list(map(_keep, conversation.messages[self._first :]))})
        new = conversation.messages[self._saved :]
        self._saved = len(conversation)
        return Changes(changed, {"messages": list(map(_keep, new))} if new else {})

    @property
    def _answers(self) -> list[object]:
        return [_keep(answer) for answer in self.answers.values()]

    @property
    def _counts(self) -> _Counts:
        return _Counts(
            kept=self._kept,
            input=self._input,
            answer=None if self.answer is None else self._place_of(self.answer) - self._first,
            is_last_word=self.is_last_word,
            turn=self.turn,
            calls=self.calls,
            rejections=self.rejections,
            refusals=self.refusals,
            restarts=self.restarts,
            repeats=self._repeats,
            last_call=self._last_call,
            admitted=sorted(self.admitted),
            cut_off=self.cut_off,
            is_accepted=self.is_accepted,
            is_handed_over=self.is_handed_over,
        )

    @classmethod
    def restore(
        cls, data: Mapping[str, object], conversation: Conversation | None = None, part: RunPart | None = None
    ) -> TurnState:
        """Restore the state from the data of a checkpoint.

        Args:
            data: the data.
            conversation: conversation of the caller, if any: as it was before the run, or as the run left
                it. It gets the messages that it lacks.
            part: part of the conversation that belongs to the run, if it is marked there.

        Raises:
            StoredStateError: when the data is not the state of a conversation, or lacks its beginning.
        """
        counts = revive(data.get("counts"), _counts_adapter().validate_python)
        saved = _read_messages(data.get("messages"))
        known = Conversation() if conversation is None else conversation
        if part is None:
            _restore_messages(known, counts["kept"] or 0, saved)
        else:
            known.restore_part(saved)
        state = cls(known, part=part)
        state._kept = counts["kept"]
        state._adopt(counts, len(saved))
        answers = _read_messages(data.get("answers"))
        state.answers = {answer.call_id: answer for answer in answers if isinstance(answer, ToolResult)}
        return state

    def _adopt(self, counts: _Counts, saved: int) -> None:
        """Take over the counters, beside so many saved messages."""
        self._saved, self._input = self._first + saved, counts["input"]
        self.turn, self.calls, self.restarts = counts["turn"], counts["calls"], counts["restarts"]
        self.rejections, self.refusals, self.admitted = (
            counts["rejections"],
            counts["refusals"],
            set(counts["admitted"]),
        )
        self._last_call, self._repeats = counts["last_call"], counts["repeats"]
        self.cut_off, self.is_last_word = counts["cut_off"], counts["is_last_word"]
        self.is_accepted, self.is_handed_over = counts["is_accepted"], counts["is_handed_over"]
        if (place := counts["answer"]) is not None:
            answer = self.conversation.messages[self._first + place] if 0 <= place < saved else None
            if not isinstance(answer, AssistantMessage):
                raise StoredStateError("The saved state of a run cannot be read: it has no answer of the model.")
            self.answer = answer


def _restore_messages(known: Conversation, count: int, saved: Sequence[Message]) -> None:
    """Add the saved messages of a run that the conversation lacks."""
    if count > len(known):
        raise StoredStateError(
            f"The run continues a conversation of {count} messages: pass it, as in resume(..., conversation=...)."
        )
    same = count_equal(known.messages[count:], saved)
    if same < len(saved):
        known.rewind(count + same)
        known.extend(saved[same:])


def read_messages(data: Mapping[str, object]) -> tuple[Message, ...]:
    """Return the messages in the checkpoint of a conversation; nothing for another kind of run.

    Raises:
        StoredStateError: when they cannot be read.
    """
    return tuple(_read_messages(data.get("messages")))


def read_added_messages(data: Mapping[str, object]) -> tuple[Message, ...]:
    """Return the messages in a checkpoint that the run added to the caller's conversation, if any.

    They end with the results of finished calls, though others of the same message have none yet.

    Raises:
        StoredStateError: when they cannot be read.
    """
    if "counts" not in data:
        return ()
    counts = revive(data["counts"], _counts_adapter().validate_python)
    return () if counts["kept"] is None else (*read_messages(data), *_read_messages(data.get("answers")))


def _keep(message: Message) -> Live[Message]:
    return Live(message, _write_message)


def _write_message(message: Message) -> object:
    return messages_to_data((message,))[0]


def _read_messages(value: object) -> list[Message]:
    """Return the messages in a list of messages or of their JSON forms."""
    items = value if isinstance(value, list) else []
    if all(isinstance(item, Live) for item in items):
        return [item.value for item in items]
    if not any(isinstance(item, Live) for item in items):
        return list(revive(items, messages_from_data))
    return [message for item in items for message in _read_messages([item])]


@cache
def _counts_adapter() -> pydantic.TypeAdapter[_Counts]:
    return pydantic.TypeAdapter(_Counts)
