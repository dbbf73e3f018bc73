"""Text of an answer, out of the events of a run."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from tactician.events import Event
from tactician.loop.events import TextReceived, TurnCompleted, TurnStarted
from tactician.runs import RunCompleted
from tactician.tools.tool import as_text

_BETWEEN = "\n\n"


async def read_answer_text(events: AsyncGenerator[Event], level: int = 0) -> AsyncGenerator[str]:
    """Yield the text of the answer as it comes, out of the events of a stream.

    Text that a model writes before it calls a tool is part of it, as a paragraph of its own. What classifiers, workers,
    managers and actions write is not. An answer that does not come in pieces, such as an object, comes at the end, and
    so does an answer that a guardrail, a reviewer or a repetition may replace. A typed output that is made of the text
    of the last turn, such as the output of a coding agent, does not come once more after it.

    Args:
        events: the events, such as the events of `agent.stream(...)`. They are closed at the end.
        level: length of the path of the context in which the streamed run was started.
    """
    reader = AnswerReader(level)
    async with aclosing(events):
        async for event in events:
            if text := reader.read(event):
                yield text


class AnswerReader:
    """Reader of the text of an answer, out of the events of a run in their order.

    A turn is named by the id of its first event.

    Args:
        level: as for `read_answer_text`.
    """

    def __init__(self, level: int = 0) -> None:
        self._level = level
        self._turns: dict[str, TurnStarted] = {}
        self._turn: str | None = None
        self._text = ""
        self._is_answered = False

    def read(self, event: Event) -> str:
        """Return the text that an event adds; empty for none."""
        match event:
            case TurnStarted():
                self._turns[event.run_id] = event
            case TextReceived() if event.answer_level <= self._level and event.text:
                return self._add(event)
            case TurnCompleted() if (turn := self._turns.get(event.run_id)) is not None and turn.id == self._turn:
                self._is_answered = not event.response.message.tool_calls
            case RunCompleted():
                return self.finish(event.result.output)
        return ""

    @property
    def has_text(self) -> bool:
        """True when there was any text."""
        return bool(self._text)

    def finish(self, output: object) -> str:
        """Return the text of an answer that has not come in pieces; empty if it has, or without an answer."""
        answer = "" if output is None else as_text(output)
        is_made_of_text = self._is_answered and not isinstance(output, str)
        is_said = is_made_of_text or not answer.strip() or answer.strip() == self._text.strip()
        return "" if is_said else self._begin("", answer)

    def _add(self, event: TextReceived) -> str:
        turn = self._turns.get(event.run_id)
        if turn is not None and turn.request.output is not None:  # the text is the JSON of an object
            return ""
        key = event.run_id if turn is None else turn.id
        if key == self._turn:
            self._text += event.text
            return event.text
        return self._begin(key, event.text)

    def _begin(self, turn: str, text: str) -> str:
        is_first = not self._text
        self._turn, self._text, self._is_answered = turn, text, False
        return text if is_first else f"{_BETWEEN}{text}"
