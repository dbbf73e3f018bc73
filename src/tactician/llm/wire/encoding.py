"""Helpers of the request encoders: a cache, and requests without some of their parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Generic, TypeVar

from tactician.llm.messages import AssistantMessage, AssistantPart, Message
from tactician.llm.model import ModelRequest, OutputSpec
from tactician.llm.schema import remove_keywords
from tactician.llm.wire.dialect import Dialect

S = TypeVar("S")
T = TypeVar("T")
_MAX_ENTRIES = 4096


class IdentityCache(Generic[S, T]):
    """Cache of values computed from unhashable objects: the tools and schemas of every call of an agent.

    Args:
        compute: function of an object.
        most: number of objects that are kept.
    """

    def __init__(self, compute: Callable[[S], T], most: int = _MAX_ENTRIES) -> None:
        self._compute = compute
        self._most = most
        self._entries: dict[int, tuple[S, T]] = {}

    def __call__(self, subject: S) -> T:
        """Return the value computed from the subject, which must not change."""
        # The entry keeps its subject alive, so that nothing else gets the same id.
        entry = self._entries.get(id(subject))
        if entry is None:
            if len(self._entries) >= self._most:
                self._entries.clear()
            entry = self._entries[id(subject)] = (subject, self._compute(subject))
        return entry[1]


def encode_output(output: OutputSpec, dialect: Dialect) -> dict[str, object]:
    """Return the definition of an output schema that both formats of OpenAI share."""
    schema = remove_keywords(output.schema, dialect.refused_keywords)
    definition: dict[str, object] = {"name": output.name, "schema": schema}
    if dialect.strict and output.strict:
        definition["strict"] = True
    return definition


def remove_parts(request: ModelRequest, is_refused: Callable[[AssistantPart], bool]) -> ModelRequest | None:
    """Return the request without the refused parts of the model's answers, or `None`."""

    def filter_parts(message: Message) -> Message:
        if not isinstance(message, AssistantMessage) or not any(map(is_refused, message.parts)):
            return message
        return AssistantMessage(tuple(part for part in message.parts if not is_refused(part)))

    messages = tuple(map(filter_parts, request.messages))
    return None if messages == request.messages else replace(request, messages=messages)
