from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.llm.wire.sse import SseDecoder

NEWLINES = ("\n", "\r\n", "\r")


def decode(pieces: Iterable[bytes]) -> list[str]:
    decoder = SseDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return [*events, *decoder.close()]


def read_slowly(stream: bytes) -> list[str]:
    """What the standard says, word by word, of a stream that is all there; but the end completes the last event."""
    text = stream.decode("utf-8", "replace").removeprefix("\ufeff")
    events: list[str] = []
    data: list[str] = []
    for line in [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        name, _, value = line.partition(":")
        if line == "" and data:
            events.append("\n".join(data))
            data = []
        elif name == "data":
            data.append(value.removeprefix(" "))
    return events


@st.composite
def cuts(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The bytes in pieces, cut at any places; some may be empty."""
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=12)))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


LINES = st.sampled_from(
    [
        "data: {}",
        "data:x",
        "data: Grüße 世界 🌍",
        "data: data: x",
        "data:",
        "data: ",
        "data:  two",
        "data",
        "database: no",
        "DATA: no",
        " data: no",
        ": comment",
        ":data: no",
        "event: e",
        "event: data",
        "id",
        "retry: 10",
        "",
        "",
        "\ud7ff",
        "a\u2028data: no",
        "\x0bdata: no",
        "\ufeffdata: only at the beginning",
    ]
)
STREAMS = st.lists(st.tuples(LINES, st.sampled_from(NEWLINES)), max_size=12).map(
    lambda lines: "".join(line + end for line, end in lines).encode()
)
NOISE = st.lists(st.sampled_from([b"\n", b"\r", b"data:", b" ", b"x", b"\xe4", b"\xef\xbb\xbf", b"\xff"])).map(b"".join)


@given(data=st.data(), stream=STREAMS | NOISE | st.binary(max_size=60))
def test_every_stream_is_read_as_the_standard_says_wherever_it_is_cut(data: st.DataObject, stream: bytes) -> None:
    expected = read_slowly(stream)

    assert decode([stream]) == expected
    assert decode(data.draw(cuts(stream))) == expected
    assert decode(bytes([one]) for one in stream) == expected


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20), max_size=5),
    st.sampled_from(NEWLINES),
)
def test_what_was_written_is_read(events: list[str], newline: str) -> None:
    stream = "".join(f"data: {event}{newline}{newline}" for event in events)

    assert decode([stream.encode()]) == events


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data:a\n\n\n\ndata: b\n\n", ["a", "b"]),
        (b"data: a\n\n\ndata: b\n\n", ["a", "b"]),
        (b"data:  a\n\n", [" a"]),
        (b"data\n\ndata\ndata\n\n", ["", "\n"]),
        (b"data: a\r\rdata: b\r\n\r\ndata: c\r\n\n", ["a", "b", "c"]),
        (b": hi\nevent: x\n\n", []),
        (b"event: x\nid: 7\ndata: a\nretry: 10\n\n", ["a"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", ["a"]),
        (b"data: \xef\xbb\xbfa\n\n", ["\ufeffa"]),
        (b"data: a", ["a"]),
        (b"data: a\n", ["a"]),
        (b"data: a\r", ["a"]),
        (b"data: \xff\n\n", ["\ufffd"]),
        (b"", []),
    ],
)
def test_the_rules_of_the_format(stream: bytes, events: list[str]) -> None:
    assert decode([stream]) == events


def test_an_event_is_told_as_soon_as_it_is_complete() -> None:
    decoder = SseDecoder()

    told = [list(decoder.feed(piece)) for piece in (b"data: a\r", b"\r", b"\ndata: b\r\n\r", b"\n", b"")]

    assert told == [[], ["a"], ["b"], [], []]


def test_an_empty_piece_is_not_the_end_of_a_line() -> None:
    assert decode([b"data: a\r", b"", b"\ndata: b\r\n", b"", b"\n"]) == ["a\nb"]
