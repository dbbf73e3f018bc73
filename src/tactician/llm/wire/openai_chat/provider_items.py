"""Parts of an answer beside text, thinking and calls that must be sent back to the provider.

Sources: Google's page "Thought signatures", OpenAI compatibility (`extra_content` of a tool call or of the message);
OpenRouter's page "Reasoning tokens", preserving reasoning (`reasoning_details` of the message, which a stream brings
in pieces).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic_core import from_json, to_json

from tactician.llm.messages import AssistantMessage, AssistantPart, ProviderItem
from tactician.llm.model import ModelRequest
from tactician.llm.wire.decoding import expect_mappings, expect_string
from tactician.llm.wire.dialect import Dialect
from tactician.llm.wire.encoding import remove_parts

FORMAT = "openai-chat"
_CALL = "tool_call_id"
_FIELDS = ("extra_content", "reasoning_details")
_KNOWN_FIELDS = frozenset(_FIELDS)
# The kinds of details that a stream brings in pieces, and where they have their text. All others come whole.
_TEXTS = {"reasoning.text": "text", "reasoning.summary": "summary"}


def collect_items(answer: Mapping[str, object], call_id: str | None = None) -> tuple[ProviderItem, ...]:
    """Return the items to send back with a message, or with the call of this id; none for most providers."""
    if _KNOWN_FIELDS.isdisjoint(answer) or not (fields := {n: v for n in _FIELDS if (v := answer.get(n))}):
        return ()
    return (ProviderItem(FORMAT, to_json(fields if call_id is None else {_CALL: call_id, **fields}).decode()),)


def restore_items(
    message: AssistantMessage, dialect: Dialect, encoded: dict[str, object], calls: Sequence[dict[str, object]]
) -> None:
    """Put the items of a message back in their places: in the encoded message, and in its encoded calls."""
    places = {call.id: place for call, place in zip(message.tool_calls, calls, strict=True)}
    for part in message.parts:
        if not isinstance(part, ProviderItem) or (fields := _fields(part)) is None:
            continue
        place = places.get(str(fields[_CALL])) if _CALL in fields else encoded
        if place is not None:
            place.update((name, fields[name]) for name in _FIELDS if name in fields and name in dialect.replayed)
    for first in calls[:1]:
        for name, value in dialect.unsigned_call.items():
            first.setdefault(name, value)


def _fields(item: ProviderItem) -> Mapping[str, object] | None:
    if item.format != FORMAT:
        return None
    try:
        fields = from_json(item.data)
    except ValueError:
        return None  # a stored conversation may hold anything
    return fields if isinstance(fields, dict) else None


def strip_thinking(request: ModelRequest) -> ModelRequest | None:
    """Return the request without thinking that only its provider can read, or `None` if it has none."""
    return remove_parts(request, _is_item)


def _is_item(part: AssistantPart) -> bool:
    return isinstance(part, ProviderItem) and part.format == FORMAT


class PartialItems:
    """Items of a message or a call that a stream sends in pieces."""

    __slots__ = ("_details", "_fields", "_texts")

    def __init__(self) -> None:
        self._fields: dict[str, object] = {}
        self._details: list[dict[str, object]] = []
        self._texts: dict[tuple[object, object], tuple[dict[str, object], list[str]]] = {}

    def add(self, piece: Mapping[str, object]) -> None:
        """Add the items of a delta."""
        if extra := piece.get("extra_content"):
            self._fields["extra_content"] = extra
        for detail in expect_mappings(piece.get("reasoning_details") or ()):
            self._add_detail(dict(detail))

    def _add_detail(self, detail: dict[str, object]) -> None:
        """Add a detail. Pieces of the same kind and number are joined, or their signature would not match."""
        kind = detail.get("type")
        name = _TEXTS.get(kind) if isinstance(kind, str) else None
        if name is None:
            self._details.append(detail)
            return
        index = detail.get("index")
        text = expect_string(detail.pop(name, None) or "")
        saved_detail, texts = self._texts.setdefault((kind, str(index)), ({}, []))
        if not saved_detail:
            self._details.append(saved_detail)
        saved_detail.update(
            (key, value) for key, value in detail.items() if value is not None or key not in saved_detail
        )
        texts.append(text)

    def assemble(self, call_id: str | None = None) -> tuple[ProviderItem, ...]:
        """Return the items as a whole response has them."""
        for (kind, _), (detail, texts) in self._texts.items():
            detail[_TEXTS[str(kind)]] = "".join(texts)
        details = {"reasoning_details": self._details} if self._details else {}
        return collect_items({**self._fields, **details}, call_id)
