"""Masks of secrets in the events for a client. Its result, its own tools and its requests are as they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    RunErrorEvent,
    SubagentErrorEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    ToolCallArgsEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from tactician.secret_pieces import PieceMasking
from tactician.secrets import Masking

_Piece: TypeAlias = TextMessageContentEvent | ReasoningMessageContentEvent


class EventMasking:
    """Masks for the events of a run of a client, whose texts come in pieces.

    A key may be split over two pieces. So the last word of a piece waits for its end, in the next piece or the last.

    Args:
        masking: the masks.
        frontend: names of the tools that the client itself runs, which get their arguments as they are.
    """

    def __init__(self, masking: Masking, frontend: Collection[str]) -> None:
        self._masking = masking
        self._frontend = frozenset(frontend)
        self._frontend_calls: set[str] = set()
        self._texts: dict[str, tuple[PieceMasking, _Piece]] = {}

    def apply(self, events: Iterable[BaseEvent]) -> Iterator[BaseEvent]:
        """Yield the events as the client gets them."""
        for event in events:
            match event:
                case TextMessageContentEvent() | ReasoningMessageContentEvent():
                    text, _ = self._texts.get(event.message_id) or (PieceMasking(self._masking), event)
                    self._texts[event.message_id] = text, event
                    if masked := text.add(event.delta):
                        yield event.model_copy(update={"delta": masked})
                case TextMessageEndEvent() | ReasoningMessageEndEvent():
                    yield from self._finish(event)
                    yield event
                case _:
                    yield self._mask_whole(event)

    def _finish(self, event: TextMessageEndEvent | ReasoningMessageEndEvent) -> Iterator[BaseEvent]:
        """Yield the rest of a message."""
        text, last = self._texts.pop(event.message_id, (None, None))
        if text is not None and last is not None and (rest := text.finish()):
            yield last.model_copy(update={"delta": rest})

    def _mask_whole(self, event: BaseEvent) -> BaseEvent:
        mask = self._masking.mask
        match event:
            case RunErrorEvent() | SubagentErrorEvent():
                return event.model_copy(update={"message": mask(event.message)})
            case ToolCallResultEvent() if isinstance(event.content, str):
                return event.model_copy(update={"content": mask(event.content)})
            case ToolCallStartEvent() if event.tool_call_name in self._frontend:
                self._frontend_calls.add(event.tool_call_id)
            case ToolCallArgsEvent() if event.tool_call_id not in self._frontend_calls:
                return event.model_copy(update={"delta": mask(event.delta)})
        return event
