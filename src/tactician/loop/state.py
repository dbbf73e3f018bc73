"""State of a conversation in a run, sufficient to continue it in any process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from tactician.conversation import Conversation
from tactician.conversation.exchanges import count_equal
from tactician.conversation.run_part import RunPart
from tactician.errors import StoredStateError
from tactician.events.event import new_id
from tactician.grammar import format_count
from tactician.llm import AssistantMessage, Message, ToolCall, ToolResult
from tactician.loop.call_ids import CallIds
from tactician.loop.saved_state import Counts, keep_message, parse_messages, read_counts
from tactician.runs import RunContext, RunResult, RunStatus
from tactician.runs.progress.checkpoint import Changes, Data

if TYPE_CHECKING:
    from tactician.planning.ruling.calls import RuleGuard

T = TypeVar("T")


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
        guard: the rules over the calls; `None` without rules.
        saved_guard: what a guard has seen in an earlier part of the run; `None` at its beginning.
        series: part of the idempotency keys of the calls; the same when the run continues elsewhere, and another
            when all is done anew, as models may then give the same ids to other calls.
    """

    __slots__ = (
        "_call_ids", "_forgotten", "_input", "_kept", "_last_call", "_part", "_repeats", "_revision", "_saved",
        "admitted", "answer", "answers", "calls", "conversation", "cut_off", "guard", "is_accepted", "is_handed_over",
        "is_last_word", "refusals", "rejections", "restarts", "saved_guard", "series", "turn",
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
        self._call_ids: CallIds | None = None
        self._forgotten: list[str] = []
        self.series = ""
        self.guard: RuleGuard | None = None
        self.saved_guard: Mapping[str, object] | None = None

    @classmethod
    def begin(cls, messages: Sequence[Message], conversation: Conversation | None, context: RunContext) -> TurnState:
        """Return the state of a run with an input, attached to its checkpoint, from which an earlier run continues.

        Raises:
            StoredStateError: as `restore`.
        """
        checkpoint = context.checkpoint
        part = None if conversation is None else conversation.find_part(context.root_id)
        if checkpoint is not None and "counts" in (data := checkpoint.data):
            state = cls.restore(data, conversation, part)
            checkpoint.attach(state)
            return state
        is_inside = checkpoint is not None and not checkpoint.is_root
        if conversation is None:
            state = cls(Conversation(messages), input=len(messages))
        else:
            if part is not None:
                conversation.restore_part(())
            state = cls(conversation, part=part, is_kept=is_inside)
            state._add_input(messages)
        if checkpoint is not None:
            checkpoint.attach(state)
        if is_inside:  # what is around it may begin it anew
            state.series = new_id()
        return state

    def _add_input(self, messages: Sequence[Message]) -> None:
        self.conversation.extend(messages)
        self._input = len(self.conversation) - self._first

    def answer_open_calls(self) -> None:
        """Answer the open calls, so that the conversation can be continued after the run."""
        answers = self.answers
        self.conversation.extend(
            [
                answers.get(call.id) or ToolResult(call.id, call.name, "Not run: the run ended.", is_error=True)
                for call in self.conversation.open_calls
            ]
        )

    @property
    def beginning(self) -> int:
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

    def distinguish_calls(self, message: AssistantMessage) -> AssistantMessage:
        """Return a new message of the model whose calls have ids that no earlier call has."""
        return self._load_call_ids().distinguish(message)

    def _load_call_ids(self) -> CallIds:
        if self._call_ids is None:
            self._call_ids = CallIds(self.conversation.messages, self._forgotten)
        return self._call_ids

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
        self._load_call_ids()
        self.conversation.rewind(self.beginning)
        self.series = new_id()
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
        return {"messages": list(map(keep_message, messages)), "answers": self._answers, "counts": self._counts}

    def take_changes(self) -> Changes:
        """Return the changes since the last call: new messages, and all counters."""
        conversation = self.conversation
        same = conversation.find_change_since(self._revision)
        self._revision = conversation.revision
        changed: Data = {"answers": self._answers, "counts": self._counts}
        if same < self._saved:  # messages were removed
            self._saved = len(conversation)
            return Changes(changed | {"messages": list(map(keep_message, conversation.messages[self._first :]))})
        new = conversation.messages[self._saved :]
        self._saved = len(conversation)
        return Changes(changed, {"messages": list(map(keep_message, new))} if new else {})

    @property
    def _answers(self) -> list[object]:
        return [keep_message(answer) for answer in self.answers.values()]

    @property
    def _counts(self) -> Counts:
        counts = Counts(
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
            series=self.series,
            forgotten=self._call_ids.to_list() if self.restarts and self._call_ids is not None else self._forgotten,
        )
        if (rules := self.saved_guard if self.guard is None else self.guard.to_data()) is not None:
            counts["rules"] = dict(rules)
        return counts

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
        counts = read_counts(data)
        saved = parse_messages(data.get("messages"))
        saved_conversation = Conversation() if conversation is None else conversation
        if part is None:
            _restore_messages(saved_conversation, counts["kept"] or 0, saved)
        else:
            saved_conversation.restore_part(saved)
        state = cls(saved_conversation, part=part)
        state._kept = counts["kept"]
        state._adopt(counts, len(saved))
        answers = parse_messages(data.get("answers"))
        state.answers = {answer.call_id: answer for answer in answers if isinstance(answer, ToolResult)}
        return state

    def _adopt(self, counts: Counts, saved: int) -> None:
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
        self.series, self._forgotten = counts.get("series", ""), counts.get("forgotten", [])
        self.saved_guard = counts.get("rules")
        if (place := counts["answer"]) is not None:
            answer = self.conversation.messages[self._first + place] if 0 <= place < saved else None
            if not isinstance(answer, AssistantMessage):
                raise StoredStateError("The saved state of a run cannot be read: it has no answer of the model.")
            self.answer = answer


def _restore_messages(saved_conversation: Conversation, count: int, saved: Sequence[Message]) -> None:
    """Add the saved messages of a run that the conversation lacks."""
    if count > len(saved_conversation):
        raise StoredStateError(
            f"The run continues a conversation of {format_count(count, 'message')}: pass "
            "it, as in resume(..., conversation=...)."
        )
    same = count_equal(saved_conversation.messages[count:], saved)
    if same < len(saved):
        saved_conversation.rewind(count + same)
        saved_conversation.extend(saved[same:])
