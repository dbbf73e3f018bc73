"""Keys that a model says in pieces are masked as a whole; the arguments of the client's own tools are as they are."""

from __future__ import annotations

from time import process_time

import pytest
from ag_ui.core import (
    BaseEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallStartEvent,
)

from tactician.secrets import Masking
from tactician.serve.ag_ui.client_run import EventMasking

KEY = "sk-abcdefghijklmnop1234567890abcd"


def say(*pieces: str) -> list[BaseEvent]:
    parts = [TextMessageContentEvent(message_id="m", delta=piece) for piece in pieces]
    return [TextMessageStartEvent(message_id="m", role="assistant"), *parts, TextMessageEndEvent(message_id="m")]


def cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def read(events: list[BaseEvent]) -> str:
    return "".join(event.delta for event in events if isinstance(event, TextMessageContentEvent))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("text", [f"It is {KEY}, and so on.", f"password = hunter22 {KEY}", f"Bearer {KEY[3:]}"])
def test_a_key_in_pieces_is_masked(text: str, size: int) -> None:
    said = read(list(EventMasking(Masking({}), ()).apply(say(*cut(text, size)))))
    assert KEY[3:] not in said
    assert "hunter22" not in said
    assert said == Masking({}).mask(text)


def test_words_come_as_soon_as_they_end() -> None:
    masking = EventMasking(Masking({}), ())
    events = say("Hello ", "Wor", "ld, how", " are you?")
    assert [read(list(masking.apply([event]))) for event in events] == ["", "Hello ", "", "World, ", "how are ", "you?"]


def test_the_tools_of_the_client_get_their_arguments() -> None:
    def call(name: str) -> list[BaseEvent]:
        start = ToolCallStartEvent(tool_call_id=name, tool_call_name=name)
        return [start, ToolCallArgsEvent(tool_call_id=name, delta=KEY)]

    events = EventMasking(Masking({}), ("theirs",)).apply([*call("theirs"), *call("ours")])
    assert [event.delta for event in events if isinstance(event, ToolCallArgsEvent)] == [KEY, "***"]


OPEN = "-----BEGIN PRIVATE KEY-----\nMII"
PRIVATE = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize("size", [1, 5, 40, 1000])
@pytest.mark.parametrize(
    "text", [f"Take {PRIVATE} and go on", f"{PRIVATE}\n{PRIVATE}", "-----BEGIN PRIVATE KEY-----\nMII"]
)
def test_a_private_key_in_pieces_is_masked(text: str, size: int) -> None:
    said = read(list(EventMasking(Masking({}), ()).apply(say(*cut(text, size)))))
    assert said == Masking({}).mask(text)


def test_a_private_key_without_end_takes_linear_time() -> None:
    text = "-----BEGIN PRIVATE KEY-----" + "MIIE" * 250_000
    began = process_time()
    said = read(list(EventMasking(Masking({}), ()).apply(say(*cut(text, 10)))))
    assert said == "***"
    assert process_time() - began < 5  # minutes when each piece is read with all before it
